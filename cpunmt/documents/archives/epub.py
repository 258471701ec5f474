"""EPUB 2 and 3 (W3C, IDPF): translates the pages of a book, title and table of contents; other files stay."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator
from urllib.parse import unquote

from cpunmt.documents.archives.zip_file import Archive, Parts, inside
from cpunmt.documents.document import Contents, Document, DocumentError, Place, Source, read_source
from cpunmt.documents.formats.plain_text import read_web_page
from cpunmt.documents.xml_nodes import Node, escaped, nodes
from cpunmt.markup.units import Unit
from cpunmt.text.signs import has_letters

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_SPACES = {
    "urn:oasis:names:tc:opendocument:xmlns:container": "container",
    "http://www.idpf.org/2007/opf": "opf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
    "http://www.w3.org/2001/04/xmlenc#": "enc",
}
_PAGE, _NCX = "application/xhtml+xml", "application/x-dtbncx+xml"
_SHOWN = 5
_OF_BOOK = ("dc:title", "dc:description", "dc:subject")


def read_epub(content: bytes) -> Parts:
    """Returns the parts of a book, in the order of its manifest.

    Raises DocumentError if it is not a book, or needs a key.
    """
    archive = Archive(content)
    locked = _locked(archive)
    parts: dict[str, Contents] = {}
    missing: dict[str, None] = {}
    for node in _of(archive, _CONTAINER, ["container:rootfile"]):
        book = node.attributes.get("full-path", "")
        parts[book] = _texts(archive, book, _OF_BOOK)
        for item in _of(archive, book, ["opf:item"]):
            address = item.attributes.get("href", "")
            name = posixpath.normpath(posixpath.join(posixpath.dirname(book), unquote(address)))
            kind = item.attributes.get("media-type")
            if kind not in (_PAGE, _NCX) or name in parts or "://" in address or not address:
                continue
            if name not in archive.names:
                missing[name] = None
                continue
            if name in locked:
                raise DocumentError(f"{name} in it is encrypted: the book is bound to a reader; get one without")
            parts[name] = _page(archive, name) if kind == _PAGE else _texts(archive, name, ["ncx:text"])
    if not parts:
        raise DocumentError(f"its {_CONTAINER} names no book")
    return Parts(archive, parts, _notes(list(missing)))


def _notes(missing: list[str]) -> list[str]:
    more = f", and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return [f"pages that its contents name are missing: {', '.join(missing[:_SHOWN])}{more}"] if missing else []


def _source(archive: Archive, name: str) -> Source:
    content = archive.read(name)
    with inside(name):
        return read_source(content)


def _page(archive: Archive, name: str) -> Document:
    return read_web_page(_source(archive, name))


def _of(archive: Archive, name: str, names: Collection[str]) -> list[Node]:
    """Returns the elements of these names in a member."""
    source = _source(archive, name)
    with inside(name):
        return list(nodes(source.text, _SPACES, names))


def _texts(archive: Archive, name: str, names: Collection[str]) -> Document:
    """Returns the texts of these elements of a member, which hold nothing else."""
    source = _source(archive, name)
    with inside(name):
        found = nodes(source.text, _SPACES, names)
        return Document(source, [place for node in found for place in _place(node)])


def _place(node: Node) -> Iterator[Place]:
    text = "".join(child.text for child in node.children)
    if has_letters(text) and not any(child.name for child in node.children):
        yield Place(Unit(" ".join(text.split())), (node.inner,), lambda translation: [escaped(translation)])


def _locked(archive: Archive) -> Collection[str]:
    """Returns the members that need a key."""
    if _ENCRYPTION not in archive.names:
        return ()
    return {unquote(node.attributes.get("URI", "")) for node in _of(archive, _ENCRYPTION, ["enc:CipherReference"])}
