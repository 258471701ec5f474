"""Subtitles: SubRip (.srt) and WebVTT (W3C, .vtt). Numbers, times, settings, notes and styles stay.

A sentence over several cues is translated as one, and divided among them again. A style may span them, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from cpunmt.documents.document import LINE, Document, Place, Source, Span, trimmed
from cpunmt.documents.formats.cues import WIDTH, Cue, goes_on, shared_out, wrapped
from cpunmt.markup.units import Mark, Marked, Part, Unit, Words, bare, unit_of, with_sources
from cpunmt.process.stopping import checked
from cpunmt.text.signs import has_letters

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?![\d])")
_TAG = re.compile(r"<(/?)([A-Za-z]+)?[^<>\n]{0,500}>|\{[\\a-zA-Z][^{}\n]{0,500}\}")
_EDGE = re.compile(r"(?:\s|\u266a|\u266b|<[^<>\n]{0,500}>|\{[\\a-zA-Z][^{}\n]{0,500}\})*")
_SPACES = re.compile(r"\s+")
_DASH = re.compile(r"(?:[ \t]|<[^<>\n]{0,500}>|\{[\\a-zA-Z][^{}\n]{0,500}\})*[-\u2010-\u2015][ \t]*")
_ARROW = re.compile("(?<!-)--+>")  # between times only
_STYLES = {"b", "c", "font", "i", "u"}  # tags that may be open across cues
_MOST_OPEN = 8
_NO_TEXT = re.compile(r"WEBVTT|NOTE(?=\s|$)|STYLE\s*$|REGION\s*$|X-TIMESTAMP-MAP")


def read_srt(source: Source) -> Document:
    """Reads SubRip. Blocks without times are texts too."""
    return Document(source, _Reader(source, False).places)


def read_vtt(source: Source) -> Document:
    """Reads WebVTT. Blocks without times are not texts."""
    return Document(source, _Reader(source, True).places)


class _Reader:
    def __init__(self, source: Source, is_vtt: bool) -> None:
        self.text = source.text
        self.line_end = source.line_end
        self.is_vtt = is_vtt
        self.places: list[Place] = []
        self.group: list[Cue] = []
        self.opened: list[str] = []  # names of the tags that are open after the last cue
        for times, span in self._blocks():
            self._block(times, span)
        self._end()

    def _blocks(self) -> Iterator[tuple[tuple[int, int] | None, Span]]:
        """Yields the times of each block of lines, or None, and the span of the lines that follow them."""
        times: tuple[int, int] | None = None
        begin = end = before = -1  # of the block; the end before its last line
        last = ""
        for found in checked(LINE.finditer(self.text)):
            line = found[1]
            timed = _TIMES.match(line)
            if timed or not line.strip():
                if timed and times is not None and last.strip().isdecimal():  # the number of the next cue
                    end = before
                if 0 <= begin < end and not (timed and times is None):
                    yield times, (begin, end)
                begin, times = -1, None
                if timed:
                    numbers = timed.groups()
                    times = _milliseconds(*numbers[:4]), _milliseconds(*numbers[4:])
            else:
                begin, before = (found.start(), -1) if begin < 0 else (begin, end)
                end, last = found.end(1), line

    def _block(self, times: tuple[int, int] | None, span: Span) -> None:
        body = self.text[slice(*span)]
        if times is None and (self.is_vtt or _NO_TEXT.match(body)):
            return
        lines = [found.span(1) for found in LINE.finditer(body) if found[1].strip()]
        if any(_DASH.match(body, begin, end) for begin, end in lines[1:]):
            self._end()
            self._speakers(body, span[0], lines)
            return
        width = max(end - begin for begin, end in lines)
        begin = _EDGE.match(body).end()  # type: ignore[union-attr]  # it may be empty
        end = _trimmed(body, begin)
        core = body[begin:end]
        if not has_letters(core):
            return
        has_tags = bool(_TAG.search(core))
        opened = None if has_tags else _left_open(self.opened, body[:begin], body[end:])
        self.opened = opened or []
        if times is None or has_tags or (opened is None and _TAG.match(body)):
            self._end()
            self._marked(span, width)
            return
        cue = Cue(*times, (span[0] + begin, span[0] + end), " ".join(self._read(core).split()), width)
        if self.group and not goes_on(self.group, cue):
            self._end()
        self.group.append(cue)

    def _speakers(self, body: str, offset: int, lines: list[Span]) -> None:
        """Adds a place for each of several speakers; a dash begins the words of each."""
        begin = end = lines[0][0]
        for at, last in lines:
            if dash := _DASH.match(body, at, last):
                if has_letters(body[begin:end]):
                    self._marked((offset + begin, offset + end), WIDTH)
                begin = dash.end()
            end = last
        self._marked((offset + begin, offset + end), WIDTH)

    def _end(self) -> None:
        """Ends the sentence of the group."""
        group, self.group = self.group, []
        if len(group) == 1:
            self._add(Unit(group[0].text), group)
        elif group:
            parts: list[Part] = [group[0].text]
            for number, cue in enumerate(group[1:], 1):
                parts += " ", Mark("x", number), cue.text
            self._add(unit_of(parts), group)

    def _add(self, unit: Unit, group: list[Cue]) -> None:
        def write(translation: Words) -> list[str]:
            if isinstance(translation, str):
                return [self._written(wrapped(translation, max(WIDTH, group[0].width), self.line_end))]
            return [self._written(part) for part in shared_out(translation, group, self.line_end)]

        self.places.append(Place(unit, tuple(cue.span for cue in group), write))

    def _marked(self, span: Span, width: int) -> None:
        """Adds the place of a text with tags in it."""
        span = trimmed(self.text, span)
        marked = _marked(self.text[slice(*span)])
        parts = [_SPACES.sub(" ", self._read(part)) if isinstance(part, str) else part for part in marked.parts]
        if not has_letters(bare(parts)):
            return

        def write(translation: Words) -> list[str]:
            text = with_sources(translation, marked.sources, self._written)
            return [wrapped(text, max(WIDTH, width), self.line_end)]

        self.places.append(Place(unit_of(parts), (span,), write))

    def _read(self, text: str) -> str:
        return unescape(text) if self.is_vtt and "&" in text else text

    def _written(self, text: str) -> str:
        if self.is_vtt:
            return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return _ARROW.sub("->", text)


def _marked(body: str) -> Marked:
    marked, at = Marked(), 0
    for tag in _TAG.finditer(body):
        marked.parts.append(body[at : tag.start()])
        at = tag.end()
        name = (tag[2] or "").lower()
        if not name:
            marked.put("x", tag[0])
        elif tag[1]:
            marked.end(name, "x", tag[0])
        else:
            marked.begin(name, "x", tag[0])
    marked.parts.append(body[at:])
    return marked


def _left_open(opened: list[str], before: str, after: str) -> list[str] | None:
    """Returns the names of the tags that are open after a cue; None if its tags do not nest, or no style is left open.

    `opened`: those before it. `before`, `after`: the text around its words.
    """
    tags = [[tag for tag in _TAG.finditer(edge) if tag[2]] for edge in (before, after)]
    if any(tag[1] for tag in tags[0]) or not all(tag[1] for tag in tags[1]):
        return None
    left = [*opened, *(tag[2] for tag in tags[0])]
    if any(not left or left.pop() != tag[2] for tag in tags[1]) or not _STYLES.issuperset(left):
        return None
    return left[-_MOST_OPEN:]


def _trimmed(body: str, begin: int) -> int:
    """Finds the end of a text, before its final tags and white space."""
    end = len(body)
    while begin < end:
        if body[end - 1].isspace() or body[end - 1] in "\u266a\u266b":
            end -= 1
        elif body[end - 1] in ">}":
            at = body.rfind("<" if body[end - 1] == ">" else "{", begin, end)
            found = _TAG.fullmatch(body, at, end) if at >= 0 else None
            if found is None:
                break
            end = at
        else:
            break
    return end


def _milliseconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))
