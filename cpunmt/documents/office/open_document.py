"""OpenDocument: reads the paragraphs of texts, slides and sheets as items (ISO/IEC 26300-1, 5.1 and 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cpunmt.documents.archives.zip_file import Archive, Parts
from cpunmt.documents.document import Contents, DocumentError, Span
from cpunmt.documents.office.paragraphs import Paragraphs, Part, canonical, read_part
from cpunmt.documents.office.segments import Container, Frame, Item, Items, Kind, Looks
from cpunmt.documents.xml_nodes import Node, attribute_span, escaped

_BASE = "urn:oasis:names:tc:opendocument:xmlns:"
PREFIXES = {f"{_BASE}{name}:1.0": name for name in ("office", "text", "style", "table", "draw", "presentation")} | {
    f"{_BASE}xsl-fo-compatible:1.0": "fo"
}
_NAMES = {"odt": "text", "odp": "presentation", "ods": "spreadsheet"}  # the name within the file's own type
_MIME = re.compile(r"application/vnd\.oasis\.opendocument\.([a-z]+)(?:-template)?")
_PARAGRAPHS = frozenset(["text:p", "text:h"])
_CELLS = frozenset(["table:table-cell", "table:covered-table-cell"])
_DELETED = frozenset(["text:tracked-changes", "table:tracked-changes"])
_LOOKED_FOR = _PARAGRAPHS | _CELLS | _DELETED | {"style:style"}
_SAYS_NOTHING = frozenset(
    [
        "style:name", "style:family", "fo:language", "fo:country", "style:language-asian", "style:country-asian",
        "style:language-complex", "style:country-complex",
        "{http://openoffice.org/2009/office}rsid", "{http://openoffice.org/2009/office}paragraph-rsid",
    ]
)  # fmt: skip
_RAISES = "style:text-position"
_FORGOTTEN = frozenset(["text:soft-page-break", "text:number"])
_CONTAINERS = frozenset(["text:a", "text:meta", "text:ruby-base"])
_KINDS: dict[str, Kind] = {
    "text:line-break": "break",
    "text:tab": "split",
    "text:note": "x",
    "text:change": "x",
    "office:annotation": "x",
    "office:annotation-end": "range",
    "text:bookmark": "x",
    "text:reference-mark": "x",
    "text:toc-mark": "x",
    "text:alphabetical-index-mark": "x",
    "text:user-index-mark": "x",
}


def read_open_document(kind: str, content: bytes) -> Contents:
    """Reads an odt, odp or ods, according to `kind`, or a template of it.

    Raises DocumentError for other files, for encrypted ones, and for a part that is not well-formed.
    """
    archive = Archive(content)
    _check(archive, kind)
    found: dict[str, Contents] = {}
    for name in archive.names:
        folder, _, last = name.rpartition("/")
        is_own = not folder and (last == "content.xml" or (last == "styles.xml" and kind != "odp"))
        if is_own or (last == "content.xml" and folder.startswith("Object")):
            found[name] = _paragraphs(read_part(archive, name, PREFIXES, _LOOKED_FOR))
    return Parts(archive, found)


def _check(archive: Archive, kind: str) -> None:
    mime = archive.read("mimetype")[:200].decode("utf-8", "replace").strip() if "mimetype" in archive.names else ""
    found = _MIME.fullmatch(mime)
    if found is None or found[1] != _NAMES[kind]:
        said = f"says that it is {mime!r}" if mime else "does not say what it is"
        raise DocumentError(f"{said}, expected {kind}; check its name, or give its format")
    manifest = "META-INF/manifest.xml"
    if manifest in archive.names and b"encryption-data" in archive.read(manifest):  # some are not well-formed XML
        raise DocumentError("is encrypted; save it without a password")


def _paragraphs(part: Part) -> Contents:
    looks = {node.attributes.get("style:name", ""): _look(node) for node in part.nodes if node.name == "style:style"}
    found = list(_found(part.nodes))
    cells = {cell.begin: cell for _, cell in found if cell is not None}  # a cell may have many paragraphs
    copies = {begin: _copy(part.text, cell) for begin, cell in cells.items()}
    of_paragraphs = [None if cell is None else copies[cell.begin] for _, cell in found]
    return Paragraphs(part, (_items(part.text, node, looks) for node, _ in found), framed_in_span, of_paragraphs)


def _look(style: Node) -> tuple[Any, ...]:
    """Returns the look of a style, () without one: LibreOffice makes a style for each session of an author."""
    found = canonical(style, _SAYS_NOTHING)
    properties = tuple(child for child in found[3] if child[2] or child[3])
    return (*found[2], *properties)


def _found(nodes: list[Node]) -> Iterator[tuple[Node, Node | None]]:
    """Yields paragraphs, each with its cell; skips cells whose text comes from a number or a formula.

    Notes and shapes at a cell are not its text.
    """
    waiting: list[tuple[Node, Node | None]] = [(node, None) for node in reversed(nodes)]
    while waiting:
        node, cell = waiting.pop()
        is_paragraph = node.name in _PARAGRAPHS
        if node.name in _DELETED or (is_paragraph and cell is not None and _is_computed(cell)):
            continue
        if is_paragraph:
            yield node, cell
        around = node if node.name in _CELLS else None
        waiting += [(child, around) for child in reversed(node.children)]


def _is_computed(cell: Node) -> bool:
    return "table:formula" in cell.attributes or cell.attributes.get("office:value-type", "string") != "string"


def _copy(text: str, cell: Node) -> Span | None:
    """Finds the attribute that repeats a cell's text, which LibreOffice shows instead of its paragraphs."""
    value = attribute_span(text, cell, "office:string-value")
    if value is None:
        return None
    name = text[cell.begin : value[0] - 1].rstrip()[:-1]  # the tag up to the end of the attribute's name
    return cell.begin + len(name.rsplit(maxsplit=1)[0]), value[1] + 1


