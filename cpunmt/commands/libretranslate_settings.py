"""LibreTranslate's variables and flags, and the settings of `cpunmt serve` that they set.

A variable LT_CHAR_LIMIT and the flag --char-limit are one name, CHAR_LIMIT. A flag of ours overrides theirs, and a flag
a variable.

Source: `libretranslate/default_values.py` and `main.py` of https://github.com/LibreTranslate/LibreTranslate.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cpunmt.commands.flag_names import flag_of
from cpunmt.errors import CpunmtError
from cpunmt.values.checks import shown
from cpunmt.values.command_line import Parser

_OFF = ("", "0", "-1", "false")
_KEYS = "db/api_keys.db"


class Name(NamedTuple):
    """A name of LibreTranslate's.

    name  without LT_
    kind  of its value; a bool's flag takes none
    ours  the settings that get the value; empty: it has no effect here
    note  what is different, or why it has no effect
    """

    name: str
    kind: type
    ours: tuple[str, ...] = ()
    note: str = ""

    @property
    def flag(self) -> str:
        return flag_of(self.name.lower())


_BY_PROXY = "a matter of the proxy"
_NO_PAGE = "the page is ours"
NAMES = (
    Name("HOST", str, ("host",)),
    Name("PORT", int, ("port",)),
    Name("LOAD_ONLY", str, ("languages",), "missing models are fetched, Firefox's first"),
    Name("CHAR_LIMIT", int, ("max_text", "max_characters")),
    Name("BATCH_LIMIT", int, ("max_texts",)),
    Name("REQ_LIMIT", int, ("max_rate",), "of each key, or without keys of each address"),
    Name("ALTERNATIVES_LIMIT", int, ("max_alternatives",), "at most 63"),
    Name("THREADS", int, ("workers",), "each on one core"),
    Name(
        "API_KEYS", bool, ("api_keys",), "each request needs a key of LT_API_KEYS_DB_PATH, which is read at the start"
    ),
    Name("API_KEYS_DB_PATH", str, ("api_keys",), f"default {_KEYS}; the limits of each key in it have no effect"),
    Name("DISABLE_FILES_TRANSLATION", bool, ("no_files",)),
    Name("DISABLE_WEB_UI", bool, ("no_page",)),
    Name("URL_PREFIX", str, ("url_prefix",)),
    Name("METRICS", bool, (), "they are always on"),
    Name("METRICS_AUTH_TOKEN", str, (), _BY_PROXY),
    Name("SSL", bool, (), f"{_BY_PROXY}, which sends X-Forwarded-Proto"),
    Name("REQ_LIMIT_STORAGE", str, (), "counts are in memory"),
    Name("SHARED_STORAGE", str, (), "one process serves"),
    Name("SECONDARY", bool, (), "one process serves"),
    Name("HOURLY_REQ_LIMIT", int, (), "see `--quota`"),
    Name("HOURLY_REQ_LIMIT_DECAY", int, (), "see `--quota`"),
    Name("DAILY_REQ_LIMIT", int, (), "see `--quota`"),
    Name("REQ_FLOOD_THRESHOLD", int, (), _BY_PROXY),
    Name("REQ_TIME_COST", int, (), "see `--deadline`"),
    Name("API_KEYS_REMOTE", str, (), "keys are in a file"),
    Name("GET_API_KEY_LINK", str, (), _NO_PAGE),
    Name("REQUIRE_API_KEY_ORIGIN", str, (), "with keys each request needs one"),
    Name("REQUIRE_API_KEY_SECRET", bool, (), "with keys each request needs one"),
    Name("REQUIRE_API_KEY_FINGERPRINT", bool, (), "with keys each request needs one"),
    Name("UNDER_ATTACK", bool, (), "with keys each request needs one"),
    Name("SUGGESTIONS", bool, (), "suggestions are refused"),
    Name("UPDATE_MODELS", bool, (), "`cpunmt fetch --force`"),
    Name("FORCE_UPDATE_MODELS", bool, (), "`cpunmt fetch --force`"),
    Name("FRONTEND_LANGUAGE_SOURCE", str, (), _NO_PAGE),
    Name("FRONTEND_LANGUAGE_TARGET", str, (), _NO_PAGE),
    Name("FRONTEND_TIMEOUT", int, (), _NO_PAGE),
    Name("HIDE_API", bool, (), _NO_PAGE),
    Name("GA_ID", str, (), _NO_PAGE),
    Name("DEBUG", bool, (), "faults are always logged"),
)


def add_flags(parser: Parser) -> None:
    """Adds LibreTranslate's flags, which the help leaves out, where ours have other names."""
    known = {flag for action in parser.arguments for flag in action.option_strings}
    for one in NAMES:
        if one.flag not in known:
            settings: dict[str, Any] = {"nargs": 0, "const": "true"} if one.kind is bool else {}
            parser.add_argument(one.flag, dest=f"LT_{one.name}", help=argparse.SUPPRESS, **settings)


def settings_of(given: argparse.Namespace, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Returns the settings that variables and flags of LibreTranslate's set, and the names without effect.

    `environment`: variables, of any programs.

    LibreTranslate's keys are not read if our flag names a file of keys.

    Raises CpunmtError for a value of another kind, and for keys that cannot be read.
    """
    values = {name: value for name, value in environment.items() if name.startswith("LT_")}
    values |= {name: value for name, value in vars(given).items() if name.startswith("LT_") and value is not None}
    on = {name: value for name, value in values.items() if value.lower() not in _OFF}
    settings: dict[str, Any] = {}
    for one in NAMES:
        if (value := on.get(f"LT_{one.name}")) is not None and one.kind is not bool:
            settings |= dict.fromkeys(one.ours, _number(one.name, value) if one.kind is int else value)
        elif value is not None:
            settings |= dict.fromkeys(one.ours, True)
    path = settings.pop("api_keys", None)
    if "LT_API_KEYS" in on and given.api_keys is None:
        settings["api_keys"] = _keys(path if isinstance(path, str) else _KEYS)
    if settings.get("host") == "*":
        settings["host"] = "0.0.0.0"
    quiet = {f"LT_{one.name}" for one in NAMES if one.ours} | {"LT_METRICS"}
    return settings, sorted(on.keys() - quiet)


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise CpunmtError(f"LT_{name} is {shown(value)}, expected a number") from None


def _keys(path: str) -> tuple[str, ...]:
    """Returns the keys in a database of LibreTranslate's."""
    if not Path(path).is_file():
        raise CpunmtError(f"{path}: no such file; expected LibreTranslate's keys, or give --api-keys FILE")
    import sqlite3  # needed only for this

    try:
        address = f"{Path(path).absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            rows: Iterable[tuple[object]] = database.execute("SELECT api_key FROM api_keys").fetchall()
    except sqlite3.Error as error:
        raise CpunmtError(f"{path}: cannot read LibreTranslate's keys: {error}; see --api-keys") from None
    keys = tuple(str(row[0]) for row in rows if row[0])
    if not keys:
        raise CpunmtError(f"{path}: has no API key; add one with LibreTranslate's ltmanage, or give --api-keys FILE")
    return keys
