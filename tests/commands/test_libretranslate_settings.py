"""LibreTranslate's variables and flags: the settings that they set, and what is said of the others."""

import os
import sqlite3

import pytest

from cpunmt.commands.cli import command_parser
from cpunmt.commands.libretranslate_settings import NAMES, settings_of
from cpunmt.errors import CpunmtError
from cpunmt.serve.settings import ServeSettings


def found(*flags, **variables):
    given = command_parser().parse_args(["serve", *flags])
    return settings_of(given, {f"LT_{name}": value for name, value in variables.items()} | {"PATH": "x"})


@pytest.mark.parametrize(
    "name, value, settings",
    [
        ("HOST", "*", {"host": "0.0.0.0"}),
        ("HOST", "::1", {"host": "::1"}),
        ("PORT", "8080", {"port": 8080}),
        ("CHAR_LIMIT", "500", {"max_text": 500, "max_characters": 500}),
        ("CHAR_LIMIT", "-1", {}),
        ("BATCH_LIMIT", "25", {"max_texts": 25}),
        ("REQ_LIMIT", "10", {"max_rate": 10}),
        ("ALTERNATIVES_LIMIT", "3", {"max_alternatives": 3}),
        ("THREADS", "2", {"workers": 2}),
        ("LOAD_ONLY", "en,de", {"languages": "en,de"}),
        ("DISABLE_FILES_TRANSLATION", "true", {"no_files": True}),
        ("DISABLE_FILES_TRANSLATION", "False", {}),
        ("DISABLE_WEB_UI", "1", {"no_page": True}),
        ("URL_PREFIX", "mt", {"url_prefix": "mt"}),
        ("METRICS", "true", {}),
        ("API_KEYS", "false", {}),
        ("API_KEYS_DB_PATH", "no/such", {}),
    ],
)
def test_a_variable_and_a_flag_set_the_same(name, value, settings):
    assert found(**{name: value}) == (settings, [])
    flag = f"--{name.lower().replace('_', '-')}"
    of_bool = next(one.kind is bool for one in NAMES if one.name == name)
    if flag not in ("--host", "--port", "--api-keys", "--url-prefix") and value != "False":
        assert found(flag, *[value] * (not of_bool)) == (settings, [])


def test_every_name_is_known_and_sets_what_there_is():
    fields = {*ServeSettings.__dataclass_fields__, "host", "port", "languages"}
    assert all(set(one.ours) <= fields and (one.ours or one.note) for one in NAMES)
    assert len({one.name for one in NAMES}) == len(NAMES)
    flags = [f for one in NAMES for f in [one.flag] if f not in ("--host", "--port", "--api-keys", "--url-prefix")]
    words = [
        word for one in NAMES if one.flag in flags for word in ([one.flag] if one.kind is bool else [one.flag, "1"])
    ]
    settings, without = found(*words)
    assert settings["max_texts"] == 1 and "LT_DEBUG" in without and "LT_METRICS" not in without


def test_flags_come_before_variables_and_the_rest_is_told():
    assert found("--char-limit", "5", CHAR_LIMIT="6")[0] == {"max_text": 5, "max_characters": 5}
    settings, without = found(DEBUG="true", SSL="0", GA_ID="", FUTURE="x", BATCH_LIMIT="0")
    assert (settings, without) == ({}, ["LT_DEBUG", "LT_FUTURE"])
    with pytest.raises(CpunmtError, match="^LT_PORT is 'http', expected a number$"):
        found(PORT="http")


def test_keys_of_a_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CpunmtError, match=r"^db/api_keys\.db: no such file; expected LibreTranslate's keys, or give"):
        found(API_KEYS="true")
    assert found("--api-keys", "keys", API_KEYS="true") == ({}, [])  # ours come first
    os.mkdir("db")
    with sqlite3.connect("db/api_keys.db") as database:
        database.execute("CREATE TABLE api_keys (api_key TEXT PRIMARY KEY, req_limit INTEGER, char_limit INTEGER)")
        with pytest.raises(CpunmtError, match="has no API key; add one"):
            found(API_KEYS="true")
        database.executemany("INSERT INTO api_keys VALUES (?, 80, NULL)", [("first",), ("second",)])
        database.commit()
    database.close()
    assert found(API_KEYS="true") == ({"api_keys": ("first", "second")}, [])
    os.rename("db/api_keys.db", "a b#.db")
    assert found(API_KEYS="1", API_KEYS_DB_PATH="a b#.db")[0]["api_keys"] == ("first", "second")
    (tmp_path / "text").write_text("keys")
    with pytest.raises(CpunmtError, match="^text: cannot read LibreTranslate's keys: "):
        found(API_KEYS="1", API_KEYS_DB_PATH="text")
