"""Layers that translate by a rule, and the standard library's parser of HTML."""

import random
import re
from html.parser import HTMLParser

from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.html_elements import VOID_ELEMENTS

_PIECE = re.compile(r"\s*(?:\{\d+\}|\w+|[^\w\s])|\s+$")


def pieces_of(text):
    """Returns spans of words and marks, each with the white space before it."""
    return [found.span() for found in _PIECE.finditer(text)]


def in_place(change):
    """Returns a layer that changes each word in its place."""

    def layer(texts, align):
        assert texts, "called for nothing"
        found = []
        for text in texts:
            target, spans = "", []
            for begin, end in pieces_of(text):
                word = change(text[begin:end])
                spans.append((len(target), len(target) + len(word)))
                target += word
            numbers = range(len(spans))
            links = [(number, number) for number in numbers]
            found.append(Aligned(text, target, pieces_of(text), spans, links) if align else Aligned(text, target))
        return found

    return layer


identity = in_place(str)
upper = in_place(lambda word: word if "{" in word else word.upper())


def shuffled(texts, align):
    """A layer that moves, drops and repeats words, depending only on the text."""
    found = []
    for text in texts:
        chance = random.Random(repr(text))
        sources = [span for span in pieces_of(text) if text[slice(*span)].strip()]
        order = list(range(len(sources)))
        if chance.random() < 0.5:
            chance.shuffle(order)
        order = [number for number in order for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 2]))]
        target, spans = "", []
        for number in order:
            word = text[slice(*sources[number])].strip()
            gap = chance.choice([" ", " ", " ", ""]) if target else ""
            spans.append((len(target), len(target) + len(gap) + len(word)))
            target += gap + (word if "{" in word else word.swapcase())
        links = [(number, at) for at, number in enumerate(order) if chance.random() < 0.9]
        found.append(Aligned(text, target, sources, spans, links) if align else Aligned(text, target))
    return found


def given(source, target, sources, targets, matrix):
    """Returns a layer for one text: pieces as texts, and the attention of each target piece to each source piece."""

    def spans(text, pieces):
        assert "".join(pieces) == text
        ends = [len("".join(pieces[: count + 1])) for count in range(len(pieces))]
        return [(end - len(piece), end) for end, piece in zip(ends, pieces, strict=True)]

    links = [(max(range(len(row)), key=row.__getitem__), at) for at, row in enumerate(matrix)]
    links = [(source, target) for source, target in links if source < len(sources)]  # the other pieces are </s>

    def layer(texts, align):
        assert list(texts) == [source]
        return [Aligned(source, target, spans(source, sources), spans(target, targets), links)]

    return layer


class Parsed(HTMLParser):
    """Tags with their attributes, comments and declarations, in order; whether elements nest."""

    VOID = VOID_ELEMENTS

    def __init__(self, html):
        super().__init__(convert_charrefs=False)
        self.found = []
        self.texts = []
        self.open = []
        self.nests = True
        self.feed(html)
        self.close()
        self.nests = self.nests and not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append(("start", tag, tuple(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append(("single", tag, tuple(attributes)))

    def handle_endtag(self, tag):
        self.found.append(("end", tag, ()))
        self.nests = self.nests and self.open[-1:] == [tag]
        self.open[-1:] = []

    def handle_comment(self, data):
        self.found.append(("comment", data, ()))

    def handle_decl(self, decl):
        self.found.append(("declaration", decl, ()))

    def handle_pi(self, data):
        self.found.append(("instruction", data, ()))

    def unknown_decl(self, data):
        self.found.append(("unknown", data, ()))

    def handle_data(self, data):
        self.texts.append(data)


def unread(found, names):
    """Returns `found` sorted, without the values of translated attributes and of <option>."""
    return sorted(
        (
            kind,
            name,
            tuple(
                (attribute, None if attribute in names else value or "")
                for attribute, value in attributes
                if (name, attribute) != ("option", "value")
            ),
        )
        for kind, name, attributes in found
    )
