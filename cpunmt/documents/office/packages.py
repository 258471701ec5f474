"""Office Open XML: finds the parts of a file with texts (ECMA-376 part 2), by their types in [Content_Types].xml."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from cpunmt.documents.archives.zip_file import Archive, Parts
from cpunmt.documents.document import Contents, DocumentError
from cpunmt.documents.office.open_xml import WordParagraph, drawing_items, framed_in_run
from cpunmt.documents.office.paragraphs import Paragraphs, Part, inside, read_part
from cpunmt.documents.office.segments import Items
from cpunmt.documents.office.sheets import Places, cells, framed_in_cell, is_in, shared_in, sheet_items
from cpunmt.documents.xml_nodes import Node

_TYPES = "[Content_Types].xml"
_OOXML = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
PREFIXES = {
    "http://www.w3.org/XML/1998/namespace": "xml",
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    **{f"{base}wordprocessingml/{end}": "w" for base, end in ((_OOXML, "2006/main"), (_STRICT, "main"))},
    **{f"{base}drawingml/{end}": "a" for base, end in ((_OOXML, "2006/main"), (_STRICT, "main"))},
    **{f"{base}spreadsheetml/{end}": "s" for base, end in ((_OOXML, "2006/main"), (_STRICT, "main"))},
    **{f"{base}officeDocument/{end}": "m" for base, end in ((_OOXML, "2006/math"), (_STRICT, "math"))},
    f"{_OOXML}package/2006/content-types": "types",
    f"{_OOXML}package/2006/relationships": "relations",
}
_KINDS = {
    "docx": (".wordprocessingml.", ".ms-word."),
    "pptx": (".presentationml.", ".ms-powerpoint."),
    "xlsx": (".spreadsheetml.", ".ms-excel."),
}
_WORD = frozenset(["header", "footer", "footnotes", "endnotes", "comments"])  # ends of the names of types
_DRAWING = frozenset(["slide", "notesSlide", "drawing", "chart", "chartshapes", "diagramData", "diagramDrawing"])
_MAIN = (".main+xml", ".main")
_PARAGRAPHS = frozenset(["w:p", "a:p"])
_DELETED = frozenset(["w:del", "w:moveFrom"])


def read_office(kind: str, content: bytes) -> Contents:
    """Reads a docx, pptx or xlsx, according to `kind`, also with macros, and templates.

    Raises DocumentError for other files, and for a part that is not well-formed.
    """
    archive = Archive(content)
    types, main = _types(archive)
    found = next((name for name, parts in _KINDS.items() if any(part in main for part in parts)), "")
    if found != kind:
        said = f"is of the format {found}" if found else "is a file of another format"
        raise DocumentError(f"{said}, expected {kind}; check its name, or give its format")
    if not main.endswith("+xml"):
        raise DocumentError("is written in binary (as xlsb is), expected XML; save it as such")
    return Parts(archive, dict(_workbook(archive, types) if kind == "xlsx" else _texts(archive, types, main)))


def _types(archive: Archive) -> tuple[dict[str, str], str]:
    """Returns the parts of a file with their types, and the type of the main part, "" without one.

    A part's type is its Override, else the Default for the ending of its name. Some programs use a Default even for the
    main part, which is then the one that the file's relations name.
    """
    if _TYPES not in archive.names:
        raise DocumentError(f"has no {_TYPES} in it, as a file of Office has; check its name, or give its format")
    names = {name.lower(): name for name in archive.names}
    found: dict[str, str] = {}
    usual: dict[str, str] = {}
    for node in read_part(archive, _TYPES, PREFIXES, ["types:Override", "types:Default"]).nodes:
        of = node.attributes.get("ContentType", "")
        name = names.get(unquote(node.attributes.get("PartName", "")).lstrip("/").lower())
        if node.name == "types:Default":
            usual[node.attributes.get("Extension", "").lower()] = of
        elif name is not None:
            found[name] = of
    main = next((of for of in found.values() if of.endswith(_MAIN)), "")
    document = "" if main else _document(archive, names)
    for name in archive.names:
        of = usual.get(posixpath.splitext(name)[1][1:].lower(), "")
        if name not in found and name != _TYPES and (not of.endswith(_MAIN) or name == document):
            found[name] = of
    return found, main or found.get(document, "")


def _document(archive: Archive, names: Mapping[str, str]) -> str:
    """Returns the main part, as the file's relations name it; "" if they do not."""
    relations = names.get("_rels/.rels")
    if relations is None:
        return ""
    for node in read_part(archive, relations, PREFIXES, ["relations:Relationship"]).nodes:
        if node.attributes.get("Type", "").endswith("/officeDocument"):
            return names.get(_target("", node).lower(), "")
    return ""


