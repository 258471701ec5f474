"""Models that `cpunmt serve` chooses and fetches by languages."""

import pytest

from cpunmt.commands import serve
from cpunmt.commands.models_by_languages import served_models
from cpunmt.errors import CpunmtError
from cpunmt.registry import store
from tests.registry.command import run
from tests.registry.shapes import (
    OPUS_FILES,
    argos_entry,
    firefox_records,
    serve_argos,
    serve_firefox,
    serve_opus,
    zipped,
)


@pytest.fixture
def registries(server, monkeypatch):
    pairs = [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"), ("is", "en")]
    found = [firefox_records(*pair, "1.0") for pair in pairs]
    archives = {f"{pair}/opus-2020-02-26.zip": zipped(OPUS_FILES) for pair in ("de-fr", "en-ga", "de-eo")}
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", serve_firefox(server, *found))
    monkeypatch.setenv("CPUNMT_OPUS_REGISTRY", serve_opus(server, archives))
    monkeypatch.setenv("CPUNMT_ARGOS_REGISTRY", serve_argos(server, argos_entry("ga", "en")))
    return server


def there():
    return [model.name for model in store.installed()]


def test_pairs_are_fetched_once(registries, capsys, monkeypatch):
    assert served_models(["en-de", "deu-eng"], []) == ["firefox:ende", "firefox:deen"]
    assert there() == ["firefox:deen", "firefox:ende"]
    lines = ["cpunmt: fetching firefox:ende: 3 files, 0.0 MB", "cpunmt: fetching firefox:deen: 3 files, 0.0 MB"]
    assert capsys.readouterr().err.splitlines() == lines
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    assert served_models(["en-de", "de-en", "eng_Latn-de"], []) == ["firefox:ende", "firefox:deen"]
    assert capsys.readouterr().err == ""
    with pytest.raises(CpunmtError, match="CPUNMT_OFFLINE is set"):
        served_models(["en-fr"], [])


def test_fetched_models_are_enough_without_a_list(registries, capsys, monkeypatch):
    of_three = ["firefox:ende", "firefox:enfr", "firefox:deen", "firefox:fren"]
    run(["fetch", *of_three, "firefox:isen"])
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    capsys.readouterr()
    assert served_models(["de-fr"], []) == ["firefox:deen", "firefox:enfr"]
    assert served_models([], ["en", "de", "fr"]) == of_three
    assert capsys.readouterr().err == ""
    assert served_models([], ["en", "is"]) == ["firefox:isen"]
    assert capsys.readouterr().err.startswith("cpunmt: no models for en-is (CPUNMT_OFFLINE is set")
    with pytest.raises(CpunmtError, match="CPUNMT_OFFLINE is set"):
        served_models([], ["en", "de", "eo"])


def test_an_unreadable_list_is_tried_once(registries, capsys, monkeypatch):
    run(["fetch", "firefox:isen"])
    asked = []

    def fails(registry, say):
        asked.append(registry)
        raise CpunmtError("cannot be read")

    monkeypatch.setattr("cpunmt.registry.catalogue.list_models", fails)
    with pytest.raises(CpunmtError, match="^cannot be read$"):
        served_models([], ["en", "is", "eo"])
    assert asked == ["firefox"]


def test_other_names_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en-de").mkdir()
    named = ["en-de", "models/ende", "firefox:en-de", "en-de=folder", "a-b"]
    assert served_models(named, []) == named and served_models([], []) == []


@pytest.mark.parametrize(
    "pair, names",
    [
        ("de-fr", ["firefox:deen", "firefox:enfr"]),  # before OPUS-MT's own
        ("de-eo", ["opus:de-eo"]),
        ("en-ga", ["opus:en-ga"]),
        ("ga-en", ["argos:ga-en"]),
        ("de-ga", ["firefox:deen", "opus:en-ga"]),
        ("zh-Hant-en", None),
        ("eo-de", None),
    ],
)
def test_the_order_of_choice(registries, pair, names, monkeypatch):
    monkeypatch.setattr("cpunmt.commands.models_by_languages.fetched", lambda entry: None)
    if names:
        assert served_models([pair], []) == names
    else:
        with pytest.raises(CpunmtError, match=f"^{pair}: is neither a directory nor a pair of languages that has a m"):
            served_models([pair], [])


def test_a_fetched_model_comes_first(registries, capsys):
    run(["fetch", "opus:de-fr"])
    assert served_models(["de-fr"], []) == ["opus:de-fr"]


def test_all_pairs_of_languages(registries, capsys, monkeypatch):
    monkeypatch.setattr("cpunmt.commands.models_by_languages.fetched", lambda entry: None)
    of_three = ["firefox:ende", "firefox:enfr", "firefox:deen", "firefox:fren"]
    assert served_models([], ["en", "de", "fr"]) == of_three
    assert sorted(served_models([], ["de", "fr"])) == sorted(of_three)  # through English
    assert capsys.readouterr().err == ""
    assert served_models([], ["en", "is"]) == ["firefox:isen"]
    assert capsys.readouterr().err == "cpunmt: no models for en-is\n"
    with pytest.raises(CpunmtError, match="^no model translates from or to xx; see cpunmt ls$"):
        served_models([], ["en", "xx"])
    with pytest.raises(CpunmtError, match="^only en is named, expected at least two languages, as en,de$"):
        served_models([], ["en"])


def test_without_models_the_default_is_served(monkeypatch):
    monkeypatch.setenv("CPUNMT_MODEL", "some/model")
    assert serve._models([], []) == ["some/model"] and serve._models(["other"], []) == ["other"]
    monkeypatch.setattr("cpunmt.commands.serve.default_model", lambda: None)
    assert serve._models([], []) == []
    assert serve._items("en, de,,fr,en ") == ["en", "de", "fr"]
