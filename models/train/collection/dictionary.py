"""Small sentences with the words of a dictionary, so that a student learns words which its other texts lack.

A dictionary has lines such as `:Riemen:(m) belt (of a machine), strop (strap)`: a German word, its gender if it is a
noun, and English words with explanations. The sentences are our own; articles agree with the noun.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LINE = re.compile(r":([A-Za-zÄÖÜäöüß -]{3,}):(?:\(([mfn])\) )?(.*)")
_COMMA = re.compile(r",\s*(?![^()]*\))")  # outside parentheses
_GLOSS = re.compile(r"[A-Za-z][A-Za-z' -]+")
_VOWEL = re.compile(r"(?!uni|us[eu]|ut[ei]|eu|one|ewe)[aeiou]|hour|honest|heir|honou?r")  # by its sound
_GLOSSES = 3  # of a word, the first ones
_SHARE = 0.3  # a word that is rarer than this share of the most frequent word with the same meaning is left out

# Nouns that change their end with the case, or are adjectives: these have no sentence, or only the nominative.
_WEAK = re.compile(r"(e|ist|ent|ant|at|et|ot|oge|graph|soph|nom|bär|Herr|Mensch)$")
_ADJECTIVAL = re.compile(r"(iger|ierter|ener|licher|scher)$")
_ADJECTIVE = re.compile(r"(ig|lich|isch|bar|sam|los|voll|haft)$")
_NOMINATIVE = re.compile(r"\{(the|The|a|this|your|new)\}")

_FORMS = ("the", "the_acc", "the_dat", "The", "a", "a_acc", "my_acc", "this", "no_acc", "your", "new")
_ARTICLES = {
    "m": ("der", "den", "dem", "Der", "ein", "einen", "meinen", "dieser", "keinen", "Ihr", "ein neuer"),
    "f": ("die", "die", "der", "Die", "eine", "eine", "meine", "diese", "keine", "Ihre", "eine neue"),
    "n": ("das", "das", "dem", "Das", "ein", "ein", "mein", "dieses", "kein", "Ihr", "ein neues"),
}
_SENTENCES = (
    ("Where is the {e}?", "Wo ist {the} {d}?"),
    ("This is a {e}.", "Das ist {a} {d}."),
    ("I need a {e}.", "Ich brauche {a_acc} {d}."),
    ("I can see the {e}.", "Ich kann {the_acc} {d} sehen."),
    ("The {e} is here.", "{The} {d} ist hier."),
    ("There is a {e}.", "Es gibt {a_acc} {d}."),
    ("I have lost my {e}.", "Ich habe {my_acc} {d} verloren."),
    ("We talked about the {e}.", "Wir haben über {the_acc} {d} gesprochen."),
    ("What does the {e} look like?", "Wie sieht {the} {d} aus?"),
    ("He bought a {e}.", "Er hat {a_acc} {d} gekauft."),
    ("with the {e}", "mit {the_dat} {d}"),
    ("How old is this {e}?", "Wie alt ist {this} {d}?"),
    ("Do you have a {e}?", "Haben Sie {a_acc} {d}?"),
    ("The {e} was very good.", "{The} {d} war sehr gut."),
    ("I don't have a {e}.", "Ich habe {no_acc} {d}."),
    ("Is that your {e}?", "Ist das {your} {d}?"),
    ("She is looking for the {e}.", "Sie sucht {the_acc} {d}."),
    ("a new {e}", "{new} {d}"),
    ("The {e} belongs to me.", "{The} {d} gehört mir."),
    ("Can you show me the {e}?", "Können Sie mir {the_acc} {d} zeigen?"),
    ("the {e}", "{the} {d}"),
    ("a {e}", "{a} {d}"),
    ("They come from the {e}.", "Sie kommen aus {the_dat} {d}."),
    ("next to the {e}", "neben {the_dat} {d}"),
)


class Entry(NamedTuple):
    """A German word, its gender (m, f, n, or "" if it is not a noun), and an English word with its meaning."""

    german: str
    gender: str
    english: str


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """Yields the first meanings of each line; leaves out lines and meanings that are more than words."""
    for line in lines:
        if (found := _LINE.fullmatch(line)) is None:
            continue
        glosses = (gloss.split(" (")[0].strip() for gloss in _COMMA.split(found[3]))
        usable = (gloss for gloss in glosses if _GLOSS.fullmatch(gloss) and len(gloss.split()) <= 3)
        for gloss in list(dict.fromkeys(usable))[:_GLOSSES]:
            yield Entry(found[1], found[2] or "", gloss)


def pairs(found: Iterable[Entry], english: Counter[str], german: Counter[str], seed: int = 1) -> list[tuple[str, str]]:
    """Returns English and German texts, in a random order.

    Parameters
    ----------
    english : how often the other texts have each word, in lower case
    german : the same; words of one meaning are chosen by it
    """
    chance = random.Random(seed)
    by_meaning = defaultdict(list)
    for entry in found:
        by_meaning[entry.english].append(entry)
    made: dict[tuple[str, str], None] = {}
    for meaning, words in by_meaning.items():
        words.sort(key=lambda entry: (-german[entry.german], entry.german))
        is_known = all(english[word] for word in meaning.lower().split())
        most = german[words[0].german]
        for rank, entry in enumerate(words[:2]):
            count = german[entry.german]
            if (rank == 0 or count >= max(1, most * _SHARE)) and (count or is_known):
                made.update(dict.fromkeys(_texts(entry, count, chance)))
    texts = list(made)
    chance.shuffle(texts)
    return texts


def _texts(entry: Entry, count: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yields the texts with a word that occurs `count` times elsewhere."""
    german, gender, english = entry
    if english[0].isupper():
        if count:
            yield english, german
    elif gender and german[0].isupper():
        if gender == "m" and _ADJECTIVAL.search(german):
            return
        yield english, german
        forms = dict(zip(_FORMS, _ARTICLES[gender], strict=True))
        is_weak = gender == "m" and _WEAK.search(german)
        usable = [pair for pair in _SENTENCES if not is_weak or _NOMINATIVE.search(pair[1])]
        number = 8 if count > 20 else 5 if count > 2 else 3
        for ours, theirs in chance.sample(usable, min(len(usable), number)):
            if _VOWEL.match(english):
                ours = re.sub(r"\ba \{e\}", "an {e}", ours)
            yield ours.format(e=english), theirs.format(d=german, **forms)
    else:
        yield english, german
        if _ADJECTIVE.search(german):
            yield f"It was very {english}.", f"Es war sehr {german}."
            yield f"He is {english}.", f"Er ist {german}."
