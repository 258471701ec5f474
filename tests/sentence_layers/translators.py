"""Layers that replace a model: one that changes nothing, and some that behave as badly as possible."""

import random
import re

from cpunmt.alignment.aligned import Aligned

_PIECES = re.compile(r"\s*\S+|\s+$")


def pieces(text):
    """Returns the spans of the words, without the spaces before them."""
    return [(match.end() - len(match.group().lstrip()), match.end()) for match in _PIECES.finditer(text)]


def identity(texts, align):
    """A Layer that returns its source: a piece is a word, linked to itself."""
    return [_aligned(text, text, range(len(pieces(text))), align) for text in texts]


def hostile(seed):
    """Returns a Layer that drops, repeats, moves and changes words and stand-ins, depending only on the text."""

    def translate(texts, align):
        return [_spoilt(text, random.Random(f"{seed} {text}"), align) for text in texts]

    return translate


def _spoilt(text, chance, align):
    words = [text[begin:end] for begin, end in pieces(text)]
    made, links = [], []
    for number, word in enumerate(words):
        for _ in range(chance.choice((0, 1, 1, 1, 2, 30))):
            made.append(chance.choice((word, word, word.lower(), word + "s", word[1:], "")))
            links.append((number, len(made) - 1))
    if chance.random() < 0.3:
        chance.shuffle(made)
    target = chance.choice((" ", "", "  ")).join(made)[: chance.choice((10_000, 10, 0))]
    spans = pieces(target)
    links = sorted({(s, t) for s, t in links if t < len(spans)}, key=lambda link: link[::-1])
    return Aligned(text, target, pieces(text), spans, links) if align else Aligned(text, target)


def _aligned(source, target, links, align):
    if not align:
        return Aligned(source, target)
    return Aligned(source, target, pieces(source), pieces(target), [(number, number) for number in links])
