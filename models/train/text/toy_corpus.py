"""A toy pair of languages with a grammar, for trying out the whole recipe in a minute."""

import random
from pathlib import Path

import yaml

# (source, target, gender in the target)
_NOUNS = [("dog", "hund", "m"), ("cat", "katze", "f"), ("horse", "pferd", "n"), ("child", "kind", "n")]
_NOUNS += [("man", "mann", "m"), ("woman", "frau", "f"), ("bird", "vogel", "m"), ("mouse", "maus", "f")]
_ADJECTIVES = [("small", "klein"), ("old", "alt"), ("red", "rot"), ("good", "gut"), ("quick", "schnell")]
_VERBS = [("sees", "sieht"), ("hears", "hört"), ("seeks", "sucht"), ("finds", "findet"), ("loves", "liebt")]
_TIMES = [("today", "heute"), ("now", "jetzt"), ("often", "oft"), ("here", "hier")]
_ARTICLES = {"m": "der", "f": "die", "n": "das"}


def sentence(generator: random.Random, other_words: bool = False) -> tuple[str, str]:
    """Returns a sentence and its translation; the verb comes second in the target, also after a time."""
    subject, object_ = _phrase(generator), _phrase(generator)
    verb, time = generator.choice(_VERBS), generator.choice([None, *_TIMES])
    source = " ".join([subject[0], verb[0], object_[0], *(time[:1] if time else [])])
    if time and not other_words:
        return source, f"{time[1]} {verb[1]} {subject[1]} {object_[1]}"
    return source, " ".join([subject[1], verb[1], object_[1], *(time[1:] if time else [])])


def write_toy_corpora(folder: Path, lines: int, seed: int = 1) -> Path:
    """Writes files in the form of `ende.yaml`, and their description; returns its path."""
    generator = random.Random(seed)
    held = {sentence(generator) for _ in range(2000)}
    held = sorted(held, key=lambda pair: pair[0])[:: max(1, len(held) // 120)][:120]
    unseen = {source for source, _ in held}
    train = []
    while len(train) < lines:
        state = generator.getstate()
        pair = sentence(generator)
        generator.setstate(state)
        other = sentence(generator, other_words=True)
        if pair[0] not in unseen:
            train.append((*pair, other[1]))
    half = lines // 2
    (folder / "phrases.tsv").write_text("".join(f"{a}\t{b}\n" for a, b, _ in train[:half]), "utf-8")
    (folder / "news.tsv").write_text("".join(f"08\t{a}\t{b}\t{c}\n" for a, b, c in train[half:]), "utf-8")
    for name, some in (("dev.tsv", held[:40]), ("test.tsv", held[40:])):
        (folder / name).write_text("".join(f"{a}\t{b}\n" for a, b in some), "utf-8")
    train_entries = {
        "phrases": {"file": "phrases.tsv", "en": [0], "de": [1]},
        "news": {"file": "news.tsv", "en": [1], "de": [2, 3], "repeat": 0.5},
    }
    held_entries = {
        section: {"phrases": {"file": f"{name}.tsv", "en": [0], "de": [1]}}
        for section, name in (("development", "dev"), ("test", "test"))
    }
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump({"train": train_entries, **held_entries}), "utf-8")
    return path


def _phrase(generator) -> tuple[str, str]:
    """Returns an article, perhaps an adjective, and a noun, in both languages."""
    noun, adjective = generator.choice(_NOUNS), generator.choice([None, *_ADJECTIVES])
    target = [_ARTICLES[noun[2]], *([f"{adjective[1]}e"] if adjective else []), noun[1]]
    return " ".join(["the", *(adjective[:1] if adjective else []), noun[0]]), " ".join(target)
