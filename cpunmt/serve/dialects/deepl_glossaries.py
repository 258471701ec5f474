"""Glossaries of clients, in memory: each client has its own, and they are gone when the server ends."""

from __future__ import annotations

import csv
import io
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from cpunmt.serve.errors import ServeError, bad
from cpunmt.translation.glossary.glossary import Glossary

MOST_TERMS = 10_000
MOST_BYTES = 64 << 20  # of the terms of all glossaries together


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of a client."""

    number: str
    owner: str
    name: str
    source: str
    target: str
    terms: Glossary
    created: datetime

    def told(self) -> dict[str, Any]:
        """It as DeepL tells of it."""
        return {
            "glossary_id": self.number,
            "name": self.name,
            "ready": True,
            "source_lang": self.source,
            "target_lang": self.target,
            "creation_time": self.created.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "entry_count": len(self.terms),
        }

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return 200 * len(self.terms) + 8 * sum(len(source) + len(target) for source, target in self.terms.items())


class GlossaryStore:
    """Glossaries by number. For one thread: that of the event loop."""

    def __init__(self) -> None:
        self._all: dict[str, StoredGlossary] = {}
        self._bytes = 0

    def add(self, owner: str, name: str, source: str, target: str, terms: Glossary, most: int) -> StoredGlossary:
        """Keep one more. Raises ServeError if there is no room for it."""
        made = StoredGlossary(str(uuid.uuid4()), owner, name, source, target, terms, datetime.now(timezone.utc))
        if len(self._all) >= most or self._bytes + made.bytes > MOST_BYTES:
            raise ServeError(456, "Quota for glossaries exceeded", detail="Delete one that is not needed any more")
        self._all[made.number] = made
        self._bytes += made.bytes
        return made

    def all_of(self, owner: str) -> list[StoredGlossary]:
        """Those of a client."""
        return [one for one in self._all.values() if one.owner == owner]

    def one_of(self, owner: str, number: str) -> StoredGlossary:
        """One of a client's. Raises ServeError if there is none, or it is another's."""
        found = self._all.get(number)
        if found is None or found.owner != owner:
            raise ServeError(404, "Glossary not found")
        return found

    def remove(self, glossary: StoredGlossary) -> None:
        """Forget one."""
        del self._all[glossary.number]
        self._bytes -= glossary.bytes


def read_entries(text: str, form: str) -> Glossary:
    """The terms of a glossary, in lines of "tsv" or "csv". Raises ServeError for what is wrong with one."""
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
        extra = 2 if form == "csv" else 0  # its lines may have both languages too
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
