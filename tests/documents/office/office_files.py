"""Makes office files for the tests, and translates them."""

import io
import zipfile

from cpunmt.documents.known_formats import FORMATS
from cpunmt.documents.translate import translated
from tests.documents.laws import echo

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_TYPE = "application/vnd.openxmlformats-officedocument."
_PARTS = {
    "docx": ("word/document.xml", "wordprocessingml.document.main+xml"),
    "pptx": ("ppt/slides/slide1.xml", "presentationml.slide+xml"),
}


def zipped(members) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return file.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def office(types: dict[str, str], parts: dict[str, str | bytes]) -> bytes:
    """Makes a package with parts of these types, by name."""
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{_TYPE}{of}"/>' for name, of in types.items())
    start = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    return zipped({"[Content_Types].xml": f"{start}{overrides}</Types>", **parts})


def docx(body: str) -> bytes:
    """Makes a docx with these paragraphs."""
    name, of = _PARTS["docx"]
    return office({name: of}, {name: f"<w:document {W}><w:body>{body}</w:body></w:document>"})


def slide(body: str) -> bytes:
    """Makes a pptx with these paragraphs on its slide."""
    name, of = _PARTS["pptx"]
    main = "ppt/presentation.xml"
    types = {main: "presentationml.presentation.main+xml", name: of}
    return office(types, {main: "<p/>", name: f"<p {A}><a:txBody>{body}</a:txBody></p>"})


def body_of(content: bytes, kind: str = "docx") -> str:
    """Returns the content of the part that `docx` or `slide` makes."""
    found = members(content)[_PARTS[kind][0]].decode()
    inner = found.partition("Body>" if kind == "pptx" else "body>")[2]
    return inner.rpartition("</")[0].rpartition("</")[0]


def read(kind, content):
    return FORMATS[kind].read(content, ())


def render(kind, content, change=None) -> bytes:
    """Translates the file word by word."""
    document = read(kind, content)
    return document.rendered(translated(document.units, echo(change), {}, lambda count: None))


def keeps_every_byte(kind, content) -> None:
    """Checks the identity law."""
    document = read(kind, content)
    assert document.rendered([unit.words for unit in document.units]) == content
    assert render(kind, content) == content
