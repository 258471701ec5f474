"""DeepL's glossaries: one pair of languages in version 2, several in version 3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from cpunmt.options.glossary.glossary import Glossary
from cpunmt.serve.dialects.deepl_glossaries import (
    GlossaryStore,
    Pair,
    StoredGlossary,
    dictionary_told,
    merged,
    read_entries,
    tab_separated,
)
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.parameters import Parameters
from cpunmt.text.languages.codes import base_of, found_in

_MOST_PAIRS = 100
_OF_FORM = re.compile(r"dictionaries\[([0-9]{1,2})\]\.([a-z_]{1,20})")  # as deepl-node sends them


def add_glossary_routes(deepl: Dialect) -> None:
    """Adds the routes, also below /deepl."""
    for prefix in ("", "/deepl"):
        deepl.route(f"{prefix}/v2/glossary-language-pairs", "GET")(_pairs)
        deepl.route(f"{prefix}/v2/glossaries/{{number}}/entries", "GET")(_simple_entries)
        for version, changes in (("v2", ()), ("v3", ("PATCH",))):
            deepl.route(f"{prefix}/{version}/glossaries", "POST", "GET")(_glossaries)
            deepl.route(f"{prefix}/{version}/glossaries/{{number}}", "GET", "DELETE", *changes)(_glossary)
        deepl.route(f"{prefix}/v3/glossaries/{{number}}/entries", "GET")(_entries)
        deepl.route(f"{prefix}/v3/glossaries/{{number}}/dictionaries", "PUT", "DELETE")(_dictionary)


def _is_simple(ask: Ask) -> bool:
    """Returns whether a request is of version 2, whose glossaries have one pair of languages."""
    return "/v2/" in ask.request.url.path


async def _pairs(ask: Ask) -> Response:
    """Lists all pairs: each can have a glossary."""
    host = ask.service.host
    pairs = [(source, target) for source in host.sources for target in host.targets_of(source)]
    told = [{"source_lang": base_of(source), "target_lang": base_of(target)} for source, target in pairs]
    return JSONResponse({"supported_languages": told})


async def _simple_entries(ask: Ask) -> Response:
    (terms,) = _found(ask).terms.values()
    return Response(tab_separated(terms), media_type="text/tab-separated-values")


async def _glossaries(ask: Ask) -> Response:
    """Makes a glossary, or lists this client's."""
    store, given, is_simple = ask.service.kept(GlossaryStore), ask.parameters, _is_simple(ask)
    if ask.request.method != "POST":
        every = [one for one in store.all_of(ask.owner) if one.is_simple or not is_simple]
        return JSONResponse({"glossaries": [one.told(is_simple) for one in every]})
    name, read = _name(given), [_read(ask, given)] if is_simple else _dictionaries(ask)
    if not read:
        raise bad("Invalid glossary entries provided", "Expected one dictionary or more")
    terms: dict[Pair, Glossary] = {}
    for pair, found in read:
        terms[pair] = merged(terms.get(pair), found)
    made = store.add(ask.owner, name, terms, ask.service.settings.max_glossaries)
    return JSONResponse(made.told(is_simple), 201)


async def _glossary(ask: Ask) -> Response:
    """Describes a glossary, changes its name or adds terms, or deletes it."""
    store, given, found = ask.service.kept(GlossaryStore), ask.parameters, _found(ask)
    if ask.request.method == "DELETE":
        store.remove(found)
        return Response(status_code=204)
    if ask.request.method == "PATCH":
        terms = dict(found.terms)
        for pair, new in _dictionaries(ask):
            terms[pair] = merged(terms.get(pair), new)
        found = store.change(found, _name(given) if "name" in given else found.name, terms)
    return JSONResponse(found.told(_is_simple(ask)))


async def _entries(ask: Ask) -> Response:
    """Returns the terms for a pair of languages."""
    found, pair = _found(ask), _pair(ask, ask.parameters)
    told: dict[str, Any] = {"source_lang": pair[0], "target_lang": pair[1]}
    told |= {"entries": tab_separated(found.of(pair)), "entries_format": "tsv"}
    return JSONResponse({**told, "dictionaries": [told]})  # as DeepL describes it, and as its clients read it


async def _dictionary(ask: Ask) -> Response:
    """Replaces the terms for a pair of languages, or deletes them."""
    store, given, found = ask.service.kept(GlossaryStore), ask.parameters, _found(ask)
    if ask.request.method == "DELETE":
        pair = _pair(ask, given)
        found.of(pair)
        if found.is_simple:
            raise bad("Invalid request: a glossary has one dictionary at least", "Delete the glossary")
        store.change(found, found.name, {one: terms for one, terms in found.terms.items() if one != pair})
        return Response(status_code=204)
    pair, terms = _read(ask, given)
    store.change(found, found.name, _limited({**found.terms, pair: terms}))
    return JSONResponse(dictionary_told(pair, terms))


def _found(ask: Ask) -> StoredGlossary:
    found = ask.service.kept(GlossaryStore).one_of(ask.owner, ask.request.path_params["number"])
    if _is_simple(ask) and not found.is_simple:
        raise ServeError(404, "Glossary not found", detail="It has several pairs of languages: /v3/glossaries has it")
    return found


def _name(given: Parameters) -> str:
    name = given.text("name")
    if not name.strip() or len(name) > 1024:
        raise bad("Bad request. Reason: the name must have 1 to 1024 characters")
    return name


def _pair(ask: Ask, given: Parameters) -> Pair:
    host = ask.service.host
    found = []
    for field, there in (("source_lang", host.sources), ("target_lang", host.targets)):
        code = found_in(given.text(field), there)
        if code is None:
            raise bad(f"Value for '{field}' not supported.")
        found.append(base_of(code))
    return found[0], found[1]


def _read(ask: Ask, given: Parameters) -> tuple[Pair, Glossary]:
    pair = _pair(ask, given)
    return pair, read_entries(given.text("entries"), given.text("entries_format", "tsv"))


def _dictionaries(ask: Ask) -> list[tuple[Pair, Glossary]]:
    """Returns a request's dictionaries: a list in JSON; in a form, each field of each has its own name."""
    given: Any = ask.parameters.get("dictionaries", [])
    if not given:
        numbered: dict[str, dict[str, Any]] = {}
        for name, value in ask.parameters.items():
            if found := _OF_FORM.fullmatch(name):
                numbered.setdefault(found[1], {})[found[2]] = value
        given = list(numbered.values())
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise bad("Invalid request: dictionaries must be a list of objects")
    return [_read(ask, Parameters(one)) for one in _limited(given)]


def _limited(items: Any) -> Any:
    if len(items) > _MOST_PAIRS:
        raise bad(f"Invalid request: a glossary has at most {_MOST_PAIRS} dictionaries")
    return items
