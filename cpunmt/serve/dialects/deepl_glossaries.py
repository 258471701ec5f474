"""Glossaries of clients, in memory: each client sees its own, and all are lost when the server ends."""

from __future__ import annotations

import csv
import functools
import io
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from cpunmt.options.glossary.glossary import Glossary
from cpunmt.serve.errors import ServeError, bad

MOST_TERMS = 10_000
MOST_BYTES = 64 << 20  # of the terms of all glossaries together
SHARE = 10  # a client may have a tenth of all glossaries and of their bytes


Pair = tuple[str, str]  # source and target language


@dataclass(frozen=True)
class StoredGlossary:
    """A client's glossary: terms for one pair of languages, or in version 3 for several."""

    number: str
    owner: str
    name: str
    terms: dict[Pair, Glossary]
    created: datetime

    @property
    def is_simple(self) -> bool:
        """Returns whether version 2 can describe it."""
        return len(self.terms) == 1

    def of(self, pair: Pair) -> Glossary:
        """Returns the terms for a pair of languages. Raises ServeError if there are none."""
        if pair not in self.terms:
            raise ServeError(404, "Dictionary not found", detail="The glossary lacks a dictionary for these languages")
        return self.terms[pair]

    def told(self, is_simple: bool) -> dict[str, Any]:
        """Returns it in the form of DeepL's version 2 or 3."""
        created = self.created.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        told = {"glossary_id": self.number, "name": self.name, "creation_time": created}
        every = [dictionary_told(pair, terms) for pair, terms in self.terms.items()]
        return {**told, "ready": True, **every[0]} if is_simple else {**told, "dictionaries": every}

    @functools.cached_property
    def bytes(self) -> int:
        """Estimates its memory."""
        every = [one for terms in self.terms.values() for one in terms.items()]
        return 200 * len(every) + 8 * sum(len(source) + len(target) for source, target in every)


def dictionary_told(pair: Pair, terms: Glossary) -> dict[str, Any]:
    """Describes the terms for a pair of languages."""
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": len(terms)}


def tab_separated(terms: Glossary) -> str:
    """Formats terms, one tab-separated line each."""
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())


class GlossaryStore:
    """Glossaries by number. Only the event loop's thread uses it."""

    def __init__(self) -> None:
        self._all: dict[str, StoredGlossary] = {}
        self._bytes = 0

    def add(self, owner: str, name: str, terms: dict[Pair, Glossary], most: int) -> StoredGlossary:
        """Stores a new glossary. Raises ServeError without room for it."""
        made = StoredGlossary(str(uuid.uuid4()), owner, name, terms, datetime.now(timezone.utc))
        if len(self._all) >= most or len(self.all_of(owner)) >= -(-most // SHARE):
            raise _no_room()
        return self._kept(made, 0)

    def change(self, glossary: StoredGlossary, name: str, terms: dict[Pair, Glossary]) -> StoredGlossary:
        """Changes a glossary's name and terms. Raises ServeError without room for them."""
        return self._kept(replace(glossary, name=name, terms=terms), glossary.bytes)

    def _kept(self, made: StoredGlossary, freed: int) -> StoredGlossary:
        own = sum(one.bytes for one in self.all_of(made.owner))
        for before, most in ((self._bytes, MOST_BYTES), (own, MOST_BYTES // SHARE)):
            if before - freed + made.bytes > most:
                raise _no_room()
        self._all[made.number] = made
        self._bytes += made.bytes - freed
        return made

    def all_of(self, owner: str) -> list[StoredGlossary]:
        return [one for one in self._all.values() if one.owner == owner]

    def one_of(self, owner: str, number: str) -> StoredGlossary:
        """Returns a client's glossary. Raises ServeError if it is missing, or another client's."""
        found = self._all.get(number)
        if found is None or found.owner != owner:
            raise ServeError(404, "Glossary not found")
        return found

    def remove(self, glossary: StoredGlossary) -> None:
        del self._all[glossary.number]
        self._bytes -= glossary.bytes


def _no_room() -> ServeError:
    return ServeError(456, "Quota for glossaries exceeded", detail="Delete one that is not needed any more")


def merged(old: Glossary | None, new: Glossary) -> Glossary:
    """Merges terms; new ones win. Raises ServeError for too many."""
    terms = {**dict(old.items() if old else ()), **dict(new.items())}
    if len(terms) > MOST_TERMS:
        raise bad("Invalid glossary entries provided", f"Expected 1 to {MOST_TERMS} entries")
    return Glossary(terms)


def read_entries(text: str, form: str) -> Glossary:
    """Parses the terms of a glossary, in lines of "tsv" or "csv". Raises ServeError for a malformed one."""
    if form not in ("tsv", "csv"):
        raise bad("Value for 'entries_format' not supported.")
    try:
        reader = csv.reader(io.StringIO(text))
        lines = list(reader) if form == "csv" else [line.split("\t") for line in text.splitlines()]
    except csv.Error:
        raise bad("Invalid glossary entries provided", "The CSV is broken") from None
    return _glossary([line for line in lines if any(field.strip() for field in line)], form)


def _glossary(lines: list[list[str]], form: str) -> Glossary:
    terms: dict[str, str] = {}
    for number, fields in enumerate(lines, 1):
        extra = 2 if form == "csv" else 0  # its lines may end with both languages
        if not 2 <= len(fields) <= 2 + extra:
            raise bad("Invalid glossary entries provided", f"Entry {number}: expected a term and its translation")
        source, target = fields[0].strip(), fields[1].strip()
        if terms.setdefault(source, target) != target:
            raise bad("Invalid glossary entries provided", f"Entry {number}: the term has another translation before")
    if not 1 <= len(terms) <= MOST_TERMS:
        raise bad("Invalid glossary entries provided", f"Expected 1 to {MOST_TERMS} entries")
    try:
        return Glossary(terms)
    except ValueError:
        raise bad("Invalid glossary entries provided", "A term is empty, too long, or has control characters") from None