def _items(text: str, node: Node, looks: dict[str, Looks]) -> Items:
    return list(_of(text, node, looks, None))


def _of(text: str, node: Node, looks: dict[str, Looks], frame: Frame | None) -> Iterator[Item | Container]:
    for child in node.children:
        name, (begin, end) = child.name, child.inner
        if not name:
            yield Item("text", child.begin, child.end, frame, frame, child.text)
        elif name == "text:span":
            if child.children:
                style = child.attributes.get("text:style-name", "")
                opening, closing = text[child.begin : begin], text[end : child.end]
                look = looks.get(style, style)
                span = Frame(frame, child.begin, begin, end, child.end, opening, closing, look, _RAISES in str(look))
                yield from _of(text, child, looks, span)
        elif name == "text:s":
            is_wide = child.attributes.get("text:c", "1") not in ("1", "2")
            yield Item("split" if is_wide else "text", child.begin, child.end, frame, frame, "" if is_wide else " ")
        elif name in _CONTAINERS:
            opening_item = Item("x", child.begin, begin, frame, None)
            items = list(_of(text, child, looks, None))
            yield Container(opening_item, items, Item("x", end, child.end, None, frame))
        elif name not in _FORGOTTEN:
            yield Item(_kind(name), child.begin, child.end, frame, frame)


def _kind(name: str) -> Kind:
    if name.endswith(("-start", "-end")):
        return "range"
    if name.startswith(("draw:", "table:", "office:", "presentation:")):
        return _KINDS.get(name, "x")
    return _KINDS.get(name, "k")  # fields: their text is computed, and part of the sentence


def framed_in_span(frame: Frame | None, text: str) -> str:
    """Writes a text in spans like those of a frame; escapes runs of spaces."""
    if frame is None:
        return escaped(text)
    return f"{frame.all_openings}{escaped(text)}{frame.all_closings}"
