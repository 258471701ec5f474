"""The index of Argos' packages, and fetching one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.errors import CpunmtError
from cpunmt.registry import argos, catalogue, store
from cpunmt.registry.install import install
from tests.golden.argos import SENTENCES, write_package
from tests.registry.command import run
from tests.registry.shapes import argos_entry, argos_files, serve_argos, zipped
from tests.support.speeds import slow_after

URL = argos.REGISTRIES[0]


def models(index) -> dict:
    return {entry.name: entry for entry in argos.list_models(URL, lambda url: json.dumps(index).encode())}


def archive_of(folder) -> bytes:
    """Returns the zipped form of a folder, which is one folder in its archive."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return zipped({f"{folder.name}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in files})


def test_the_index(server):
    url = serve_argos(server, argos_entry("en", "de", "1.9"), argos_entry("zt", "en"))
    entries = argos.list_models(url, lambda address: server.content[address.removeprefix(server.url)])
    assert [entry.name for entry in entries] == ["argos:en-de", "argos:zt-en"]
    entry = entries[0]
    assert (entry.source, entry.target, entry.version, entry.packed, entry.size) == ("en", "de", "1.9", True, None)
    assert entry.registry == url and entry.files[0].url == f"{server.url}/v1/translate-en_de-1_9.argosmodel"


def test_the_newest_version_has_the_short_name():
    found = models([argos_entry("en", "de", version, links=["https://a/b"]) for version in ("1.9", "1.10", "1.2", "x")])
    assert {name: entry.version for name, entry in found.items()} == {
        "argos:en-de": "1.10",
        "argos:en-de@1.9": "1.9",
        "argos:en-de@1.2": "1.2",
        "argos:en-de@x": "x",
    }


def test_links_of_other_networks_are_passed_over():
    (entry,) = models([argos_entry("en", "de", links=["ipfs://Qm", 3, "https://h/a b.argosmodel"])]).values()
    assert entry.files[0].url == "https://h/a%20b.argosmodel"


@pytest.mark.parametrize(
    "changed",
    slow_after(
        3,
        [
            {"links": []},
            {"type": "sbd"},
            {"from_code": None},
            {"from_code": "../x"},
            {"to_code": 5},
            {"links": "https://a/b"},
            {"links": ["file:///etc/passwd"]},
            {"from_code": "e" * 1000},
        ],
    ),
)
def test_other_entries_are_passed_over(changed):
    good = argos_entry("en", "fr", links=["https://a/b"])
    assert list(models([{**argos_entry("en", "de", links=["https://a/b"]), **changed}, None, 7, good])) == [
        "argos:en-fr"
    ]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"<html>", b"\xff", b"[{}]", b"[" * 100_000])
def test_other_documents(content):
    with pytest.raises(CpunmtError, match=f"^{URL}: .*expected"):
        argos.list_models(URL, lambda url: content)


@given(
    st.lists(st.dictionaries(st.sampled_from([*argos_entry("en", "de")]), st.text() | st.none() | st.lists(st.text())))
)
def test_any_entries(index):
    try:
        found = models([*index, argos_entry("en", "de", links=["https://a/b"])])
    except CpunmtError:
        return
    for name, entry in found.items():
        assert store.split_name(name)[0] == "argos" and entry.files[0].url.startswith(("http://", "https://"))


def test_a_package_is_fetched_listed_and_used(server, tmp_path, monkeypatch, capsys):
    package = write_package(tmp_path / "translate-en_de-1_9")
    url = serve_argos(server, argos_entry("en", "de", "1.9"), archive=archive_of(package))
    monkeypatch.setenv("CPUNMT_ARGOS_REGISTRY", url)
    assert run(["ls", "argos:"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["argos:en-de", "en", ">", "de", "-", "-", "no"]
    assert run(["fetch", "argos:en-de"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'models' / 'argos' / 'en-de'}\n"
    translator = Translator("argos:en-de")
    expected = Translator(package).translate(SENTENCES[0], options="argos").text
    assert translator.translate(SENTENCES[0], options="argos").text == expected
    assert translator.languages == ("en", "de") and translator.metadata["version"] == "1.9"
    assert run(["ls", "argos:"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "yes"
    metadata = json.loads((translator.path / "metadata.json").read_text())
    assert metadata["from_code"] == "en" and metadata["name"] == "argos:en-de"
    assert set(metadata["files"]) == {
        "sentencepiece.model",
        *(f"model/{name}" for name in ("config.json", "model.bin", "shared_vocabulary.json")),
    }
    assert [path.name for path in translator.path.parent.iterdir()] == ["en-de"]


def fetched(server, content, said):
    """Fetches a package whose archive has this content. Returns its folder."""
    url = serve_argos(server, argos_entry("en", "de"), archive=content)
    (entry,) = catalogue._list("argos", url, lambda at: server.content[at.removeprefix(server.url)])
    return install(entry, on_bytes=lambda count: None, say=said.append)


def test_only_the_model_is_unpacked(server, said):
    path = fetched(server, zipped(argos_files()), said)
    found = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    assert found == {
        *("metadata.json", "README.md", "sentencepiece.model"),
        *("model/model.bin", "model/shared_vocabulary.json"),
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<html>log in</html>", "no zip archive, or one that was cut off"),
        (zipped({"a/metadata.json": b"{}", "b/model/x": b""}), "holds the folders 'a', 'b', expected one"),
        (zipped(argos_files(target_prefix=1)), "metadata.json: target_prefix is 1, expected a piece of the vocabulary"),
        (zipped(argos_files(from_code=1)), "metadata.json: from_code is 1, expected the code of a language"),
    ],
)
def test_a_wrong_package_is_not_installed(content, expected, server, said):
    with pytest.raises(CpunmtError, match=f"^argos:en-de: http[^\n]*{expected}[^\n]*$"):
        fetched(server, content, said)
    assert list(store.folder_of("argos:en-de").parent.iterdir()) == [] and store.installed() == []


def test_packages_of_argos_translate_have_names(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "data" / "argos-translate" / "packages"
    package = write_package(folder / "translate-en_de-1_9")
    write_package(folder / "translate-en_de-2_0")  # the first one of a name is taken
    write_package(folder / "broken", from_code="../..")
    write_package(folder / "also-broken", to_code=None)
    (folder / "file").write_text("")
    assert store.installed() == []
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("ARGOS_PACKAGES_DIR")
    assert [(model.name, model.path) for model in store.installed()] == [("argos:en-de", package)]
    assert store.located("argos:ende") == package
    assert run(["ls", "--installed"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("argos:en-de  en > de")
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "none"))
    assert store.installed() == []
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(folder))
    assert Translator("argos:en-de").translate(SENTENCES[0]).text == Translator(package).translate(SENTENCES[0]).text
