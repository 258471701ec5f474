"""XLIFF 1.2 and 2 (OASIS): fills missing translations, and marks them for review; others stay.

Inline codes with content (`g`, `pc`, `mrk`) stand around their words, and so do pairs of codes (`bpt` and `ept`, `bx`
and `ex`, `sc` and `ec`). A code for a value in the sentence (an interpolation) or a protected part belongs to the
sentence. All other codes (`x`, `ph`, ...) stand beside it, with their content. Parts with translate="no" stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cpunmt.documents.document import Document, DocumentError, Place, Source
from cpunmt.documents.xml_nodes import Node, attribute_span, check_depth, escaped, nodes
from cpunmt.markup.units import Mark, Part, Unit, Words, bare, unit_of, with_sources
from cpunmt.registry.store import Languages
from cpunmt.text.signs import has_letters

_SPACES = {f"urn:oasis:names:tc:xliff:document:{version}": "x" for version in ("1.1", "1.2", "2.0", "2.2")}
_AROUND = ("g", "pc", "mrk")
# Codes that begin or end something -> the family and the attribute that name their pair; Angular has an `x` for each
_BEGINS = {"bpt": ("bpt", "rid"), "bx": ("bx", "rid"), "sc": ("sc", "id"), "sm": ("sm", "id")}
_ENDS = {"ept": ("bpt", "rid"), "ex": ("bx", "rid"), "ec": ("sc", "startRef"), "em": ("sm", "startRef")}
_ANGULAR = re.compile(r"(START|CLOSE)(_\w+)")
_STATE = re.compile(r"""\s+state(?:-qualifier)?\s*=\s*(?:"[^"]*"|'[^']*')""")
_UNDONE = ("new", "needs-translation", "initial")  # states of a target that only repeats its source
_REVIEW = ' state="needs-review-translation" state-qualifier="mt-suggestion"'  # of 1.2; in 2 the segment has a state
_VALUE = re.compile(r"INTERPOLATION|ICU|[{%]")  # in the description of a code: it stands for a word


def read_xliff(source: Source) -> Document:
    """Returns a unit for each source with letters and without a translation, in the order of the file."""
    text = source.text
    roots = nodes(text, _SPACES, ["x:xliff", "xliff", "x:file", "file"])
    files = [
        (file, _languages({**root.attributes, **file.attributes}))
        for root in roots
        for file in (root.children if _kind(root) == "xliff" else [root])
        if _kind(file) == "file"
    ]
    if not files:
        raise DocumentError("has no file element, as XLIFF 1.2 and 2 have; check its name")
    check_depth(text, [file for file, _ in files])
    found = [(list(_places(text, file, True)), languages) for file, languages in files]
    places = [place for part, _ in found for place in part]
    return Document(source, places, languages=[languages for part, languages in found if part])


def _languages(attributes: Mapping[str, str]) -> Languages:
    """Returns the languages that a file element of 1.2, or the root element of 2, declares."""
    pairs = (("source-language", "srcLang"), ("target-language", "trgLang"))
    return Languages(*(attributes.get(one, attributes.get(other)) for one, other in pairs))


def _places(text: str, node: Node, translates: bool) -> Iterator[Place]:
    translates = {"yes": True, "no": False}.get(node.attributes.get("translate", ""), translates)
    for child in node.children:
        kind = _kind(child)
        if kind in ("trans-unit", "segment"):
            if {"yes": True, "no": False}.get(child.attributes.get("translate", ""), translates):
                yield from _place(text, child)
        elif kind in ("group", "body", "unit"):
            yield from _places(text, child, translates)


def _place(text: str, unit: Node) -> Iterator[Place]:
    """Yields the place of a unit of 1.2, or of a segment of 2."""
    parts = {_kind(child): child for child in reversed(unit.children)}
    if "source" not in parts or unit.attributes.get("approved") == "yes":
        return
    source, target = parts.get("seg-source", parts["source"]), parts.get("target")
    inline = _Inline(text, source)
    if inline.unit is None or (target is not None and not _is_undone(target, source, unit)):
        return
    in_segment = _kind(unit) == "segment"
    state = attribute_span(text, unit, "state") if in_segment else None

    def write(translation: Words) -> list[str]:
        made = inline.write(translation)
        review = "" if in_segment else _REVIEW
        made = _new_target(text, source, made, review) if target is None else _filled(text, target, made, review)
        return [made] if state is None else ["translated", made]

    span = (source.end, source.end) if target is None else (target.begin, target.end)
    yield Place(inline.unit, (span,) if state is None else (state, span), write)


def _filled(text: str, target: Node, made: str, attributes: str) -> str:
    """Returns an existing target with new attributes for its state."""
    tag = text[target.begin : target.inner[0]].rstrip("/> \t\r\n")
    name = tag[1:].split()[0]
    if attributes:
        tag = _STATE.sub("", tag) + attributes
    return f"{tag}>{made}</{name}>"


def _is_undone(target: Node, source: Node, unit: Node) -> bool:
    """Returns whether a target is empty, or repeats its source."""
    has = _words(target)
    state = target.attributes.get("state", unit.attributes.get("state"))
    return not has.strip() or (has == _words(source) and state in _UNDONE)


def _words(node: Node) -> str:
    return node.text + "".join(map(_words, node.children))


