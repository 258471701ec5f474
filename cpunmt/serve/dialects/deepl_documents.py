"""DeepL's documents: uploaded, translated at once, and downloaded with a key. LibreTranslate's files are the same."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.responses import JSONResponse, Response

from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.dialects.translated_files import (
    FileStore,
    StoredFile,
    attachment,
    endings,
    known_format,
    translated_file,
)
from cpunmt.serve.errors import ServeError, bad

Options = Callable[[Ask, str, str], dict[str, Any]]


def add_document_routes(deepl: Dialect, options: Options, said: Callable[[ServeError], ServeError]) -> None:
    """Adds the routes, also below /deepl.

    `options`: returns a request's options, source and target language. `said`: an error in DeepL's words.
    """

    async def send(ask: Ask) -> Response:
        """Translates a document before it answers."""
        given = ask.parameters
        sent = given.get("file")
        if not isinstance(sent, tuple):
            raise bad("Invalid file data", "Expected a file in a multipart form")
        name = given.text("filename", "") or sent[0]
        try:
            _, ending = known_format(ask, name)
        except ServeError as error:
            if error.status != 400:
                raise
            raise bad("Invalid file extension", f"Expected {', '.join(endings())}") from None
        wanted = given.text("output_format", "").removeprefix(".").lower()
        if wanted and f".{wanted}" != ending:
            raise bad("Value for 'output_format' not supported.", f"Expected {ending[1:]}")
        source, target = given.text("source_lang", "") or AUTO, given.text("target_lang")
        try:
            made = await translated_file(ask, (name, sent[1]), source, target, options(ask, source, target))
        except ServeError as error:
            raise said(error) from None
        number, key = secrets.token_hex(16).upper(), secrets.token_hex(32).upper()
        ask.service.kept(FileStore).put(number, StoredFile(ask.owner, made.content, key, made.characters))
        return JSONResponse({"document_id": number, "document_key": key})

    for prefix in ("", "/deepl"):
        deepl.route(f"{prefix}/v2/document", "POST", file=True)(send)
        deepl.route(f"{prefix}/v2/document/{{number}}", "POST", "GET")(_status)
        deepl.route(f"{prefix}/v2/document/{{number}}/result", "POST", "GET")(_result)


async def _status(ask: Ask) -> Response:
    """Reports that the document is done."""
    number, found = _found(ask)
    return JSONResponse({"document_id": number, "status": "done", "billed_characters": found.characters})


async def _result(ask: Ask) -> Response:
    return attachment(_found(ask)[1].content)


def _found(ask: Ask) -> tuple[str, StoredFile]:
    number, key = ask.request.path_params["number"], ask.parameters.text("document_key", "")
    found = ask.service.kept(FileStore).get(number, key) if key else None
    if found is None:
        raise ServeError(404, "Document not found")
    return number, found
