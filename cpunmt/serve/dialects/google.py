"""Google's dialect: version 2 of its API, and the one without a key that browser extensions use."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.language_codes import libretranslate
from cpunmt.text.languages.codes import name_of, plain

_SURE = 0.5  # from this confidence on a detection is reliable
_STATUS = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


def _failed(error: ServeError) -> dict[str, Any]:
    status = _STATUS.get(error.status, "UNAVAILABLE" if error.status == 503 else "UNKNOWN")
    reason = {"message": error.message, "domain": "global", "reason": status.lower()}
    return {"error": {"code": error.status, "message": error.message, "errors": [reason], "status": status}}


google = Dialect(_failed)


async def translate(ask: Ask) -> Response:
    """Translates texts as HTML, unless the format is text."""
    given = ask.parameters
    form = given.text("format", "html") or "html"
    if form not in ("text", "html"):
        raise bad("Invalid Value: format must be text or html")
    source, options = given.text("source", AUTO) or AUTO, {"html": True} if form == "html" else {}
    made = await ask.translated(given.texts("q"), source, given.text("target"), options)
    told = []
    for wanted, result in made:
        one = {"translatedText": result.text}
        if wanted.detected is not None:
            one["detectedSourceLanguage"] = _code(wanted.source)
        told.append(one)
    return JSONResponse({"data": {"translations": told}})


async def languages(ask: Ask) -> Response:
    """Lists the served languages; with English names, if the request names a language for them."""
    host = ask.service.host
    named = "target" in ask.parameters
    names: dict[str, str] = {}
    for code in host.languages:
        names.setdefault(_code(code), name_of(code))
    told = [{"language": code, **({"name": name} if named else {})} for code, name in names.items()]
    return JSONResponse({"data": {"languages": told}})


async def detect(ask: Ask) -> Response:
    found = [each[0] for each in await ask.detected(ask.checked(ask.parameters.texts("q")))]
    told = [
        [{"language": _code(one.language), "confidence": one.confidence, "isReliable": one.confidence >= _SURE}]
        for one in found
    ]
    return JSONResponse({"data": {"detections": told}})


for _prefix in ("", "/google"):  # MTranServer's paths
    google.route(f"{_prefix}/language/translate/v2", "POST", "GET")(translate)
    google.route(f"{_prefix}/language/translate/v2/languages", "GET", "POST")(languages)
    google.route(f"{_prefix}/language/translate/v2/detect", "POST", "GET")(detect)


@google.route("/google/translate_a/single", "GET", "POST")
async def single(ask: Ask) -> Response:
    """Translates one text; answers with arrays, as for pages, or with dj=1 with objects."""
    given = ask.parameters
    text = given.text("q")
    ((wanted, result),) = await ask.translated([text], given.text("sl", AUTO) or AUTO, given.text("tl"), {})
    source, sure = _code(wanted.source), 1.0 if wanted.detected is None else round(wanted.detected.confidence, 4)
    if given.switch("dj"):
        found = {"srclangs": [source], "srclangs_confidences": [sure], "extended_srclangs": [source]}
        sentences = [{"trans": result.text, "orig": text, "backend": 1}]
        return JSONResponse(
            {"sentences": sentences, "src": source, "confidence": sure, "spell": {}, "ld_result": found}
        )
    detected = [[source], None, [sure], [source]]
    return JSONResponse([[[result.text, text, None, None, 1]], None, source, None, None, None, sure, [], detected])


def _code(code: str) -> str:
    return {"zh-Hans": "zh-CN", "zh-Hant": "zh-TW", "pt-BR": "pt"}.get(libretranslate(code), plain(code))
