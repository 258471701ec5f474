"""Archives and books: unchanged parts keep their bytes, and every file stays within the bounds."""

import io
import struct
import zipfile
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.documents.archives import zip_file
from cpunmt.documents.archives.epub import read_epub
from cpunmt.documents.archives.zip_file import Archive, Parts
from cpunmt.documents.document import DocumentError, Unit, read_source
from cpunmt.documents.formats.plain_text import read_plain_text
from cpunmt.documents.translate import translated
from tests.documents.laws import echo, shown, upper

NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=8)


def zipped(members, comment=b"", **settings) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **settings) as out:
        for name, content in members.items():
            out.writestr(name, content)
        out.comment = comment
    return file.getvalue()


def contents(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


@settings(max_examples=60, deadline=None)
@given(
    members=st.dictionaries(NAMES, st.binary(max_size=200), min_size=1, max_size=6),
    new=st.binary(max_size=200),
    which=st.integers(0, 5),
    stored=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
    comment=st.binary(max_size=9).filter(lambda comment: b"PK" not in comment),  # readers look for the last one
)
def test_what_is_not_changed_stays(members, new, which, stored, comment):
    content = zipped(members, comment, compression=stored)
    archive = Archive(content)
    assert archive.names == list(members)
    assert archive.rewritten({}) == content
    name = list(members)[which % len(members)]
    found = archive.rewritten({name: new})
    assert contents(found) == {**members, name: new} and list(contents(found)) == list(members)
    for old, other in zip(zipfile.ZipFile(io.BytesIO(content)).infolist(), Archive(found)._members, strict=True):
        for kept in ("filename", "date_time", "compress_type", "external_attr", "create_system", "comment"):
            assert getattr(old, kept) == getattr(other, kept)
    assert Archive(found)._zip.comment == comment


def test_parts_are_one_document():
    members = {"a.txt": b"One.\n\nTwo.", "image": bytes(99), "b.txt": b"Three."}
    archive = Archive(zipped(members))
    texts = {n: read_plain_text(read_source(archive.read(n))) for n in archive.names if n.endswith(".txt")}
    parts = Parts(archive, texts)
    assert [shown(unit) for unit in parts.units] == ["One.", "Two.", "Three."]
    assert parts.rendered(["One.", "Two.", "Three."]) == archive.content
    assert contents(parts.rendered(["One.", "Zwei.", "Drei."])) == {
        "a.txt": b"One.\n\nZwei.",
        "image": bytes(99),
        "b.txt": b"Drei.",
    }


def test_a_bomb_is_refused_before_it_is_expanded():
    bomb = zipped({"a": bytes(50_000_000)}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    said = f"would be 50000000 bytes when expanded, expected at most {200 * len(bomb) + 1_048_576}: a zip bomb"
    with pytest.raises(DocumentError, match=said):
        Archive(bomb)


def test_a_member_gives_no_more_than_its_header_says():
    content = bytearray(zipped({"a": bytes(5_000_000)}, compression=zipfile.ZIP_DEFLATED))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<L", 10)  # the size in the directory at the end
    with pytest.raises(DocumentError, match="a in it is broken"):
        Archive(bytes(content)).read("a")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a zip file"),
        (b"PK\x03\x04 and no more", "is not a zip file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "is encrypted, or of Office before 2007"),
    ],
)
def test_other_files(content, said):
    with pytest.raises(DocumentError, match=said):
        Archive(content)


def test_an_encrypted_member():
    content = bytearray(zipped({"a": b"text"}))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + at] |= 1
    with pytest.raises(DocumentError, match="is encrypted; save it without a password"):
        Archive(bytes(content))


def test_two_members_of_one_name():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            out.writestr("a", b"2")
    with pytest.raises(DocumentError, match="holds two files of one name"):
        Archive(file.getvalue())


