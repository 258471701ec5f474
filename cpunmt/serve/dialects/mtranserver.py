"""MTranServer's dialect, and the ones it has for browser extensions: /imme, /kiss, /hcfy, /deeplx.

Its /translate and /detect share paths with another dialect; the parameters decide between them.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

import cpunmt
from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.language_codes import deepl, libretranslate
from cpunmt.text.languages.codes import base_of

_NAMES = {  # Hcfy's names of languages; it is a browser extension
    "中文(简体)": "zh-Hans",
    "中文(繁体)": "zh-Hant",
    "英语": "en",
    "日语": "ja",
    "韩语": "ko",
    "法语": "fr",
    "德语": "de",
    "西班牙语": "es",
    "俄语": "ru",
    "意大利语": "it",
    "葡萄牙语": "pt",
}
_CODES = {code: name for name, code in _NAMES.items()}


def _failed(error: ServeError) -> dict[str, Any]:
    return {"error": error.message}


mtran = Dialect(_failed)


@mtran.share("/translate", has=("text", "to"), lacks=("q",))
async def translate(ask: Ask) -> Response:
    (result,) = await _results(ask, [ask.parameters.text("text")])
    return JSONResponse({"result": result})


@mtran.share("/detect", has=("text",), lacks=("q",))
async def detect(ask: Ask) -> Response:
    ((best, *_),) = await ask.detected(ask.checked([ask.parameters.text("text")]))
    return JSONResponse({"language": libretranslate(best.language)})


@mtran.route("/translate/batch", "POST")
async def translate_batch(ask: Ask) -> Response:
    return JSONResponse({"results": await _results(ask, ask.parameters.texts("texts"))})


@mtran.route("/imme", "POST")
async def immersive(ask: Ask) -> Response:
    """Answers Immersive Translate."""
    given = ask.parameters
    texts, source = given.texts("text_list"), given.text("source_lang", AUTO) or AUTO
    made = await ask.translated(texts, source, given.text("target_lang"), {})
    return JSONResponse(
        {
            "translations": [
                {"detected_source_lang": libretranslate(wanted.source), "text": result.text} for wanted, result in made
            ]
        }
    )


@mtran.route("/kiss", "POST")
async def kiss(ask: Ask) -> Response:
    """Answers Kiss Translator, for one text or several."""
    given = ask.parameters
    alone = "texts" not in given
    texts = [given.text("text")] if alone else given.texts("texts")
    made = await ask.translated(texts, given.text("from", AUTO) or AUTO, given.text("to"), {})
    told = [{"text": result.text, "src": libretranslate(wanted.source)} for wanted, result in made]
    return JSONResponse(told[0] if alone else {"translations": told})


@mtran.route("/hcfy", "POST")
async def hcfy(ask: Ask) -> Response:
    """Answers Hcfy: translates into the first language, or into the second if the text is in the first."""
    given = ask.parameters
    text, source = given.text("text"), given.text("source", AUTO) or AUTO
    wanted = given.texts("destination")
    if not wanted:
        raise bad("Invalid request: missing destination parameter")
    source = _NAMES.get(source, source)
    if source == AUTO:
        ((best, *_),) = await ask.detected([text])
        source = best.language
    targets = [_NAMES.get(name, name) for name in wanted]
    target = next((one for one in targets if base_of(one) != base_of(source)), targets[0])
    made = await ask.translated(text.split("\n"), source, target, {})
    return JSONResponse(
        {
            "text": text,
            "from": _CODES.get(libretranslate(source), source),
            "to": _CODES.get(target, target),
            "result": [result.text for _, result in made],
        }
    )


@mtran.route("/deeplx", "POST")
async def deeplx(ask: Ask) -> Response:
    """Answers clients of DeepLX."""
    given = ask.parameters
    source = (given.text("source_lang", AUTO) or AUTO).lower()
    options = {"html": True} if given.text("tag_handling", "") in ("html", "xml") else {}
    ((wanted, result),) = await ask.translated([given.text("text")], source, given.text("target_lang"), options)
    return JSONResponse(
        {
            "code": 200,
            "data": result.text,
            "alternatives": [],
            "source_lang": deepl(wanted.source),
            "target_lang": deepl(wanted.target),
            "method": "Free",
        }
    )


@mtran.route("/version", "GET", keyed=False)
async def version(ask: Ask) -> Response:
    return JSONResponse({"version": cpunmt.__version__})


@mtran.route("/__heartbeat__", "GET", keyed=False)
@mtran.route("/__lbheartbeat__", "GET", keyed=False)  # for load balancers
async def heartbeat(ask: Ask) -> Response:
    """Reports that the process lives."""
    return JSONResponse({"status": "ready"})


async def _results(ask: Ask, texts: list[str]) -> list[str]:
    given = ask.parameters
    options = {"html": True} if given.switch("html") else {}
    made = await ask.translated(texts, given.text("from", AUTO) or AUTO, given.text("to"), options)
    return [result.text for _, result in made]
