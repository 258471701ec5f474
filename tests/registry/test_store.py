"""The user's folder of models."""

import json
import os
import sys
from pathlib import Path

import pytest

from cpunmt import Translator
from cpunmt.errors import CpunmtError
from cpunmt.registry import store
from cpunmt.registry.misspelt import _folders, beside, published
from cpunmt.registry.store import Languages, model_languages
from cpunmt.text.languages.codes import is_unspaced


def put(name, **metadata) -> Path:
    path = store.folder_of(name)
    path.mkdir(parents=True)
    (path / "metadata.json").write_text(json.dumps({"name": name, **metadata}))
    return path


def test_a_model_is_found():
    path = put("firefox:ende")
    assert store.find("firefox:ende") == path
    assert path == store.models_folder() / "firefox" / "ende"


def test_however_it_is_written():
    path = put("firefox:ende")
    opus = put("opus:en-de")
    for name in ("firefox:en-de", "firefox:enDE", "firefox:en_de"):
        assert store.find(name) == path
    assert store.find("opus:ende") == opus


@pytest.mark.parametrize(
    "name", ["firefox:ende", "opus:en-de@opus-2020-02-26", "hf:Helsinki-NLP/opus-mt-en-de@refs/pr/3"]
)
def test_a_model_that_is_not_there(name):
    put("firefox:deen")
    with pytest.raises(CpunmtError) as caught:
        store.find(name)
    assert str(caught.value) == f"the model {name} is not in {store.models_folder()}; run: cpunmt fetch {name}"


def test_a_path_that_is_a_name_of_the_hub_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CpunmtError, match="run: cpunmt fetch hf:Helsinki-NLP/opus-mt-en-de$"):
        Translator("Helsinki-NLP/opus-mt-en-de")
    os.mkdir("Helsinki-NLP")  # then it is a path
    with pytest.raises(CpunmtError) as caught:
        Translator("Helsinki-NLP/opus-mt-en-de")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "ende",
        "firefox:",
        "firefox:../ende",
        "firefox:en/de",
        "firefox:ende@..",
        "firefox:ende@a..b",
        "firefox:ende\n",
        "opus:/etc",
        "opus:en de",
        "opus:..",
        "hf:name",
        "hf:a/b/c",
        "hf:../b",
        "hf:a/..",
        "hf:a/b@/c",
        "hf:a/b@x/../y",
        "hf:a\\b/c",
        "firefox:" + "e" * 2000,
        "https://example.org/",
    ],
)
def test_no_names(name):
    for question in (store.find, store.folder_of, store.split_name):
        with pytest.raises(CpunmtError, match="names no model; expected firefox:ende, opus:en-de, argos:en-de, hf:"):
            question(name)


def test_the_longest_name():
    longest = "firefox:" + "e" * 1992
    assert store.split_name(longest) == ("firefox", "e" * 1992)
    with pytest.raises(CpunmtError, match="names no model"):
        store.split_name(longest + "e")


def test_a_suggested_name_is_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CpunmtError, match="^firefx:en de: no such directory; expected"):
        store.located("firefx:en de")


def test_a_directory_of_a_similar_name(tmp_path):
    """Only a model's; neither others, nor hidden ones, nor files."""
    for name in ("model1", ".model3"):
        (tmp_path / name).mkdir()
    (tmp_path / "model2").write_bytes(b"")
    assert beside(tmp_path / "model") is None and sorted(_folders(tmp_path)) == ["model1"]
    (tmp_path / "model12").mkdir()
    (tmp_path / "model12" / "weights.safetensors").write_bytes(b"")
    assert beside(tmp_path / "model") == tmp_path / "model12"


def test_names_and_directories_are_told_apart():
    assert store.is_name("firefox:ende") and store.is_name("hf:a/b") and store.is_name("opus:")
    for other in ("models/ende", "ende", "C:\\models", "./firefox:ende", "", Path("firefox:ende"), None):
        assert not store.is_name(other)


