"""SpreadsheetML: reads strings of cells as items (ECMA-376 part 1, 18.4), and finds the cells of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cpunmt.documents.office.open_xml import run_frame, text_of
from cpunmt.documents.office.segments import Frame, Item, Items
from cpunmt.documents.xml_nodes import Node, escaped

_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_BREAK = r"(?:_x000[dD]_)?\r?\n|_x000[dD]_"  # Excel writes a carriage return as _x000D_
_LINE_END = re.compile(rf"(?:_x000[dD]_)?&#(?:0*10|x0*[aA]);|{_BREAK}")
_MOST_DIGITS = 10  # digits of a string's number: longer ones are not valid, and Python reads at most some thousands
Cells = tuple[range, range]  # rows and columns, from 1
Places = dict[int, list[range]]  # row -> columns


def sheet_items(text: str, node: Node) -> Items:
    """Returns the items of an `s:si`, `s:is` or `s:text`: one text, or runs. Its pronunciation (`rPh`) stays."""
    found: Items = []
    for child in node.children:
        if child.name == "s:t":
            found += _lines(text, child, None)
        elif child.name == "s:r" and (content := child.child("s:t")) is not None:
            run = run_frame(text, child, "s:rPr")
            name = f"{run.closing[2:-1].strip()[:-1]}t"  # a run is called r, with the prefix of this part
            opening, closing = f'<{name} xml:space="preserve">', f"</{name}>"
            begin, end = content.inner
            found += _lines(text, content, Frame(run, content.begin, begin, end, content.end, opening, closing, ()))
    return found


def _lines(text: str, node: Node, frame: Frame | None) -> Iterator[Item]:
    """Yields a text with breaks between its lines; in CDATA, which Excel never writes, a line end is a space."""
    begin, end = node.inner
    raw = text[begin:end]
    lines = re.split(_BREAK, text_of(node))
    places = [found.span() for found in _LINE_END.finditer(raw)] if "<" not in raw else []
    if len(places) + 1 != len(lines):  # some line ends are written as references
        lines, places = [text_of(node)], []
    at = begin
    for line, (first, last) in zip(lines, [*places, (end - begin, end - begin)], strict=True):
        if line:
            yield Item("text", at, begin + first, frame, frame, line)
        if first < last:
            yield Item("break", begin + first, begin + last, frame, frame)
        at = begin + last


def framed_in_cell(frame: Frame | None, text: str) -> str:
    """Writes a text of a cell, in a run or alone."""
    return f"{frame.all_openings}{escaped(text)}{frame.all_closings}" if frame else escaped(text)


def cells(reference: str) -> Cells | None:
    """Returns the rows and columns of a reference such as B2:D9; None of other texts."""
    first, _, last = reference.partition(":")
    begin, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last or first)
    if begin is None or end is None:
        return None
    return range(int(begin[2]), int(end[2]) + 1), range(_column(begin[1]), _column(end[1]) + 1)


def cell(reference: str) -> tuple[int, int]:
    """Returns the row and column of a reference such as B2; (0, 0) of other texts."""
    found = _REFERENCE.fullmatch(reference)
    return (int(found[2]), _column(found[1])) if found else (0, 0)


def shared_in(found: Iterable[Node], places: Places) -> Iterator[int]:
    """Yields the numbers of the shared strings of cells `s:c` within one of these places."""
    for node in found:
        if node.attributes.get("t") == "s" and is_in(node, places):
            value = node.child("s:v")
            number = text_of(value).strip() if value else ""
            if number.isdecimal() and len(number) <= _MOST_DIGITS:
                yield int(number)


def is_in(node: Node, places: Places) -> bool:
    """Returns whether a cell `s:c` is in one of these places."""
    row, column = cell(node.attributes.get("r", ""))
    return any(column in columns for columns in places.get(row, ()))


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
