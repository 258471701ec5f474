"""Models by the languages between which they translate: the fetched ones, or else fetched now.

For each pair of languages the first of these that exists:

1. a fetched model
2. two fetched models through English
3. Firefox's model
4. two models through English, each fetched or Firefox's
5. OPUS-MT's model, Argos' model
6. two models through English, of any registry

A registry's list is read only if the steps before it find nothing. `_SOURCES` has this order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from cpunmt.commands.model_choice import Candidate, candidate, fetched_models, models_between
from cpunmt.commands.registry import fetched
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.registry.entries import ModelEntry
from cpunmt.registry.store import is_name, languages_of
from cpunmt.text.languages.codes import base_of

_CODE = r"[A-Za-z]{2,3}(?:[_-](?:[A-Za-z]{4}|[A-Z]{2}))?"
_PAIR = re.compile(rf"({_CODE})-({_CODE})")
_HUB = "en"
_SOURCES = ((), ("firefox",), ("firefox", "opus", "argos"))  # registries beside the fetched models; small models first


def served_models(named: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Returns the models to serve, and fetches the missing ones, with a line for each.

    Parameters
    ----------
    named : directories and names of models, which stay as they are, and pairs of languages: "en-de"
    languages : codes, between all of which models are wanted

    Raises CpunmtError if a pair in `named` does not have a model, or if no model has one of the languages. If a list of
    models cannot be read, raises its error, but only if fetched models do not cover all of `named` and `languages`.
    """
    models = _Models()
    found: dict[str, None] = {}
    for name in named:
        pair = _PAIR.fullmatch(name)
        if pair is None or os.path.exists(name) or is_name(name):
            found[name] = None
            continue
        names = models.between(pair[1], pair[2])
        if not names:
            raise CpunmtError(
                f"{name}: is neither a directory nor a pair of languages that has a model, also not through English; "
                "see cpunmt ls"
            )
        found |= dict.fromkeys(names)
    lacking, served = [], set()
    # Those of English first: the others may go through it.
    for source, target in sorted(permutations(languages, 2), key=lambda pair: _HUB not in map(base_of, pair)):
        try:
            names = models.between(source, target)
        except CpunmtError:  # `models.unread`: the other pairs may cover these languages
            names = []
        if names:
            found |= dict.fromkeys(names)
            served |= {source, target}
        else:
            lacking.append(f"{source}-{target}")
    if len(languages) == 1:
        raise CpunmtError(f"only {languages[0]} is named, expected at least two languages, as en,de")
    if missing := [language for language in languages if language not in served]:
        if models.unread:
            raise models.unread
        one = next((language for language in missing if base_of(language) != _HUB), missing[0])
        raise CpunmtError(f"no model translates from or to {one}; see cpunmt ls")
    if lacking:
        reason = f" ({models.unread})" if models.unread else ""
        say(f"cpunmt: no models for {', '.join(lacking)}{reason}")
    models.fetch()
    return list(found)


class _Models:
    """The fetched models, and those of registries, whose lists are read when they are needed.

    unread  the error of the list that could not be read; no list is read after it
    """

    def __init__(self) -> None:
        known = (candidate(model.name, languages_of(model.metadata)) for model in fetched_models())
        self._there = [one for one in known if one]
        self._lists: dict[str, dict[str, ModelEntry]] = {}
        self._wanted: dict[str, ModelEntry] = {}
        self.unread: CpunmtError | None = None

    def between(self, source: str, target: str) -> list[str]:
        """Returns the names of one model, or of two through English; empty if there are none.

        Raises CpunmtError if a list of models is needed and cannot be read.
        """
        for registries in _SOURCES:
            ways = [[(source, target)], [(source, _HUB), (_HUB, target)]]
            for way in ways if _HUB not in map(base_of, (source, target)) else ways[:1]:
                names = [self._one(*pair, registries) for pair in way]
                if all(names):
                    return [self._chosen(name) for name in names if name]
        return []

    def _one(self, source: str, target: str, registries: Sequence[str]) -> str | None:
        return next((name for one in self._offered(registries) for name in models_between(source, target, one)), None)

    def _offered(self, registries: Sequence[str]) -> Iterator[list[Candidate]]:
        yield self._there
        for registry in registries:
            if registry not in self._lists:
                self._lists[registry] = self._listed(registry)
            offered = (candidate(name, (entry.source, entry.target)) for name, entry in self._lists[registry].items())
            yield [one for one in offered if one]

    def _listed(self, registry: str) -> dict[str, ModelEntry]:
        if self.unread:
            raise self.unread
        from cpunmt.registry.catalogue import list_models  # fetched models need no network

        try:
            entries = list_models(registry, lambda line: say(f"cpunmt: {line}"))
        except CpunmtError as error:
            self.unread = error
            raise
        return {entry.name: entry for entry in entries if "@" not in entry.name}

    def _chosen(self, name: str) -> str:
        """Counts a model of a registry as there from now on; returns its name."""
        for entries in self._lists.values():
            if name in entries and name not in {one.name for one in self._there}:
                entry = self._wanted[name] = entries[name]
                self._there += [one for one in [candidate(name, (entry.source, entry.target))] if one]
        return name

    def fetch(self) -> None:
        """Fetches the chosen models that are missing."""
        for entry in self._wanted.values():
            fetched(entry)
