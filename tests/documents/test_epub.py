"""EPUB: books."""

import io
import zipfile
from xml.etree import ElementTree

import pytest

from cpunmt.documents.archives.epub import read_epub
from cpunmt.documents.document import DocumentError, Unit
from cpunmt.documents.translate import translated
from tests.documents.laws import echo, upper
from tests.documents.test_archives import contents, zipped

CONTAINER = """<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
BOOK = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Two &amp; dogs</dc:title><dc:language>en</dc:language>
<dc:creator>Jane Doe</dc:creator><dc:identifier>abc</dc:identifier></metadata><manifest>
<item id="a" href="text/a%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="c" href="a.css" media-type="text/css"/><item id="m" href="missing.xhtml" media-type="application/xhtml+xml"/>
<item id="w" href="https://example.com/a.xhtml" media-type="application/xhtml+xml"/>
</manifest><spine toc="n"><itemref idref="a"/></spine></package>"""
NCX = """<?xml version="1.0"?>
<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap><navPoint id="p"><navLabel>
<text>First chapter</text></navLabel><content src="text/a%20b.xhtml"/></navPoint></navMap></ncx>"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Page</title><link rel="stylesheet" href="../a.css"/></head>
<body><p>A <b>bold</b> word.<br/>And&#160;more.</p><img src="a.png" alt="Picture"/></body></html>"""
MEMBERS = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": CONTAINER.encode(),
    "OEBPS/book.opf": BOOK.encode(),
    "OEBPS/text/a b.xhtml": PAGE.encode(),
    "OEBPS/toc.ncx": NCX.encode(),
    "OEBPS/a.css": b"p { color: red }",
}


def made(members, change) -> bytes:
    book = read_epub(zipped(members))
    return book.rendered(translated(book.units, echo(change), {}, lambda count: None))


def test_a_book():
    content = zipped(MEMBERS)
    assert made(MEMBERS, None) == content
    book = read_epub(content)
    assert book.rendered([unit.words for unit in book.units]) == content
    assert [unit for unit in book.units if not unit.is_page] == [Unit("Two & dogs"), Unit("First chapter")]
    found = contents(made(MEMBERS, upper))
    assert list(found) == list(MEMBERS)
    changed = {name: found[name].decode() for name in MEMBERS if found[name] != MEMBERS[name]}
    assert changed.pop("OEBPS/book.opf") == BOOK.replace("Two &amp; dogs", "TWO &amp; DOGS")
    assert changed.pop("OEBPS/toc.ncx") == NCX.replace("First chapter", "FIRST CHAPTER")
    page = changed.pop("OEBPS/text/a b.xhtml")
    assert changed == {} and "<p>A <b>BOLD</b> WORD.<br/>AND" in page and 'alt="PICTURE"' in page
    ElementTree.fromstring(page)


def test_of_two_entries_for_a_page_the_first_counts():
    entry = '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    other = entry.replace("toc.ncx", "text/a%20b.xhtml").replace('"n"', '"o"')
    twice = {**MEMBERS, "OEBPS/book.opf": BOOK.replace(entry, entry + other).encode()}
    assert read_epub(zipped(twice)).units == read_epub(zipped(MEMBERS)).units


def test_the_first_member_stays_stored():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in MEMBERS.items():
            out.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    book = read_epub(file.getvalue())
    rendered = book.rendered([unit.words.upper() for unit in book.units])
    assert rendered[30:58] == b"mimetypeapplication/epub+zip"  # as readers look for it


def test_a_book_with_a_lock():
    encryption = """<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData>
    <enc:CipherReference URI="{}"/></enc:CipherData></enc:EncryptedData></encryption>"""
    name = "META-INF/encryption.xml"
    made({**MEMBERS, name: encryption.format("OEBPS/font.otf").encode()}, upper)  # fonts often are
    with pytest.raises(DocumentError, match="a b.xhtml in it is encrypted"):
        made({**MEMBERS, name: encryption.format("OEBPS/text/a%20b.xhtml").encode()}, upper)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("META-INF/container.xml", None, "has no META-INF/container.xml in it, as a file of this format has"),
        ("META-INF/container.xml", b"<a/>", "names no book"),
        ("META-INF/container.xml", b"<a>", "container.xml in it, line 1: is no well-formed XML"),
        ("OEBPS/book.opf", None, "has no OEBPS/book.opf in it"),
        ("OEBPS/book.opf", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "book.opf in it, line 1: .*document type"),
        ("OEBPS/toc.ncx", b"\xff", "toc.ncx in it, line 1, byte 1 of the file: is not UTF-8"),
    ],
)
def test_broken_books(name, content, said):
    members = {key: value for key, value in {**MEMBERS, name: content}.items() if value is not None}
    with pytest.raises(DocumentError, match=said):
        read_epub(zipped(members))