def test_folders_differ_where_names_do():
    many = "+".join(f"l{number}" for number in range(200))
    names = [
        "firefox:ende",
        "firefox:ende@1.0",
        "opus:ende",
        f"opus:{many}-en",
        f"opus:{many}+x-en",
        "hf:a/b",
        "hf:a/b@main",
        "hf:a/b@refs/pr/3",
        "hf:a/b@refs=pr=3".replace("=", "-"),
        "hf:a./b",
    ]
    folders = [store.folder_of(name) for name in names]
    assert len(set(folders)) == len(names)
    for folder in folders:
        assert len(folder.name) <= 120 and folder.is_relative_to(store.models_folder())
        assert not folder.name.endswith(".") and not folder.parent.name.endswith(".")


def test_what_is_installed():
    assert store.installed() == []
    for name in ("hf:Helsinki-NLP/opus-mt-en-de", "firefox:ende@1.0", "opus:en-de", "firefox:ende"):
        put(name, version="1")
    assert [model.name for model in store.installed()] == [
        "firefox:ende",
        "firefox:ende@1.0",
        "hf:Helsinki-NLP/opus-mt-en-de",
        "opus:en-de",
    ]
    assert store.installed()[0].metadata == {"name": "firefox:ende", "version": "1"}


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"name": 3}', b'{"name": "x"}', b"\xff", b"[" * 100_000])
def test_what_is_no_model_is_passed_over(content):
    path = put("firefox:ende")
    (path / "metadata.json").write_bytes(content)
    put("firefox:deen").rename(store.models_folder() / "firefox" / ".deen.part")
    (store.models_folder() / "firefox" / "file").write_bytes(b"")
    assert store.installed() == []
    with pytest.raises(CpunmtError, match="run: cpunmt fetch firefox:ende"):
        store.find("firefox:ende")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "/home/me/.local/share/cpunmt/models"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/cpunmt/models"),
        ("linux", {"XDG_DATA_HOME": "not/absolute"}, "/home/me/.local/share/cpunmt/models"),
        ("linux", {"CPUNMT_MODELS_DIR": "/mine"}, "/mine"),
    ],
)
def test_the_folder_of_each_system(monkeypatch, platform, variables, expected):
    for name in ("CPUNMT_MODELS_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert store.models_folder() == Path(expected)


def test_no_home(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("CPUNMT_MODELS_DIR")
    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(CpunmtError, match="name a folder for models in CPUNMT_MODELS_DIR"):
        store.models_folder()


def test_metadata_comes_first():
    assert model_languages({"source_language": "en", "target_language": "de"}, "x-ja") == Languages("en", "de")
    assert model_languages({"sourceLanguage": "en", "targetLanguage": "zh-Hant"}, "") == Languages("en", "zh-Hant")
    assert model_languages({"source_language": 7, "target_language": "de"}, "none") == Languages()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("opus-mt-en-de", ("en", "de")),
        ("/models/opus-mt-tc-big-en-zle/", ("en", "zle")),
        ("firefox:enja", ("en", "ja")),
        ("firefox:enja@1.0", ("en", "ja")),
        ("opus:en-zh", ("en", "zh")),
        ("/home/user/model", (None, None)),
        ("", (None, None)),
    ],
)
def test_else_the_name_is_read(name, expected):
    assert model_languages({}, name) == Languages(*expected)


def test_languages_without_a_space_between_sentences():
    assert is_unspaced("ja") and is_unspaced("zh-Hant") and is_unspaced("ZH_cn")
    assert is_unspaced("ko") is False and is_unspaced("de") is False and is_unspaced(None) is None


@pytest.mark.parametrize(
    "text, name",
    [
        ("ende", "firefox:ende"),
        ("en-de", "firefox:ende"),
        ("fr_en", "firefox:fren"),
        ("fr-de", "opus:fr-de"),  # Firefox's models are from or to English
        ("frde", None),
        ("en-qq", "opus:en-qq"),
        ("enqq", None),
        ("qq-xx", None),
        ("open", None),
        ("firefx:ende", "firefox:ende"),
        ("opus/en-de", "opus:en-de"),
        ("HF:a/b", "hf:a/b"),
    ],
)
def test_the_registry_of_a_pair_of_languages(text, name):
    assert published(text) == name
