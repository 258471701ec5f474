"""Keeps tags in plain text, such as the messages of programs: removes them, and puts them back around the same words.

A sentence is translated without its tags, so its words are those of the sentence without tags. Tags have no meaning
here: `<br>` does not end a sentence, and the content of `<code>` is translated. References such as `&amp;` are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from cpunmt.alignment.aligned import Aligned, Layer, Span, aligned_hypotheses, changed_result
from cpunmt.markup.blocks import Block, make_block
from cpunmt.markup.document import END, MOST_NESTED, POINT, START, TEXT, Content, Item
from cpunmt.markup.html_elements import VOID_ELEMENTS
from cpunmt.markup.rendering import rendered

_ATTRIBUTE = r"\s{1,8}[\w:.@-]{1,64}\s?=\s?(?:\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}'|[^\s\"'<>=/]{1,200})"
_TAG = re.compile(
    rf"<(?P<closes>/?)(?P<name>[A-Za-z0-9][\w:.-]{{0,63}})(?:{_ATTRIBUTE}){{0,32}}\s{{0,8}}(?P<empty>/?)>"
)
_PLAIN = {character: character for character in "&<>"}  # text has no references
_FIRST = 0xF0000  # the first of the private characters that stand for tags
_MOST = 0xFFFE  # tags of a sentence that are kept


def has_tags(text: str, first: int = 0) -> bool:
    """Returns whether a sentence that begins at `first` has a tag."""
    return "<" in text and _TAG.search(text, first) is not None


def tag_layer(below: Layer, language_end: Callable[[str], int] | None = None) -> Layer:
    """Returns a layer that keeps the tags in sentences, byte for byte, each once; `below` translates sentences.

    `language_end` finds where the sentence begins in a text that begins with the name of the target language.
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        tagged = {
            number: _Tagged(text, first)
            for number, text in enumerate(texts)
            if "<" in text and has_tags(text, first := language_end(text) if language_end else 0)
        }
        if not tagged:
            return below(texts, align)
        rest = [number for number in range(len(texts)) if number not in tagged]
        found = dict(zip(rest, below([texts[number] for number in rest], align), strict=True)) if rest else {}
        made = below([sentence.plain for sentence in tagged.values()], True)
        for (number, sentence), aligned in zip(tagged.items(), made, strict=True):
            found[number] = sentence.restored(aligned, align)
        return [found[number] for number in range(len(texts))]

    return translate


class _Tagged:
    """A sentence with tags; `plain` is the sentence without them."""

    def __init__(self, text: str, first: int) -> None:
        self.text = text
        tags = list(_TAG.finditer(text, first))[:_MOST]
        taken = {ord(character) for character in text if ord(character) >= _FIRST}
        codes = (code for code in range(_FIRST, 0x10FFFF) if code not in taken)
        self.tags: dict[str, str] = {}  # a private character -> the tag that it stands for
        parts: list[str] = []
        items: list[Item] = []
        size = at = 0  # of `parts`; in `text`
        for tag, kind in zip(tags, _kinds(tags), strict=True):
            if at < tag.start():
                parts.append(text[at : tag.start()])
                items.append((TEXT, size, size + len(parts[-1]), ""))
                size += len(parts[-1])
            parts.append(chr(next(codes)))
            self.tags[parts[-1]] = tag[0]
            items.append((kind, size, size + 1, tag["name"]))
            size, at = size + 1, tag.end()
        parts.append(text[at:])
        if at < len(text):
            items.append((TEXT, size, size + len(parts[-1]), ""))
        self.marked = "".join(parts)
        self.block: Block | None = make_block(self.marked, Content(items, False, None, "raw"))
        self.plain = ""
        if self.block is not None:
            self.block.spellings.update(_PLAIN)
            self.plain = self.block.plain

    def restored(self, below: Aligned, align: bool) -> Aligned:
        """Returns the translation of the sentence, made from the translation of `plain`."""
        source = _WithTags(self.plain, self.marked, self.tags)
        made = [self._with_tags(one) for one in aligned_hypotheses(below)]
        sources, targets = source.spans(below.source_spans), made[0].spans(below.target_spans)
        hypotheses = below.found.hypotheses if below.found else ()
        texts = [(moved.text, moved.spans(one.spans or ())) for one, moved in zip(hypotheses, made, strict=False)]
        found = changed_result(below.found, self.text, texts, align, source.spans)
        if not align:
            return Aligned(self.text, made[0].text, found=found)
        kept = [(source.span(one), made[0].span(other)) for one, other in below.kept]
        return Aligned(self.text, made[0].text, sources, targets, below.links, found, kept)

    def _with_tags(self, aligned: Aligned) -> _WithTags:
        block = self.block
        if block is None or aligned.target == self.plain:
            return _WithTags(aligned.target, self.marked, self.tags)
        written = rendered(block, aligned, self.marked) or []
        parts = [(0, block.begin), *written, (block.end, len(self.marked))]
        marked = "".join([part if isinstance(part, str) else self.marked[slice(*part)] for part in parts])
        return _WithTags(aligned.target, marked, self.tags)


def _kinds(tags: Sequence[re.Match[str]]) -> list[int]:
    """Returns for each tag whether it begins or ends an element; a tag without a partner is a point."""
    found = [POINT] * len(tags)
    opened: list[int] = []
    for number, tag in enumerate(tags):
        name = tag["name"]
        if tag["closes"]:
            near = [place for place in opened[-MOST_NESTED:] if tags[place]["name"] == name]
            if near:
                while opened.pop() != near[-1]:
                    pass
                if len(opened) < MOST_NESTED:
                    found[near[-1]], found[number] = START, END
        elif not tag["empty"] and name.lower() not in VOID_ELEMENTS:
            opened.append(number)
    return found


class _WithTags:
    """A text with its tags, and the places of the plain text's characters in it.

    In `marked` each tag is one character of `tags`.
    """

    def __init__(self, plain: str, marked: str, tags: dict[str, str]) -> None:
        self.text = "".join([tags.get(character, character) for character in marked])
        self._places: list[int] = []  # of each character of `plain`; white space has the place behind the last letter
        number = at = 0
        for character in plain:
            if not character.isspace():
                while number < len(marked) and (marked[number] in tags or marked[number].isspace()):
                    at += len(tags.get(marked[number], " "))
                    number += 1
            self._places.append(at)
            if not character.isspace():
                number, at = number + 1, at + 1

    def span(self, span: Span) -> Span:
        """Returns the span of the text that a span of `plain` became."""
        begin, end = span
        if begin >= end or end > len(self._places):
            at = self._places[begin] if begin < len(self._places) else len(self.text)
            return at, at
        return self._places[begin], self._places[end - 1] + 1

    def spans(self, spans: Sequence[Span]) -> list[Span]:
        """Returns what several spans became."""
        return [self.span(span) for span in spans]
