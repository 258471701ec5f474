"""DeepL's documents: sent, translated at once, and fetched with a key. They are files as LibreTranslate has them."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.responses import JSONResponse, Response

from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.dialects.translated_files import SUFFIXES, FileStore, is_known, translated_file
from cpunmt.serve.errors import ServeError, bad

_MOST = 10_000  # that are remembered; their contents are gone before
Options = Callable[[Ask, str, str], dict[str, Any]]


class _Document(NamedTuple):
    """A document that was translated: the key that it is fetched with, its name among the files, characters."""

    key: str
    name: str
    characters: int


class _DocumentStore:
    """Documents by number. For one thread: that of the event loop."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, _Document] = OrderedDict()

    def add(self, document: _Document) -> str:
        """Its number."""
        number = secrets.token_hex(16).upper()
        self._all[number] = document
        if len(self._all) > _MOST:
            self._all.popitem(last=False)
        return number

    def get(self, number: str, key: str) -> _Document | None:
        """One, if the key is its own."""
        found = self._all.get(number)
        return found if found and hmac.compare_digest(found.key.encode(), key.encode()) else None


def add_document_routes(deepl: Dialect, options: Options, said: Callable[[ServeError], ServeError]) -> None:
    """The routes, also below /deepl.

    `options`: those of a request, its source and target language. `said`: an error in DeepL's words.
    """

    async def send(ask: Ask) -> Response:
        """A document: it is translated before this is answered."""
        given = ask.parameters
        sent = given.get("file")
        if not isinstance(sent, tuple):
            raise bad("Invalid file data", "Expected a file in a multipart form")
        name = given.text("filename", "") or sent[0]
        if not is_known(name):
            raise bad("Invalid file extension", f"Expected {', '.join(SUFFIXES)}")
        wanted = given.text("output_format", "").removeprefix(".").lower()
        if wanted and not name.lower().endswith(f".{wanted}"):
            raise bad("Value for 'output_format' not supported.", "Expected that of the file")
        source, target = given.text("source_lang", "") or AUTO, given.text("target_lang")
        text, of_file = translated_file(name, sent[1])
        files = ask.service.kept(FileStore)
        files.check(ask.owner, len(sent[1]))
        try:
            ((_, result),) = await ask.translated([text], source, target, {**options(ask, source, target), **of_file})
        except ServeError as error:
            raise said(error) from None
        key = secrets.token_hex(32).upper()
        stored = files.put(ask.owner, name, "document", result.text.encode())
        number = ask.service.kept(_DocumentStore).add(_Document(key, stored, len(text)))
        return JSONResponse({"document_id": number, "document_key": key})

    for prefix in ("", "/deepl"):
        deepl.route(f"{prefix}/v2/document", "POST")(send)
        deepl.route(f"{prefix}/v2/document/{{number}}", "POST", "GET")(_status)
        deepl.route(f"{prefix}/v2/document/{{number}}/result", "POST", "GET")(_result)


async def _status(ask: Ask) -> Response:
    """That it is done."""
    found, _ = _found(ask)
    told = {"document_id": ask.request.path_params["number"], "status": "done", "billed_characters": found.characters}
    return JSONResponse(told)


async def _result(ask: Ask) -> Response:
    """The translation."""
    _, content = _found(ask)
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _found(ask: Ask) -> tuple[_Document, bytes]:
    found = ask.service.kept(_DocumentStore).get(
        ask.request.path_params["number"], ask.parameters.text("document_key", "")
    )
    content = found and ask.service.kept(FileStore).get(found.name)
    if found is None or content is None:
        raise ServeError(404, "Document not found")
    return found, content
