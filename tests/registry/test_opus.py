"""The list of OPUS-MT's releases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.registry import opus
from tests.registry.shapes import OPUS_FILES, serve_opus, zipped

URL = "https://object.pouta.csc.fi/OPUS-MT-models/index.txt"


def models(text) -> dict:
    return {entry.name: entry for entry in opus.list_models(URL, lambda url: text.encode())}


def test_the_list(server):
    archive = zipped(OPUS_FILES)
    url = serve_opus(server, {"en-de/opus-2020-02-26.zip": archive, "en-fr/opus-2020-02-26.zip": archive})
    entries = opus.list_models(url, lambda address: server.content[address.removeprefix(server.url)])
    assert [entry.name for entry in entries] == ["opus:en-de", "opus:en-fr"]
    entry = entries[0]
    assert (entry.source, entry.target, entry.version) == ("en", "de", "opus-2020-02-26")
    assert entry.packed and entry.size is None and entry.registry == url
    (file,) = entry.files
    assert file.path == "opus-2020-02-26.zip" and server.content[file.url.removeprefix(server.url)] == archive


def test_the_newest_release_has_the_short_name():
    found = models("en-de/opus-2019-12-04.zip\nen-de/opus+bt-2020-02-26.zip\nen-de/opus-2020-01-08.zip\nen-de/x.zip\n")
    assert {name: entry.version for name, entry in found.items()} == {
        "opus:en-de": "opus+bt-2020-02-26",
        "opus:en-de@opus-2019-12-04": "opus-2019-12-04",
        "opus:en-de@opus-2020-01-08": "opus-2020-01-08",
        "opus:en-de@x": "x",
    }


def test_many_languages():
    (entry,) = models("fi+sv_FI-en+de/opus-2020-02-26.zip").values()
    assert (entry.name, entry.source, entry.target) == ("opus:fi+sv_FI-en+de", "fi+sv_FI", "en+de")
    assert entry.files[0].url == "https://object.pouta.csc.fi/OPUS-MT-models/fi%2Bsv_FI-en%2Bde/opus-2020-02-26.zip"


@pytest.mark.parametrize(
    "line", ["en-de/opus.yml", "../x-y/opus.zip", "/en-de/opus.zip", "en-de/a/b.zip", "en/opus.zip", "en-de/.zip", ""]
)
def test_other_lines_are_passed_over(line):
    assert list(models(f"en-fr/opus-2020-02-26.zip\n{line}\n")) == ["opus:en-fr"]


@pytest.mark.parametrize("content", [b"", b"<html>\n", b"\xff\xfe"])
def test_other_documents(content):
    with pytest.raises(CpunmtError, match=f"^{URL}: .*expected"):
        opus.list_models(URL, lambda url: content)


@given(st.lists(st.text("abcDE-+_./\\\0 ~1", max_size=12) | st.just("en-de/opus-2020-02-26.zip")))
def test_any_lines(lines):
    try:
        found = models("\n".join(f"{line}.zip" for line in lines))
    except CpunmtError:
        return
    for entry in found.values():
        assert entry.files[0].url.startswith("https://object.pouta.csc.fi/OPUS-MT-models/")
        assert "/" not in entry.files[0].path and "\\" not in entry.files[0].path
