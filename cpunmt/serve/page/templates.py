"""The page's HTML, filled in: languages, limits, commands, and the answer for browsers without scripts."""

from __future__ import annotations

import functools
import html
import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from cpunmt.documents.known_formats import FORMATS
from cpunmt.results.results import DoubtName
from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.translated_files import endings
from cpunmt.serve.service import Service
from cpunmt.text.languages.codes import name_of

_FOLDER = Path(__file__).parent
_FIELD = re.compile(r"\{\{(\w+)\}\}")
_KEY = '<label>API key <input name="api_key" type="password" autocomplete="off" value="{}" required></label>'
_SAMPLES = {"en": "Two dogs are playing.", "de": "Zwei Hunde spielen."}
_DETECT = "Detect language"
_COLUMNS = {"csv", "tsv"}  # formats that need a choice of columns, which the page does not offer
REASONS: dict[DoubtName, str] = {
    "truncated": "a sentence was too long, and its translation was cut",
    "loop": "words are repeated",
    "echo": "a sentence was not translated",
    "script": "a sentence has letters of another language",
    "length": "a sentence is unusually long or short",
    "numbers": "a number is missing",
    "kept": "an address or a placeholder is missing",
}
_PROBABLE = 0.8  # confidence below which a detected language has a question mark


def filled(name: str, values: Mapping[str, str]) -> str:
    """Returns a file of this folder with each {{field}} replaced; `values` are HTML."""
    return _FIELD.sub(lambda field: values[field[1]], (_FOLDER / name).read_text("utf-8"))


def form(
    service: Service,
    *,
    text: str = "",
    source: str = AUTO,
    target: str = "",
    translation: str = "",
    detected: str = "",
    doubts: Collection[DoubtName] = (),
    message: str = "",
    key: str = "",
) -> str:
    """Returns the page with a text, its translation and doubts about it, a message and the API key; the languages are
    the chosen ones.
    """
    host = service.host
    sources = [(AUTO, _DETECT)] if service.detector.is_installed() else []
    chosen = target or host.directions[0][0].target
    settings = service.settings
    others = {ending for name in _COLUMNS for ending in FORMATS[name].endings}
    readable = [] if settings.no_files else [ending for ending in endings() if ending not in others]
    return filled(
        "index.html",
        {
            "modules": _preloads(),
            "sources": _choices([*sources, *((one, name_of(one)) for one in host.sources)], source),
            "targets": _choices(((one, name_of(one)) for one in host.targets), chosen),
            "text": html.escape(text),
            "translation": html.escape(translation),
            "lang": f' lang="{html.escape(chosen)}"' if translation else "",
            "auto": _DETECT,
            "probable": str(_PROBABLE),
            "detected": html.escape(detected),
            "reasons": html.escape(json.dumps(REASONS)),
            "doubts": "; ".join(reason for name, reason in REASONS.items() if name in doubts),
            "sure": "" if doubts else " hidden",
            "message": html.escape(message),
            "quiet": "" if message else " hidden",
            "key": _KEY.format(html.escape(key)) if service.keys.are_required else "",
            "no_files": "" if readable else " hidden",
            "bytes": str(settings.max_file),
            "size": _size(settings.max_file),
            "characters": f"{settings.max_characters:,}",
            "endings": ",".join(readable),
            "formats": ", ".join(_formats(readable)),
        },
    )


def programs(service: Service, address: str) -> str:
    """Returns the page for programs, with commands for the server at this address."""
    pairs = [direction for direction, _ in service.host.directions]
    source, target = next((pair for pair in pairs if pair.source in _SAMPLES), pairs[0])
    values = {
        "address": shlex.quote(address),
        "source": source,
        "target": target,
        "upper_source": source.upper(),
        "upper_target": target.upper(),
        "sample": _SAMPLES.get(source, "Hello."),
        "key": "-H 'X-Api-Key: KEY' " if service.keys.are_required else "",
    }
    return filled("programs.html", {name: html.escape(value) for name, value in values.items()})


def doubtful(language: str, confidence: float) -> str:
    """Returns a detected language's name, with a question mark if it is doubtful."""
    return name_of(language) + ("" if confidence >= _PROBABLE else "?")


@functools.cache
def _preloads() -> str:
    names = sorted({path.name for path in _FOLDER.glob("*.js")} - {"page.js", "scheme.js"})
    return "\n  ".join(f'<link rel="modulepreload" href="page/{name}">' for name in names)


def _choices(pairs: Iterable[tuple[str, str]], chosen: str) -> str:
    return "".join(
        f'<option value="{html.escape(code)}"{" selected" * (code == chosen)}>{html.escape(name)}</option>'
        for code, name in pairs
    )


def _formats(readable: Iterable[str]) -> list[str]:
    """Returns the names of the formats whose files have these endings."""
    return [name.upper() for name, known in FORMATS.items() if not set(readable).isdisjoint(known.endings)]


def _size(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 100_000 else f"{count / 1e3:.3g} kB"
