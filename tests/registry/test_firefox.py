"""Both forms of the registry of Firefox's models, whole, incomplete and broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.registry import firefox
from tests.registry.broken_json import ANYTHING, paths_of, replaced
from tests.registry.shapes import COLLECTION, PLAN, SPLIT, firefox_records, serve_bucket, serve_firefox, sha256

ANDROID, DESKTOP = "env.appinfo.OS == 'Android'", "env.appinfo.OS != 'Android'"


def models(server, url) -> dict:
    return {entry.name: entry for entry in listed(server.content, server.url, url)}


def listed(content, root, url):
    return firefox.list_models(url, lambda address: content[address.removeprefix(root)])


def names(server, *found) -> list[str]:
    return list(models(server, serve_firefox(server, *found)))


def test_a_model_of_remote_settings(server):
    found = firefox_records("en", "de", "2.1")
    url = serve_firefox(server, found)
    (entry,) = models(server, url).values()
    assert (entry.name, entry.source, entry.target) == ("firefox:ende", "en", "de")
    assert (entry.version, entry.architecture, entry.registry) == ("2.1", "", url)
    assert not entry.packed and entry.licence is None and entry.size == 3600
    assert [file.path for file in entry.files] == [PLAN[kind].format("ende") for kind in ("lex", "model", "vocab")]
    for file in entry.files:
        content = server.content[file.url.removeprefix(server.url)]
        assert (file.size, file.sha256) == (len(content), sha256(content))


def test_two_vocabularies_and_a_script(server):
    (entry,) = models(server, serve_firefox(server, firefox_records("en", "zh-Hans", plan=SPLIT))).values()
    assert entry.name == "firefox:enzh-Hans" and len(entry.files) == 4


def test_the_newest_version_has_the_short_name(server):
    versions = ["1.0", "2.0a1", "1.10", "1.9", "2.0a2"]
    found = names(server, *(firefox_records("en", "de", version) for version in versions))
    assert found == ["firefox:ende", *(f"firefox:ende@{version}" for version in ("1.0", "1.9", "2.0a1", "2.0a2"))]


def test_what_is_for_everyone_or_for_desktops_counts_before_the_rest(server):
    url = serve_firefox(
        server,
        firefox_records("en", "de", "2.0", expression=ANDROID, architecture="tiny"),
        firefox_records("en", "de", "2.0", expression=DESKTOP, architecture="base-memory"),
        firefox_records("en", "de", "2.1", expression="env.channel == 'nightly'"),
        firefox_records("en", "de", "1.0", architecture="tiny"),
        firefox_records("en", "de", "3.0", expression="env.version|versionCompare('200.0') >= 0"),
    )
    found = models(server, url)
    assert list(found) == [
        "firefox:ende",
        *(f"firefox:ende@{v}" for v in ("1.0", "2.0-android", "2.1-nightly", "3.0-limited")),
    ]
    assert found["firefox:ende"].version == "2.0" and found["firefox:ende"].architecture == "base-memory"


def test_companions_are_those_for_the_same_audience_else_for_everyone(server):
    model = firefox_records("en", "de", "2.0", {"model": PLAN["model"], "vocab": PLAN["vocab"]}, expression=DESKTOP)
    everyone = firefox_records("en", "de", "2.0", {"vocab": PLAN["vocab"], "lex": PLAN["lex"]})
    (entry,) = models(server, serve_firefox(server, everyone, model)).values()
    vocabulary, shortlist = model[0][1]["attachment"], everyone[0][1]["attachment"]
    assert {file.sha256 for file in entry.files} >= {vocabulary["hash"], shortlist["hash"]}
    assert len(entry.files) == 3


def test_incomplete_models_are_left_out(server):
    without = {kind: pattern for kind, pattern in SPLIT.items() if kind != "trgvocab"}
    other = firefox_records("en", "fr", "1.0", {"vocab": PLAN["vocab"]})  # of another version than the model
    found = names(
        server,
        firefox_records("en", "de", plan={"model": PLAN["model"]}),
        firefox_records("en", "ja", plan=without),
        firefox_records("en", "fr", "2.0", {"model": PLAN["model"]}),
        other,
        firefox_records("en", "cs"),
    )
    assert found == ["firefox:encs"]


def test_newer_field_names(server):
    records, content = firefox_records("en", "de")
    for record in records:
        record["sourceLanguage"], record["targetLanguage"] = record.pop("fromLang"), record.pop("toLang")
    assert names(server, (records, content)) == ["firefox:ende"]


def test_what_is_shown_cannot_move_the_cursor(server):
    records, content = firefox_records("en", "de", "\x1b[2J", architecture="ti\x1bny")
    newer, more = firefox_records("en", "de", "1.0")
    found = models(server, serve_firefox(server, (records, content), (newer, more)))
    shown = "".join(entry.name + entry.version + entry.architecture for entry in found.values())
    assert list(found) == ["firefox:ende", "firefox:ende@2J"] and shown.isprintable()


def test_zstd_is_refused_by_name(server):
    records, content = firefox_records("en", "de")
    records[0]["attachment"]["filename"] += ".zst"
    with pytest.raises(CpunmtError, match="packed with zstd, which is not supported; use the collection"):
        names(server, (records, content))


def test_locations_cannot_leave_the_server(server):
    records, content = firefox_records("en", "de")
    records[0]["attachment"]["location"] = "//evil.example/../x y?z#w"
    (entry,) = models(server, serve_firefox(server, (records, content))).values()
    urls = {file.path: file.url for file in entry.files}
    assert urls["model.ende.intgemm.alphas.bin"] == f"{server.url}/cdn/evil.example/../x%20y%3Fz%23w"


def test_models_json(server):
    files = {"model.ende.intgemm.alphas.bin": b"model", "lex.50.50.ende.s2t.bin": b"lex", "vocab.ende.spm": b"vocab"}
    split = {"model.enja.intgemm.alphas.bin": b"m", "srcvocab.enja.spm": b"s", "trgvocab.enja.spm": b"t"}
    url = serve_bucket(
        server,
        {
            "en-de": {
                "tiny": ("Release Android", files),
                "base-memory": ("Release Desktop", files),
                "base": (None, files),
            },
            "en-fr": {"tiny": ("Release", files), "base-memory": (None, files)},
            "en-it": {"tiny": (None, files), "base-memory": (None, files)},
            "en-ja": {"base": ("Release", split)},
            "en-zh_hant": {"base-memory": ("Release", split)},
            "en-nl": {"tiny": ("Release", {"model.ennl.intgemm.alphas.bin": b"no vocabulary"})},
        },
    )
    found = models(server, url)
    chosen = {name: entry.architecture for name, entry in found.items() if "@" not in name}
    assert chosen == {
        "firefox:ende": "base-memory",
        "firefox:enfr": "tiny",
        "firefox:enit": "base-memory",
        "firefox:enja": "base",
        "firefox:enzh_hant": "base-memory",
    }
    assert {"firefox:ende@tiny", "firefox:ende@base", "firefox:enfr@base-memory"} < set(found)
    entry = found["firefox:ende"]
    assert entry.size is None and {file.size for file in entry.files} == {None}
    assert [file.path for file in entry.files] == [
        "lex.50.50.ende.s2t.bin.gz",
        "model.ende.intgemm.alphas.bin.gz",
        "vocab.ende.spm.gz",
    ]
    assert [file.unpacked_sha256 for file in entry.files] == [None, sha256(b"model"), None]
    assert all(file.url.removeprefix(server.url) in server.content for file in entry.files)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"<html>", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "a JSON list, expected a registry"),
        (b"{}", "expected a registry of Firefox's models"),
        (b'{"data": {}}', "expected a registry of Firefox's models"),
        (b'{"models": []}', "expected a registry of Firefox's models"),
        (b'{"models": {}}', "baseUrl is missing"),
    ],
)
def test_other_documents(server, content, message):
    url = serve_firefox(server)
    server.content[COLLECTION] = content
    with pytest.raises(CpunmtError, match=f"^{url}: .*{message}"):
        models(server, url)


@pytest.mark.parametrize(
    "root", [b"{}", b'{"capabilities": []}', b'{"capabilities": {"attachments": {"base_url": 1}}}']
)
def test_a_server_without_attachments(server, root):
    url = serve_firefox(server, firefox_records("en", "de"))
    server.content["/v1/"] = root
    with pytest.raises(CpunmtError, match=r"/v1/: capabilities.attachments.base_url is missing"):
        models(server, url)


def test_remote_settings_elsewhere_than_under_v1():
    with pytest.raises(CpunmtError, match="expected /v1/ in the address"):
        firefox.list_models("https://example.org/records", lambda url: b'{"data": []}')


RECORDS = {"data": firefox_records("en", "de")[0] + firefox_records("en", "de", "2.0", expression=DESKTOP)[0]}
BUCKET = {
    "baseUrl": "https://example.org",
    "models": {
        "en-de": [
            {
                "architecture": "tiny",
                "releaseStatus": "Release",
                "sourceLanguage": "en",
                "targetLanguage": "de",
                "files": {"model": {"path": "a/m.gz", "uncompressedHash": "0" * 64}, "vocab": {"path": "a/v.gz"}},
            }
        ]
    },
}


@given(data=st.data(), value=ANYTHING, document=st.sampled_from([RECORDS, BUCKET]))
def test_any_value_anywhere_is_one_error_or_a_shorter_list(data, value, document):
    path = data.draw(st.sampled_from(list(paths_of(document))))
    content = json.dumps(replaced(document, path, value)).encode()
    root = b'{"capabilities": {"attachments": {"base_url": "https://example.org/"}}}'
    try:
        entries = firefox.list_models("https://a.b/v1/x", lambda url: root if url.endswith("/v1/") else content)
    except CpunmtError:
        return
    assert all(len(entry.files) >= 2 and entry.name.startswith("firefox:") for entry in entries)
