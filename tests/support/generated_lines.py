"""Generates lines of text, unusual and usual, for the laws, which hold for any text."""

import random

from bench.protection.sentences import BY_KIND, tagged
from tests.sample_models.real_model import SENTENCES

_PARTS = [
    *BY_KIND.values(),
    ["777", "1,234.5", "2 million", "3 1/2", "12/31/99", "5:30"],
    ["<br>", "</b>", "&amp;", "東京"],
]

_SCRIPTS = (
    (0x20, 0x7F),
    (0xA0, 0x250),
    (0x370, 0x400),  # Greek
    (0x400, 0x530),  # Cyrillic
    (0x590, 0x780),  # Hebrew, Arabic: right to left
    (0x900, 0xE80),  # scripts of India and Thailand
    (0x1100, 0x1200),  # Hangul's letters, which normalization joins
    (0x2000, 0x2070),  # spaces, joiners, marks of direction
    (0x2500, 0x27C0),  # boxes, symbols
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xD7F0, 0xE010),  # lone surrogates, and what is beside them
    (0xFB00, 0x10000),  # ligatures, wide letters, non-characters
    (0x1F300, 0x1FB00),  # emoji
    (0xE0000, 0xE0080),  # tags
    (0x10FFF0, 0x110000),
)
_ODD = (
    "",
    " ",
    "\t \u3000",
    "\0",
    "a\0b",
    "\r",
    "a\rb",
    "\x1c\x85\u2028",
    "\ufeff",
    "\ud83d",
    "\udc00\ud800",
    "👩‍👩‍👧‍👦",
    "e\u0301" * 5,
    "\u202eabc\u202c",
    "▁▁",
    "</s>",
    "<unk> <s> ⁇",
    "<0x0A>",
    "…",
    "1,234.50 €",
    "https://example.org/?q=ä&b=1",
    "?!?!?!",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
)


def generated_lines(count: int, seed: int = 1, short: bool = False) -> list[str]:
    """Returns `count` texts without line feeds. `short`: mostly a few words, and never long."""
    generator = random.Random(seed)
    real = SENTENCES.read_text("utf-8").split("\n")[:-1]
    return [_line(generator, real, short) for _ in range(count)]


def marked_line(generator: random.Random) -> str:
    """Returns a sentence with something that a layer keeps or changes: a span, a tag, a number, capitals, a tab."""
    words = generator.choice(SENTENCES.read_text("utf-8").split("\n")[:-1]).split()[:12]
    for _ in range(generator.randint(1, 3)):
        part = generator.choice(generator.choice(_PARTS))
        words.insert(generator.randint(0, len(words)), part)
    line = generator.choice([" ", " ", " ", "\t"]).join(words)
    if generator.random() < 0.4:
        line = tagged(line, generator)
    return line.upper() if generator.random() < 0.2 else line


def _line(generator, real, short):
    kind = generator.random()
    if kind < 0.1:
        return generator.choice(_ODD)
    words = generator.choice(real).split()
    if kind < 0.55:
        first = generator.randrange(len(words))
        return " ".join(words[first : first + generator.randint(1, 6 if short else 30)])
    if kind < 0.7:
        generator.shuffle(words)
        return generator.choice(" \t  ").join(words[: generator.randint(1, 8)])
    if kind < 0.9:
        low, high = generator.choice(_SCRIPTS)
        return "".join(chr(generator.randrange(low, high)) for _ in range(generator.randint(1, 12)))
    mixed = [generator.choice(words), generator.choice(_ODD), chr(generator.randrange(1, 0x110000))]
    line = generator.choice(["", " ", ", "]).join(mixed)
    if not short and kind > 0.997:
        line = line * generator.randint(2, 60)  # longer than the model takes
    return line.replace("\n", " ")