def _target(folder: str, relation: Node) -> str:
    """Returns the part that a relation names; `folder` is that of its owner."""
    target = unquote(relation.attributes.get("Target", ""))
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _texts(archive: Archive, types: dict[str, str], main: str) -> Iterator[tuple[str, Contents]]:
    """Yields parts with paragraphs of Word or of DrawingML, Word's main part first."""
    for name in sorted(types, key=lambda name: types[name] != main):
        of = types[name]
        last = of.removesuffix("+xml").rpartition(".")[2]
        is_word = ".wordprocessingml." in of or ".ms-word." in of
        if (is_word and (last in _WORD or of == main)) or (not is_word and last in _DRAWING):
            yield name, _paragraphs(read_part(archive, name, PREFIXES, _PARAGRAPHS))


def _paragraphs(part: Part) -> Contents:
    found = (_items(part.text, node) for node in inside(part.nodes, _PARAGRAPHS, _DELETED))
    return Paragraphs(part, found, framed_in_run)


def _items(text: str, node: Node) -> Items:
    return WordParagraph(text, node).items if node.name == "w:p" else drawing_items(text, node)


def _workbook(archive: Archive, types: dict[str, str]) -> Iterator[tuple[str, Contents]]:
    """Yields strings of cells, comments, and texts of drawings and charts.

    Names of table columns stay. They occur in cells too, formulas use them, and Excel reports a broken file if they
    differ. So these cells stay, and other cells with the same shared string.
    """
    strings = ""
    kept: set[int] = set()  # numbers of shared strings
    for name, of in types.items():
        last = of.removesuffix("+xml").rpartition(".")[2]
        if last == "sharedStrings":
            strings = name
        elif last == "worksheet":
            places = _headings(archive, name)
            if places or b"inlineStr" in archive.read(name):
                part = read_part(archive, name, PREFIXES, ["s:c"])
                kept.update(shared_in(part.nodes, places))
                inline = [node for node in part.nodes if not is_in(node, places)]
                yield name, _strings(part, inside(inline, frozenset(["s:is"])))
        elif last == "comments" and ".spreadsheetml." in of:
            part = read_part(archive, name, PREFIXES, ["s:text"])
            yield name, _strings(part, part.nodes)
        elif last in _DRAWING:
            yield name, _paragraphs(read_part(archive, name, PREFIXES, _PARAGRAPHS))
    if strings:
        part = read_part(archive, strings, PREFIXES, ["s:si"])
        yield strings, _strings(part, (node for number, node in enumerate(part.nodes) if number not in kept))


def _strings(part: Part, nodes: Iterable[Node]) -> Contents:
    return Paragraphs(part, [sheet_items(part.text, node) for node in nodes], framed_in_cell)


def _headings(archive: Archive, sheet: str) -> Places:
    """Finds the cells of a sheet that hold names of table columns or labels of their totals."""
    folder, base = posixpath.split(sheet)
    relations = f"{folder}/_rels/{base}.rels"
    places: Places = {}
    names: set[str] = set()
    if relations not in archive.names:
        return places
    for node in read_part(archive, relations, PREFIXES, ["relations:Relationship"]).nodes:
        if node.attributes.get("Type", "").endswith("/table"):
            names.add(_target(folder, node))
    for name in sorted(names.intersection(archive.names)):
        for table in read_part(archive, name, PREFIXES, ["s:table"]).nodes:
            rows, columns = cells(table.attributes.get("ref", "")) or (range(0), range(0))
            totals = len(rows) - _count(table, "totalsRowCount", 0)
            for row in {*rows[: _count(table, "headerRowCount", 1)], *rows[max(0, totals) :]}:
                places.setdefault(row, []).append(columns)
    return places


def _count(node: Node, name: str, usual: int) -> int:
    found = node.attributes.get(name, "")
    return int(found[-1:]) if found.isdecimal() else usual  # it is 0 or 1
