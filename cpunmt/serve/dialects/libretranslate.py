"""LibreTranslate's dialect. Parameters come in the query, a form or JSON, whatever the method."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import JSONResponse, Response

from cpunmt.serve.detection import Wanted
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.dialects.translated_files import (
    FileStore,
    StoredFile,
    TranslatedFile,
    attachment,
    endings,
    streamed_file,
    translated_file,
)
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.language_codes import libretranslate
from cpunmt.serve.openapi import described
from cpunmt.text.languages.codes import name_of

_PAUSE = 500  # milliseconds that a page waits for the next letter


def _failed(error: ServeError) -> dict[str, Any]:
    return {"error": f"Slowdown: {error.message}" if error.status == 429 else error.message}


libre = Dialect(_failed)


@libre.route("/translate", "POST")
async def translate(ask: Ask) -> Response:
    """Translates a text or a list; the answer has the same shape."""
    given = ask.parameters
    texts = given.texts("q")
    listed = isinstance(given["q"], list)
    if not listed and not texts[0]:
        raise bad("Invalid request: missing q parameter")
    source, target = given.text("source"), given.text("target")
    form = given.text("format", "text") or "text"
    if form not in ("text", "html"):
        raise bad("Invalid request: the format is not supported, expected text or html")
    count = given.count("alternatives", 0, ask.service.settings.max_alternatives)
    options: dict[str, Any] = {"html": True} if form == "html" else {"num_hypotheses": count + 1} if count else {}
    made = await ask.translated(texts, source, target, options)
    found: dict[str, Any] = {"translatedText": [result.text for _, result in made]}
    if detected := [_detected(wanted) for wanted, _ in made if wanted.detected is not None]:
        found["detectedLanguage"] = detected
    if count:
        found["alternatives"] = [[other.text for other in result.hypotheses[1:]] for _, result in made]
    return JSONResponse(found if listed else {name: values[0] for name, values in found.items()})


@libre.route("/detect", "POST", "GET")
async def detect(ask: Ask) -> Response:
    """Lists the possible languages of a text, the most probable first."""
    texts = ask.checked([" ".join(ask.parameters.texts("q"))])
    if not texts[0]:
        raise bad("Invalid request: missing q parameter")
    (found,) = await ask.detected(texts)
    return JSONResponse([_detected(Wanted(one.language, one.language, one)) for one in found])


@libre.route("/languages", "GET", keyed=False)
async def languages(ask: Ask) -> Response:
    """Lists all languages with their targets; like LibreTranslate, each language is also its own target."""
    host = ask.service.host
    told: dict[str, dict[str, Any]] = {}
    for code in host.languages:
        written = libretranslate(code)
        one = told.setdefault(written, {"code": written, "name": name_of(code), "targets": [written]})
        into = map(libretranslate, host.targets_of(code))
        one["targets"] += [target for target in into if target not in one["targets"]]
    return JSONResponse(list(told.values()))


@libre.route("/frontend/settings", "GET", keyed=False)
async def frontend_settings(ask: Ask) -> Response:
    """Returns the settings for a page."""
    service = ask.service
    first = service.host.directions[0][0]
    return JSONResponse(
        {
            "charLimit": service.settings.max_text,
            "frontendTimeout": _PAUSE,
            "apiKeys": service.keys.are_required,
            "keyRequired": service.keys.are_required,
            "suggestions": False,
            "filesTranslation": not service.settings.no_files,
            "supportedFilesFormat": [] if service.settings.no_files else endings(),
            "language": {
                "source": {"code": libretranslate(first.source), "name": name_of(first.source)},
                "target": {"code": libretranslate(first.target), "name": name_of(first.target)},
            },
        }
    )


@libre.route("/suggest", "POST")
async def suggest(ask: Ask) -> Response:
    """Refuses a suggestion: the server does not store any."""
    raise ServeError(403, "Suggestions are disabled on this server.")


@libre.route("/translate_file", "POST", file=True)
async def translate_file(ask: Ask) -> Response:
    """Translates a file; the answer has a temporary address of the result. With `stream`, events tell the progress."""
    given = ask.parameters
    asked = ask, _file(given.get("file")), given.text("source"), given.text("target")

    def answer(made: TranslatedFile) -> dict[str, str]:
        number = f"{secrets.token_hex(16)}_{libretranslate(made.wanted.target)}{made.ending}"
        ask.service.kept(FileStore).put(number, StoredFile(ask.owner, made.content))
        url = ask.request.url.replace(path=f"{ask.request.scope.get('root_path', '')}/download_file/{number}", query="")
        return {"translatedFileUrl": str(url)}

    if given.switch("stream"):
        return await streamed_file(*asked, answer)
    return JSONResponse(answer(await translated_file(*asked, {})))


@libre.route("/download_file/{name}", "GET", keyed=False)
async def download_file(ask: Ask) -> Response:
    """Returns a translated file. Its name cannot be guessed."""
    found = ask.service.kept(FileStore).get(ask.request.path_params["name"])
    if found is None:
        raise ServeError(404, "The file does not exist any more")
    return attachment(found.content)


@libre.route("/spec", "GET", keyed=False)
async def spec(ask: Ask) -> Response:
    """Returns the description that clients expect: Swagger 2.0."""
    return JSONResponse(described("swagger.json"))


def _file(given: object) -> tuple[str, bytes]:
    if not isinstance(given, tuple):
        raise bad("Invalid request: missing file parameter")
    return given


def _detected(wanted: Wanted) -> dict[str, Any]:
    """Returns the confidence as an integer from 0 to 100: some clients cannot read 95.0."""
    assert wanted.detected is not None
    return {"confidence": round(100 * wanted.detected.confidence), "language": libretranslate(wanted.source)}
