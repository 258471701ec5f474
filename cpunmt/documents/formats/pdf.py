"""PDF: extracts its text as plain-text paragraphs, and drops the rest. Read by pypdf, an optional dependency.

A PDF stores the positions of glyphs, not paragraphs: two lines are joined where the next word would not have fitted.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cpunmt.documents.document import DocumentError
from cpunmt.documents.formats.broken_lines import groups, joined
from cpunmt.markup.units import Unit, Words
from cpunmt.process.stopping import check
from cpunmt.text.signs import has_letters

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_PAGES = 20_000
_PAGE_BYTES = 1 << 24  # bytes of a page's drawing; those of books have some 10 kB
_STEPS = 5_000_000  # steps of a page's drawing
_CHARACTERS = 1 << 26
_DEEPEST = 20  # nested forms
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}


class Paragraphs(NamedTuple):
    """The `Contents` of a PDF: plain-text paragraphs with blank lines between them."""

    texts: Sequence[str]

    @property
    def units(self) -> list[Unit]:
        """The paragraphs with letters."""
        return [Unit(text) for text in self.texts if has_letters(text)]

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns a plain text in UTF-8."""
        made = map(str, translations)
        texts = [next(made) if has_letters(text) else text for text in self.texts]
        return ("\n\n".join(texts) + "\n").encode("utf-8")


def read_pdf(content: bytes, select: Sequence[str] = ()) -> Paragraphs:
    """Returns the paragraphs of all pages, in order.

    Raises DocumentError if pypdf is not installed, and for a file that is not a PDF, needs a password, has no text, or
    is too large.
    """
    texts: list[str] = []
    size = 0
    with _quiet():
        reader = _reader(content)
        for number, page in _pages(reader):
            check()
            text = _text(page, number)
            size += len(text)
            if size > _CHARACTERS:
                raise DocumentError(f"page {number}: more than {_CHARACTERS} characters; cut the file into parts")
            texts += paragraphs(text)
    if not any(map(has_letters, texts)):
        raise DocumentError("has no text, perhaps it is a scan; expected text, as OCR adds it (ocrmypdf IN OUT)")
    return Paragraphs(texts)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences pypdf's warnings about files with small errors."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _reader(content: bytes) -> PdfReader:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise DocumentError("to read a PDF, install pypdf: pip install 'cpunmt[pdf]'") from None
    with _said("is not a PDF that can be read"):
        if b"%PDF-" not in content[:1024]:
            raise ValueError("it does not begin with %PDF-")
        try:
            reader = PdfReader(io.BytesIO(content))
        except NotImplementedError as error:  # for unsupported encryption, which it detects at once
            raise DocumentError(
                f"is encrypted in a way that pypdf does not know ({error}); save it without (qpdf --decrypt IN OUT)"
            ) from None
        if reader.is_encrypted and not reader.decrypt(""):  # most encrypted files need no password
            raise DocumentError("is encrypted; save it without a password (qpdf --decrypt --password=... IN OUT)")
        if len(reader.pages) > _PAGES:
            raise DocumentError(f"has more than {_PAGES} pages; cut it into parts")
    return reader


def _pages(reader: PdfReader) -> Iterator[tuple[int, PageObject]]:
    with _said("its pages cannot be read"):
        count = len(reader.pages)
    for number in range(count):
        with _said(f"page {number + 1} cannot be read"):
            page = reader.pages[number]
        yield number + 1, page


def _text(page: PageObject, number: int) -> str:
    steps = 0

    def count(*_: Any) -> None:
        nonlocal steps
        steps += 1
        if steps > _STEPS:
            raise _too_large(number)

    with _said(f"page {number} cannot be read"):
        contents = page.get_contents()
        if contents is not None and len(contents.get_data()) > _PAGE_BYTES:
            raise _too_large(number)
        _check_forms(page, number, set())
        return page.extract_text(visitor_operand_before=count)


def _check_forms(place: Any, number: int, seen: set[int], depth: int = 0) -> None:
    """Refuses too large drawings within a page before they are read."""
    resources = place.get("/Resources")
    forms = resources.get_object().get("/XObject") if resources is not None else None
    for form in forms.get_object().values() if forms is not None else ():
        drawn = form.get_object()
        if id(drawn) in seen or drawn.get("/Subtype") != "/Form":
            continue
        seen.add(id(drawn))
        if depth > _DEEPEST or len(drawn.get_data()) > _PAGE_BYTES:
            raise _too_large(number)
        _check_forms(drawn, number, seen, depth + 1)


def _too_large(number: int) -> DocumentError:
    return DocumentError(f"page {number}: its drawing is larger than that of a text is; leave this page out")


@contextlib.contextmanager
def _said(said: str) -> Iterator[None]:
    """Raises DocumentError for any error that a broken file causes in pypdf."""
    from pypdf.errors import DependencyError

    try:
        yield
    except DocumentError:
        raise
    except DependencyError:
        raise DocumentError(
            "is encrypted in a way that is read with the package cryptography: pip install 'cpunmt[pdf]'"
        ) from None
    except Exception as error:  # besides its own errors it raises KeyError, TypeError, ...
        shown = " ".join(str(error).split())[:200] or type(error).__name__
        raise DocumentError(f"{said} ({shown}); save or export it again") from None


def paragraphs(text: str) -> list[str]:
    """Returns the paragraphs of a page, each on one line, with hyphenated words joined."""
    lines = [
        " ".join(line.translate(_LIGATURES).encode("utf-8", "replace").decode().split()) for line in text.splitlines()
    ]
    return [joined(lines[begin:end]) for begin, end in groups(lines)]
