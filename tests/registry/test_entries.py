"""Untrusted names and sizes."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.registry.entries import LARGEST_FILES, LARGEST_MODEL, ModelEntry, RemoteFile, check_entry, check_file_name
from cpunmt.registry.store import plain


def entry(*files) -> ModelEntry:
    return ModelEntry("firefox:ende", "en", "de", "tiny", "1.0", "https://example.org/", files)


def remote(path, size=10) -> RemoteFile:
    return RemoteFile("https://example.org/x", path, size)


@pytest.mark.parametrize(
    "name",
    [
        "model.ende.intgemm.alphas.bin",
        "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz",
        "opusTCv20210807+bt.spm32k.npz",
        "LICENSE",
        "_a=b@c",
        "console.txt",
        "model.bin.zst",
        "MODEL.BIN.GZ",
        "metadata.json.txt",
        "x" * 150,
    ],
)
def test_names_that_are_accepted(name):
    check_file_name(name, "here")


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:evil",
        "a:stream",
        "nul",
        "NUL.bin",
        "com1.model.bin",
        "Lpt9",
        "a.",
        "a ",
        " a",
        ".hidden",
        "-rf",
        "a\0b",
        "a\nb",
        "modèl",
        "~root",
        "$HOME",
        "a*",
        "x" * 151,
        "metadata.json",
        "Metadata.JSON",
        "model.bin.part",
        "model.bin.etag",
        "metadata.json.zst",
        "METADATA.JSON.gz",
        "metadata.json.GZ",
        "model.bin.part.zst",
        "model.bin.etag.gz",
        "con.gz",
        "a..gz",
        "a.zst.gz",
        "a.gz.zst",
        "a.gz.gz",
        "a.GZ.Zst",
        None,
        3,
    ],
)
def test_names_that_are_not(name):
    with pytest.raises(CpunmtError, match="^here: file name .* is refused: .*; nothing was fetched of it"):
        check_file_name(name, "here")


@given(st.text(max_size=20))
def test_an_accepted_name_stays_in_its_folder(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    try:
        check_file_name(name, "here")
    except CpunmtError:
        return
    assert (folder / name).resolve().parent == folder.resolve()
    assert name == (folder / name).name


def test_entries():
    check_entry(entry(remote("a"), remote("b", None), remote("c", LARGEST_FILES - 10)))
    with pytest.raises(CpunmtError, match=rf"^firefox:ende: the registry says {LARGEST_FILES + 1} bytes, expected at"):
        check_entry(entry(remote("a", 1), remote("c", LARGEST_FILES)))
    with pytest.raises(CpunmtError, match=f"says {LARGEST_MODEL + 1} bytes, expected at most {LARGEST_MODEL}; not a"):
        check_entry(entry(dataclasses.replace(remote("a"), unpacked_size=LARGEST_MODEL + 1)))
    for twice in ("model.bin", "Model.BIN", "model.bin.gz", "Model.bin.ZST"):
        with pytest.raises(CpunmtError, match="twice"):
            check_entry(entry(remote("model.bin"), remote(twice)))
    with pytest.raises(CpunmtError, match="firefox:ende: file name"):
        check_entry(entry(remote("a"), remote("../b")))


def test_sizes():
    assert entry(remote("a", 1), remote("b", 2)).size == 3
    assert entry(remote("a", 1), remote("b", None)).size is None


def test_what_is_written_differently_is_the_same():
    assert plain("firefox:en-de") == plain("firefox:ende") == plain("Firefox:EN_DE")
    assert plain("opus:en-de") != plain("firefox:en-de")
    assert plain("hf:A-b/c@v1") == plain("HF:a-B/C@v1") not in map(plain, ("hf:ab/c@v1", "hf:a-b/c@v-1", "hf:a-b/c@V1"))