def test_bounds_are_the_most_that_is_read(monkeypatch):
    assert (zip_file.MOST_MEMBERS, zip_file.MOST_EXPANDED) == (16_384, 1_073_741_824)
    content = zipped({"a": bytes(10), "b": bytes(20), "c": b""})
    for name, most, said in (
        ("MOST_MEMBERS", 3, "holds 3 files, expected at most 2"),
        ("MOST_EXPANDED", 30, "would be 30 bytes when expanded, expected at most 29"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(zip_file, name, most)
            assert Archive(content).names == ["a", "b", "c"]
            patch.setattr(zip_file, name, most - 1)
            with pytest.raises(DocumentError, match=said):
                Archive(content)


def test_a_member_that_is_not_there():
    with pytest.raises(DocumentError, match="has no b in it"):
        Archive(zipped({"a": b""})).read("b")


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(0, 400), at=st.integers(0, 400), byte=st.integers(0, 255))
def test_damage_is_an_error_or_harmless(cut, at, byte):
    content = bytearray(zipped({"a": b"One text. " * 9, "b": b"Two."}, compression=zipfile.ZIP_DEFLATED))
    if at < len(content):
        content[at] = byte
    content = bytes(content[: max(cut, 1)] if cut < 50 else content)
    try:
        archive = Archive(content)
        for name in archive.names:
            archive.read(name)
    except DocumentError:
        return
    assert archive.rewritten({}) == content


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
<text>First chapter</text></navLabel>
<navLabel><text>12</text></navLabel><content src="text/a%20b.xhtml"/></navPoint></navMap></ncx>"""
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
    assert book.notes == ["pages that its contents name are missing: OEBPS/missing.xhtml"]
    item = '<item id="x{0}" href="{0}.xhtml" media-type="application/xhtml+xml"/>'
    lost = "".join(item.format(number % 10) for number in range(1000))
    many = {**MEMBERS, "OEBPS/book.opf": BOOK.replace("<manifest>", f"<manifest>{lost}").encode()}
    (note,) = read_epub(zipped(many)).notes
    assert note.endswith("OEBPS/3.xhtml, OEBPS/4.xhtml, and 6 more")


def test_names_in_utf_8_need_no_mark():
    """Many programs write them without it."""
    page = MEMBERS["OEBPS/text/a b.xhtml"]
    members = {
        **MEMBERS,
        "OEBPS/book.opf": BOOK.replace("text/a%20b.xhtml", "text/caf%C3%A9.xhtml").encode(),
        "OEBPS/text/café.xhtml": page,
    }
    content = bytearray(zipped(members))
    for signature, at in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        place = -1
        while (place := content.find(signature, place + 1)) >= 0:
            content[place + at] &= 0xF7
    assert any(name.startswith("OEBPS/text/caf") and "é" not in name for name in contents(bytes(content)))
    book = read_epub(bytes(content))
    assert list(contents(book.rendered([unit.words for unit in book.units]))) == list(contents(bytes(content)))
    found = contents(book.rendered(translated(book.units, echo(upper), {}, lambda count: None)))
    assert list(found) == list(members) and b"<b>BOLD</b>" in found["OEBPS/text/café.xhtml"]
    assert read_epub(zipped(members)).units == book.units


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
    made({**MEMBERS, name: encryption.format("OEBPS/font.otf").encode()}, upper)  # often so for fonts
    with pytest.raises(DocumentError, match="a b.xhtml in it is encrypted"):
        made({**MEMBERS, name: encryption.format("OEBPS/text/a%20b.xhtml").encode()}, upper)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("META-INF/container.xml", None, "has no META-INF/container.xml in it, as a file of this format has"),
        ("META-INF/container.xml", b"<a/>", "names no book"),
        ("META-INF/container.xml", b"<a>", "container.xml in it, line 1: is not well-formed XML"),
        ("OEBPS/book.opf", None, "has no OEBPS/book.opf in it"),
        ("OEBPS/book.opf", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "book.opf in it, line 1: .*document type"),
        ("OEBPS/toc.ncx", b"\xff", "toc.ncx in it, line 1, byte 1 of the file: is not UTF-8"),
    ],
)
def test_broken_books(name, content, said):
    members = {key: value for key, value in {**MEMBERS, name: content}.items() if value is not None}
    with pytest.raises(DocumentError, match=said):
        read_epub(zipped(members))
