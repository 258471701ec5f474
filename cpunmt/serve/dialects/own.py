"""Our own dialect, with all fields of a Result: /v1/translate, /v1/models, /v1/detect, and monitoring.

POST /v1/translate {"text": "One man.", "source": "en", "target": "de"}
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from cpunmt.options.options import SERVED
from cpunmt.results.results import DOUBTS, Result
from cpunmt.serve import openapi
from cpunmt.serve.detection import AUTO, Detected, Wanted
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.dialects.events import event_stream
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.keys import PARAMETERS
from cpunmt.serve.parameters import Parameters
from cpunmt.serve.queue.waiting import Task
from cpunmt.serve.settings import ServeSettings
from cpunmt.text.languages.codes import name_of

RETURNS = ("sentences", "alignments", "alternatives", "scores", "doubts")
_FIELDS = ("text", "source", "target", "html", "return", "options", "stream")
_LIMITS = ("text", "characters", "texts", "alternatives", "file")
_CHOICES = {"split": ("sentence", "paragraph", "line"), "retry": ("loops", "none")}  # others may take long
_MOST_TERMS = 1000
_MOST_FACTOR = 10.0  # target pieces for each source piece


def _failed(error: ServeError) -> dict[str, Any]:
    found: dict[str, Any] = {"code": error.status, "message": error.message}
    return {"error": {**found, "detail": error.detail} if error.detail else found}


own = Dialect(_failed)


@own.route("/v1/translate", "POST")
async def translate(ask: Ask) -> Response:
    """Translates texts with languages and options; returns JSON, or events while it translates."""
    given, service = ask.parameters, ask.service
    _refuse_others(given, (*_FIELDS, *PARAMETERS), "the request")
    alone = isinstance(given.get("text"), str)
    texts = ask.checked(given.texts("text"))
    returns = _returns(given)
    options = _options(given, service.settings, returns)
    source, target = given.text("source", AUTO) or AUTO, given.text("target")
    if given.switch("stream"):
        if not alone:
            raise bad("Invalid request: stream takes one text, not a list")
        return await event_stream(ask, texts[0], (source, target), options, functools.partial(_told, returns))

    pairs = await ask.translated(texts, source, target, options)

    def work(_: Task | None = None) -> list[dict[str, Any]]:
        return [_told(returns, *pair) for pair in pairs]

    told = await service.run(ask.request, work) if "doubts" in returns else work()  # doubts take time
    return JSONResponse({"translations": told})


@own.route("/v1/detect", "POST")
async def detect(ask: Ask) -> Response:
    _refuse_others(ask.parameters, ("text", *PARAMETERS), "the request")
    found = await ask.detected(ask.checked(ask.parameters.texts("text")))
    return JSONResponse({"detections": [[_detected(one) for one in of_text] for of_text in found]})


@own.route("/v1/models", "GET")
async def models(ask: Ask) -> Response:
    """Returns the served models, whether languages are detected, and the limits of a request."""
    host = ask.service.host
    languages = [{"code": code, "name": name_of(code), "targets": host.targets_of(code)} for code in host.languages]
    served = [
        {"source": direction.source, "target": direction.target, "loaded": host.models[number].hosted is not None}
        for direction, number in host.directions
    ]
    settings = ask.service.settings
    limits = {name: getattr(settings, f"max_{name}") for name in _LIMITS}
    found = {"models": served, "languages": languages, "detection": ask.service.detector.is_installed()}
    return JSONResponse({**found, "limits": limits})


@own.route("/openapi.json", "GET", keyed=False)
async def described(ask: Ask) -> Response:
    """Returns the OpenAPI 3.1 description."""
    return JSONResponse(openapi.described())


@own.route("/health", "GET", keyed=False)
async def health(ask: Ask) -> Response:
    """Reports that the process lives."""
    return JSONResponse({"status": "ok"})


@own.route("/ready", "GET", keyed=False)
async def ready(ask: Ask) -> Response:
    """Reports whether requests would be answered now."""
    if ask.service.is_ready:
        return JSONResponse({"status": "ready"})
    if ask.service.draining:
        raise ServeError(503, "shutting down", retry_after=1)
    if ask.service.failure:
        raise ServeError(503, f"not ready: {ask.service.failure}")
    raise ServeError(503, "not ready yet", retry_after=1)


@own.route("/metrics", "GET", keyed=False)
async def metrics(ask: Ask) -> Response:
    return PlainTextResponse(ask.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _refuse_others(found: Iterable[str], allowed: Sequence[str], where: str) -> None:
    """Raises ServeError if a name is none of these: one that is misspelt would otherwise do nothing."""
    if unknown := [name for name in found if name not in allowed]:
        named = unknown[0] if unknown[0].isidentifier() and len(unknown[0]) < 50 else "one"
        expected = [name for name in allowed if name not in PARAMETERS]
        raise bad(f"Invalid request: {where} has {named}, which is not allowed", f"Expected {', '.join(expected)}")


def _returns(given: Parameters) -> frozenset[str]:
    """Returns the requested fields beside the text."""
    wanted = given.get("return", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(wanted, list) or not all(isinstance(one, str) and one in RETURNS for one in wanted):
        raise bad(f"Invalid request: return must be a list of {', '.join(RETURNS)}")
    return frozenset(wanted)


def _options(given: Parameters, settings: ServeSettings, returns: frozenset[str]) -> dict[str, Any]:
    """Returns the options of a call. Refuses unknown ones: some name files, or take any time."""
    options = given.get("options")
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise bad("Invalid request: options must be a JSON object")
    _refuse_others(options, SERVED, "options")
    found = {name: value for name, value in options.items() if value is not None}
    most = settings.max_alternatives
    for name in ("beam_size", "num_hypotheses"):
        if isinstance(found.get(name), int | float) and not 1 <= found[name] <= max(1, most + 1):
            raise bad(f"Invalid request: {name} must be from 1 to {most + 1}")
    if isinstance(found.get("max_length_factor"), int | float) and found["max_length_factor"] > _MOST_FACTOR:
        raise bad(f"Invalid request: max_length_factor must be at most {_MOST_FACTOR:g}")
    for name, choices in _CHOICES.items():
        if name in found and found[name] not in choices:
            raise bad(f"Invalid request: {name} must be one of {', '.join(choices)}")
    glossary = found.get("glossary")
    if glossary is not None:
        if not isinstance(glossary, Mapping) or len(glossary) > _MOST_TERMS:
            raise bad(f"Invalid request: glossary must be an object of at most {_MOST_TERMS} terms")
        found["glossary"] = _glossary(glossary)
    for name, value in found.items():
        if isinstance(value, list):
            found[name] = tuple(value)
        elif isinstance(value, dict):
            raise bad(f"Invalid request: {name} must not be an object")
    if given.switch("html"):
        if found.get("num_hypotheses", 1) != 1:
            raise bad("Invalid request: num_hypotheses must be 1 with html: a document has one translation")
        found["html"] = True
    if "alignments" in returns:
        found |= {"return_alignments": True, "return_token_log_probs": "scores" in returns}
    return found


def _glossary(terms: Mapping[str, Any]) -> Any:
    from cpunmt.options.glossary.glossary import Glossary

    try:
        return Glossary(terms)
    except (TypeError, ValueError) as error:
        raise bad(f"Invalid request: {error}") from None


def _told(returns: frozenset[str], wanted: Wanted, result: Result) -> dict[str, Any]:
    """Returns a translation as JSON: the requested fields of `Result.to_dict`."""
    every = result.to_dict()
    found: dict[str, Any] = {"text": result.text, "source": wanted.source, "target": wanted.target}
    if wanted.detected is not None:
        found["detected"] = _detected(wanted.detected)
    found |= {"truncated": every["truncated"], "repeats": every["repeats"]}
    if "scores" in returns:
        found |= {"score": every["score"], "log_prob": every["log_prob"]}
    if "sentences" in returns or "alignments" in returns:
        found["sentences"] = every["sentences"]
    if "doubts" in returns:
        by_sentence = result.doubts_by_sentence  # with html, of more sentences than have places
        found["doubts"] = [name for name in DOUBTS if any(name in doubts for doubts in by_sentence)]
        if len(by_sentence) == len(found.get("sentences", ())):
            for sentence, doubts in zip(found["sentences"], by_sentence, strict=True):
                sentence["doubts"] = list(doubts)
    if "alignments" in returns and "alignments" in every:
        found |= {name: every[name] for name in ("pieces", "source_pieces", "alignments") if name in every}
    if "alternatives" in returns:
        told = ("text", "score", "log_prob") if "scores" in returns else ("text",)
        found["alternatives"] = [{name: one[name] for name in told} for one in every["alternatives"]]
    if "glossary" in every:
        found["glossary"] = every["glossary"]
    return found


def _detected(one: Detected) -> dict[str, Any]:
    return {"language": one.language, "confidence": round(one.confidence, 4)}
