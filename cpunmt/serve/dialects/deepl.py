"""DeepL's dialect: translations, languages, usage and documents of version 2, glossaries of versions 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from cpunmt.errors import XmlError
from cpunmt.markup.xml_document import read_xml
from cpunmt.options.element_roles import KEEP, REST, SPLIT, WITHIN, element_roles
from cpunmt.serve import language_codes
from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.deepl_documents import add_document_routes
from cpunmt.serve.dialects.deepl_glossaries import GlossaryStore
from cpunmt.serve.dialects.deepl_glossary_routes import add_glossary_routes
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.errors import QuotaError, ServeError, bad
from cpunmt.serve.parameters import Parameters
from cpunmt.text.languages.codes import base_of, name_of, plain

_NO_LIMIT = 1_000_000_000_000  # characters: clients require a number
_VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # clients refuse these targets without a country
_SPLITS = {"0": "none", "1": "sentence", "nonewlines": "paragraph"}
_MODEL_TYPES = ("quality_optimized", "latency_optimized")  # every model here is both


def _failed(error: ServeError) -> dict[str, Any]:
    return {"message": error.message, **({"detail": error.detail} if error.detail else {})}


deepl = Dialect(_failed)


@deepl.route("/v2/translate", "POST", "GET")
@deepl.route("/deepl", "POST")  # MTranServer's path
@deepl.route("/deepl/v2/translate", "POST", "GET")
async def translate(ask: Ask) -> Response:
    given = ask.parameters
    texts, target = given.texts("text"), given.text("target_lang")
    source = given.text("source_lang", "") or AUTO
    options, model_type = _options(ask, source, target), _model_type(given)
    try:
        made = await ask.translated(texts, source, target, options)
    except ServeError as error:
        raise _in_their_words(error) from None
    except XmlError:
        raise _not_xml(texts) from None
    told = []
    for text, (wanted, result) in zip(texts, made, strict=True):
        one: dict[str, Any] = {
            "detected_source_language": language_codes.deepl(base_of(wanted.source)),
            "text": result.text,
        }
        if given.switch("show_billed_characters"):
            one["billed_characters"] = len(text)
        if model_type:
            one["model_type_used"] = model_type
        told.append(one)
    return JSONResponse({"translations": told})


@deepl.route("/v2/languages", "GET", "POST")
@deepl.route("/deepl/v2/languages", "GET", "POST")
async def languages(ask: Ask) -> Response:
    """Lists the languages of either side."""
    kind, host = ask.parameters.text("type", "source") or "source", ask.service.host
    if kind not in ("source", "target"):
        raise bad("Bad request. Reason: type must be source or target")
    found = {}
    for code in host.sources if kind == "source" else host.targets:
        written = language_codes.deepl(code if kind == "target" else base_of(code))
        for variant in _VARIANTS.get(written.lower(), (written,)) if kind == "target" else (written,):
            found[variant] = name_of(code)
    told: list[dict[str, Any]] = [{"language": code, "name": name} for code, name in found.items()]
    if kind == "target":
        told = [{**one, "supports_formality": False} for one in told]
    return JSONResponse(told)


@deepl.route("/v2/usage", "GET", "POST")
@deepl.route("/deepl/v2/usage", "GET", "POST")
async def usage(ask: Ask) -> Response:
    """Returns a client's characters since the start of the server or period, and its limit."""
    found = ask.service.usage
    return JSONResponse({"character_count": found.of(ask.owner), "character_limit": found.quota or _NO_LIMIT})


def _options(ask: Ask, source: str, target: str) -> dict[str, Any]:
    given = ask.parameters
    formality = (given.text("formality", "") or "default").lower()
    if formality in ("more", "less"):
        raise bad(f"Target language '{plain(target).upper()[:10]}' doesn't support formality.")
    if formality not in ("default", "prefer_more", "prefer_less"):
        raise bad("Value for 'formality' not supported.")
    options: dict[str, Any] = {}
    tags = given.text("tag_handling", "")
    if tags not in ("", "html", "xml"):
        raise bad("Value for 'tag_handling' not supported.")
    if tags:
        options[tags] = True
        options["tags"] = _roles(given, tags)
    split = given.get("split_sentences")
    if split not in (None, ""):
        named = str(int(split)) if isinstance(split, int) else split
        if not isinstance(named, str) or named not in _SPLITS:
            raise bad("Value for 'split_sentences' not supported.")
        options["split"] = _SPLITS[named]
    number = given.text("glossary_id", "")
    if number:
        if source == AUTO:
            raise bad("Use of a glossary requires the source_lang parameter to be specified.")
        found = ask.service.kept(GlossaryStore).one_of(ask.owner, number)
        pair = base_of(source), base_of(target)
        if pair not in found.terms:
            raise bad("Glossary languages do not match the languages of the request.")
        options["glossary"] = found.terms[pair]
    return options


def _roles(given: Parameters, tags: str) -> tuple[tuple[str, str], ...] | None:
    """Returns the option `tags`; of a tag that is named twice, the later role."""
    found = {}
    if tags == "xml" and not given.switch("outline_detection", True):
        found[REST] = WITHIN
    for name, role in (("splitting_tags", SPLIT), ("non_splitting_tags", WITHIN), ("ignore_tags", KEEP)):
        if name in given:
            found |= dict.fromkeys(filter(None, map(str.strip, ",".join(given.texts(name)).split(","))), role)
    try:
        return element_roles(found) if found else None
    except ValueError:
        raise bad("Value for 'ignore_tags', 'splitting_tags' or 'non_splitting_tags' not supported.") from None


def _not_xml(texts: Sequence[str]) -> ServeError:
    """Returns the error of the first text that is not well-formed."""
    for number, text in enumerate(texts, 1):
        try:
            read_xml(text, {})
        except XmlError as error:
            return bad("Tag handling parsing failed, please check input.", f"Text {number}, {error}")
    raise AssertionError("all texts are well-formed")


def _model_type(given: Parameters) -> str:
    """Returns the requested type of model, or ""."""
    wanted = given.text("model_type", "").removeprefix("prefer_")
    if wanted not in ("", *_MODEL_TYPES):
        raise bad("Value for 'model_type' not supported.")
    return wanted


def _in_their_words(error: ServeError) -> ServeError:
    if isinstance(error, QuotaError):
        return ServeError(456, "Quota Exceeded", detail=error.message)
    if error.message.endswith("is not supported") or "is not available as a target" in error.message:
        return bad("Value for 'target_lang' or 'source_lang' not supported.", error.message)
    return error


add_glossary_routes(deepl)
add_document_routes(deepl, _options, _in_their_words)
