"""Traces five ordinary calls: the number of cpunmt's files that each enters, and of changes between files.

python -m tools.flows            all of them
python -m tools.flows docx html  some

A flow is easy to follow if it enters few files, and stays in each for long. Each function is called once before it is
traced, so that imports and compiled regular expressions do not count.
"""

import argparse
import io
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_ROOMS = (f"{ROOT}/cpunmt/", f"{ROOT}/quantize/")
_MODEL = ROOT / "models" / "ende-tiny"
_PAGE = (
    "<html><head><title>Cats &amp; dogs</title></head><body><h1>Two cats</h1><p>A <b>black</b> cat sleeps on "
    '<a href="https://example.org">the sofa</a>.</p><ul><li>It is 3 years old.</li><li>It likes fish.</li></ul>'
    '<img src="cat.png" alt="A cat"></body></html>'
)


class Flow(NamedTuple):
    """The files entered by one call, and the number of changes between them."""

    files: int
    changes: int


def trace(call: Callable[[], object]) -> Flow:
    """Runs `call` in this thread, and counts the project's files of its functions."""
    files: set[str] = set()
    last, changes = "", 0

    def profile(frame: Any, event: Any, _: Any) -> None:
        nonlocal last, changes
        if event in ("call", "return"):
            name = frame.f_code.co_filename
            if name.startswith(_ROOMS):
                files.add(name)
                changes += name != last
                last = name

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(previous)
    return Flow(len(files), changes)


def _translator() -> Any:
    from cpunmt import Translator

    return Translator(_MODEL)


def one_sentence() -> Callable[[], object]:
    """Returns a call for one plain sentence."""
    model = _translator()
    return lambda: model.translate("A man is riding a bicycle.")


def two_sentences() -> Callable[[], object]:
    """Returns a call for two sentences with a number and an address, which are protected."""
    model = _translator()
    return lambda: model.translate("It costs 3.50 euros. See https://example.org for more.")


def html() -> Callable[[], object]:
    """Returns a call for a page of HTML, with a heading, a list, a link and an image."""
    model = _translator()
    return lambda: model.translate(_PAGE, html=True)


def docx() -> Callable[[], object]:
    """Returns a call for a document of Word with two paragraphs, one of them of three runs."""
    model = _translator()
    folder = Path(tempfile.mkdtemp())
    source, target = folder / "cats.docx", folder / "katzen.docx"
    source.write_bytes(_word_file())
    return lambda: model.translate_document(source, target, force=True)


def request() -> Callable[[], object]:
    """Returns a request to /translate of LibreTranslate's dialect, on the server's own thread."""
    import asyncio
    import json

    from cpunmt.serve.app import create_app

    app = create_app([_MODEL], cache_mb=0)
    body = json.dumps({"q": "A man is riding a bicycle.", "source": "en", "target": "de"}).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/translate",
        "raw_path": b"/translate",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 5),
        "server": ("localhost", 5000),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
        "asgi": {"version": "3.0"},
    }

    async def ask() -> None:
        sent = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(dict(scope), receive, send)
        if sent[0]["status"] != 200:
            raise RuntimeError(f"the server answered {sent}")

    async def start() -> None:
        app.state.service.start()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(start())
    return lambda: loop.run_until_complete(ask())


def directory() -> Callable[[], object]:
    """Returns a call that loads a Firefox directory, 8-bit with shared vocabularies, up to the records of compiled
    code.
    """
    from cpunmt import Translator
    from tests.sample_models import foreign_directories

    folder = Path(tempfile.mkdtemp()) / "ende"
    foreign_directories.bergamot(folder)
    return lambda: Translator(folder)


def _word_file() -> bytes:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    runs = "".join(
        f"<w:r>{bold}<w:t xml:space='preserve'>{text}</w:t></w:r>"
        for bold, text in (("", "A "), ("<w:rPr><w:b/></w:rPr>", "black"), ("", " cat sleeps."))
    )
    body = f"<w:p>{runs}</w:p><w:p><w:r><w:t>Two dogs are running.</w:t></w:r></w:p>"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", links)
        archive.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")
    return packed.getvalue()


FLOWS = {
    "sentence": one_sentence,
    "two": two_sentences,
    "html": html,
    "docx": docx,
    "request": request,
    "directory": directory,
}


def main(arguments: list[str] | None = None) -> int:
    """Prints one line for each flow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flows", nargs="*", metavar="FLOW", help=f"of {', '.join(FLOWS)} (default: all)")
    chosen = parser.parse_args(arguments).flows or list(FLOWS)
    for unknown in set(chosen) - set(FLOWS):
        parser.error(f"{unknown}: expected one of {', '.join(FLOWS)}")
    print("flow          files  changes")
    for name in chosen:
        call = FLOWS[name]()
        call()
        flow = trace(call)
        print(f"{name:12} {flow.files:6} {flow.changes:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