def _new_target(text: str, source: Node, made: str, attributes: str) -> str:
    """Returns a target to insert behind the source, on its own line if the source has one."""
    line = text.rfind("\n", 0, source.begin)
    indent = text[line + 1 : source.begin]
    between = ("\r\n" if text[line - 1] == "\r" else "\n") + indent if line >= 0 and not indent.strip() else ""
    name = re.match(r"<([^\s/>]+:)?", text[source.begin : source.inner[0]])
    prefix = name[1] or "" if name else ""
    return f"{between}<{prefix}target{attributes}>{made}</{prefix}target>"


class _Inline:
    """The content of a source.

    unit  None if nothing is to be translated
    """

    unit: Unit | None

    def __init__(self, text: str, source: Node) -> None:
        self._text = text
        self._parts: list[Part] = []
        self._sources: dict[tuple[int, bool], str] = {}  # (number of a mark, whether it is an end) -> its source
        self._count = 0
        self._open: list[dict[str, list[int]]] = []  # for each element: pair -> places among the parts where it begins
        self._begun: list[tuple[str, int, int]] = []  # in order: pair, place among the parts, depth
        self._dead: set[int] = set()  # places in `_begun` of pairs that cross others
        self._crossing: dict[int, int] = {}  # number of a beginning code -> number of its end
        self._alone: dict[str, int] = {}  # pair across the edge of an element -> number of its beginning code
        self._take(source)
        text = bare(self._parts)
        self._before = text[: len(text) - len(text.lstrip())]
        self._after = text[len(text.rstrip()) :]
        self.unit = None
        if has_letters(text):
            self.unit = unit_of(self._parts) if self._sources else Unit(text.strip())

    def write(self, translation: Words) -> str:
        """Writes the translation of the unit as the content of a target."""
        if isinstance(translation, str):
            return escaped(self._before + translation + self._after)
        parts = list(translation)
        places = {part.number: at for at, part in enumerate(parts) if isinstance(part, Mark)}
        for begin, end in self._crossing.items():  # two codes that do not nest keep their order
            one, other = places[begin], places[end]
            if other < one:
                parts[one], parts[other] = parts[other], parts[one]
                places[begin], places[end] = other, one
        return with_sources(tuple(parts), self._sources, escaped)

    def _take(self, node: Node) -> None:
        text = self._text
        self._open.append({})
        for child in node.children:
            kind = _kind(child)
            self._count += 1
            number = self._count
            if not child.name:
                self._parts.append(child.text)
            elif kind in _AROUND and child.inner[0] < child.inner[1] and not _is_kept(child):
                self._sources[number, False] = text[child.begin : child.inner[0]]
                self._sources[number, True] = text[child.inner[1] : child.end]
                self._parts.append(Mark("g", number))
                self._take(child)
                self._parts.append(Mark("g", number, True))
            else:
                tag = text[child.begin : child.inner[0]]
                self._sources[number, False] = text[child.begin : child.end]
                self._parts.append(Mark("k" if _is_kept(child) or _VALUE.search(tag) else "x", number))
                begins, ends = _pair(child)
                if begins:
                    self._open[-1].setdefault(begins, []).append(len(self._parts) - 1)
                    self._begun.append((begins, len(self._parts) - 1, len(self._open)))
                elif ends:
                    self._end(ends, number)
        self._open.pop()
        self._leave(len(self._open))

    def _leave(self, depth: int) -> None:
        """Drops pairs that begin, but do not end, within the element of this depth."""
        while self._begun and self._begun[-1][2] > depth:
            self._drop()

    def _drop(self) -> None:
        pair, place, depth = self._begun.pop()
        if place not in self._dead:
            if depth <= len(self._open):
                self._open[depth - 1][pair].pop()
            self._alone[pair] = self._number(place)

    def _number(self, place: int) -> int:
        part = self._parts[place]
        assert isinstance(part, Mark)
        return part.number

    def _end(self, pair: str, number: int) -> None:
        """Pairs the last part with the code that begins it, if the pairs between them nest."""
        if not self._open[-1].get(pair):
            outer = next((level[pair] for level in reversed(self._open) if level.get(pair)), None)
            if outer:
                self._dead.add(outer[-1])
                self._crossing[self._number(outer.pop())] = number
            elif pair in self._alone:
                self._crossing[self._alone.pop(pair)] = number
            return
        while self._begun[-1][0] != pair or self._begun[-1][1] in self._dead:
            self._drop()
        begin = self._number(self._begun.pop()[1])
        place = self._open[-1][pair].pop()
        self._sources[begin, True] = self._sources.pop((number, False))
        self._parts[place] = Mark("g", begin)
        self._parts[-1] = Mark("g", begin, True)


def _pair(code: Node) -> tuple[str, str]:
    """Returns the names of the pairs that a code begins and ends; "" for neither."""
    kind, attributes = _kind(code), code.attributes
    if kind == "x" and (found := _ANGULAR.fullmatch(attributes.get("id", ""))):
        return (found[2], "") if found[1] == "START" else ("", found[2])
    names = []
    for known in (_BEGINS, _ENDS):
        family, name = known.get(kind, ("", ""))
        key = attributes.get(name, attributes.get("id") if name == "rid" else None)
        names.append(f"{family} {key}" if key is not None else "")
    return names[0], names[1]


def _is_kept(code: Node) -> bool:
    """Returns whether a code is marked as untranslatable."""
    return code.attributes.get("mtype") == "protected" or code.attributes.get("translate") == "no"


def _kind(node: Node) -> str:
    """Returns the name of an XLIFF element; "" for others, and for texts."""
    return node.name[2:] if node.name.startswith("x:") else "" if "}" in node.name else node.name
