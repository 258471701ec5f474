"""Both forms of the registry of Firefox's models, whole, incomplete and broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import zstd_module
from cpunmt.registry import firefox
from cpunmt.registry.documents import is_language, is_size
from tests.registry.broken_json import ANYTHING, paths_of, replaced
from tests.registry.shapes import (
    COLLECTION,
    COLLECTION_V2,
    PLAN,
    SPLIT,
    firefox_records,
    firefox_records_v2,
    serve_bucket,
    serve_firefox,
    sha256,
)

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


def test_a_model_of_the_second_collection(server):
    records, attachments = firefox_records_v2("en", "de")
    url = serve_firefox(server, (records, attachments), collection=COLLECTION_V2)
    (entry,) = models(server, url).values()
    assert (entry.name, entry.version, entry.architecture) == ("firefox:ende", "3.0", "base-memory")
    assert [file.path for file in entry.files] == [f"{PLAN[kind].format('ende')}.zst" for kind in sorted(PLAN)]
    for file in entry.files:
        packed = server.content[file.url.removeprefix(server.url)]
        content = zstd_module().decompress(packed)
        assert (file.size, file.sha256) == (len(packed), sha256(packed))
        assert (file.unpacked_size, file.unpacked_sha256) == (len(content), sha256(content))
    assert entry.size == sum(map(len, attachments.values())) and entry.unpacked_size == 3600


def test_names_of_the_second_collection(server):
    """By the filters of its records: a model for desktops, one for Android, one for nightlies."""
    nightly = "env.channel == 'default' || env.channel == 'nightly'"
    url = serve_firefox(
        server,
        firefox_records_v2("en", "de", architecture="tiny", expression=ANDROID),
        firefox_records_v2("en", "de", architecture="base-memory", expression=DESKTOP),
        firefox_records_v2("en", "de", "3.1", architecture="base", expression=nightly),
        firefox_records_v2("en", "fr", architecture="tiny"),
        firefox_records_v2("en", "fr", architecture="base-memory"),
        firefox_records_v2("en", "fr", "3.0a1", architecture="base"),
        collection=COLLECTION_V2,
    )
    found = {name: (entry.version, entry.architecture) for name, entry in models(server, url).items()}
    assert found == {
        "firefox:ende": ("3.0", "base-memory"),
        "firefox:ende@3.0-android": ("3.0", "tiny"),
        "firefox:ende@3.1-nightly": ("3.1", "base"),
        "firefox:enfr": ("3.0", "base-memory"),
        "firefox:enfr@3.0-tiny": ("3.0", "tiny"),
        "firefox:enfr@3.0a1": ("3.0a1", "base"),
    }


def test_files_of_two_architectures_are_not_mixed(server):
    """One version, for the same audience: only the architecture differs."""
    found = [firefox_records_v2("en", "de", architecture=size) for size in ("tiny", "base-memory", "base")]
    entries = models(server, serve_firefox(server, *found, collection=COLLECTION_V2))
    assert list(entries) == ["firefox:ende", "firefox:ende@3.0-base-memory", "firefox:ende@3.0-tiny"]
    for entry, (records, _) in zip(entries.values(), (found[2], found[1], found[0]), strict=True):
        assert {file.sha256 for file in entry.files} == {record["attachment"]["hash"] for record in records}


def test_a_variant_has_files_of_its_own(server):
    plain_records, plain_files = firefox_records_v2("en", "de")
    records, files = firefox_records_v2("en", "de", architecture="base")
    for record in records:
        record["variant"] = "formal"
    url = serve_firefox(server, (plain_records, plain_files), (records, files), collection=COLLECTION_V2)
    found = models(server, url)
    assert {name: entry.architecture for name, entry in found.items()} == {
        "firefox:ende": "base-memory",
        "firefox:ende@3.0-formal": "base",
    }
    digests = {file.sha256 for file in found["firefox:ende@3.0-formal"].files}
    assert digests == {record["attachment"]["hash"] for record in records}


def test_a_digest_of_the_content_may_be_absent_but_not_wrong(server):
    records, content = firefox_records_v2("en", "de")
    for record in records:
        del record["decompressedHash"], record["decompressedSize"]
    (entry,) = models(server, serve_firefox(server, (records, content))).values()
    assert {file.unpacked_sha256 for file in entry.files} == {file.unpacked_size for file in entry.files} == {None}
    for key, wrong in (("decompressedHash", "0"), ("decompressedHash", 7), ("decompressedSize", -1)):
        records, content = firefox_records_v2("en", "de")
        records[0][key] = wrong
        assert names(server, (records, content)) == []


def test_a_packed_file_whose_name_does_not_say_so(server):
    records, content = firefox_records_v2("en", "de")
    for record in records:
        record["attachment"]["filename"] = record["name"]
    (entry,) = models(server, serve_firefox(server, (records, content))).values()
    assert all(file.path.endswith(".zst") and file.unpacked_sha256 for file in entry.files)


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
    ("size", "fits"), [(0, True), (-1, False), (1 << 53, True), ((1 << 53) + 1, False), (True, False), ("1", False)]
)
def test_sizes_of_files(size, fits):
    assert is_size(size) == fits


@pytest.mark.parametrize(
    ("code", "fits"), [("de", True), ("zh-Hans", True), ("d", False), ("?", False), ("aa-a-a-a-a", False), (7, False)]
)
def test_codes_of_languages(code, fits):
    assert is_language(code) == fits


@pytest.mark.parametrize("field", ["architecture", "sourceLanguage", "targetLanguage"])
def test_models_json_needs_all_that_makes_a_name(field):
    (model,) = BUCKET["models"]["en-de"]
    document = {**BUCKET, "models": {"en-de": [{**model, field: "?"}]}}
    assert listed({"/x": json.dumps(BUCKET).encode()}, "", "/x")[0].name == "firefox:ende"
    assert listed({"/x": json.dumps(document).encode()}, "", "/x") == []


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("2.1", (True, (2, 1, 0), "")),
        ("3.4.5", (True, (3, 4, 5), "")),
        ("2.0a3", (False, (2, 0, 0), "a3")),
        ("x", (False, (), "")),
    ],
)
def test_versions_are_compared_by_their_numbers(version, key):
    assert firefox._version_key(version) == key


def test_labels_are_cut_and_differ(server):
    long = firefox_records("en", "de", "1" * 41)
    found = names(server, firefox_records("en", "de", "2.0"), long)
    assert found == ["firefox:ende", f"firefox:ende@{'1' * 40}"]
    twice = [firefox_records("en", "de", "1.0", expression=expression) for expression in ("x", "y", "z")]
    assert names(server, firefox_records("en", "de", "2.0"), *twice) == [
        *("firefox:ende", "firefox:ende@1.0-limited", "firefox:ende@1.0-limited-2", "firefox:ende@1.0-limited-3"),
    ]


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
RECORDS_V2 = {"data": firefox_records_v2("en", "de")[0] + firefox_records_v2("en", "de", expression=ANDROID)[0]}
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


@given(data=st.data(), value=ANYTHING, document=st.sampled_from([RECORDS, RECORDS_V2, BUCKET]))
def test_any_value_anywhere_is_one_error_or_a_shorter_list(data, value, document):
    path = data.draw(st.sampled_from(list(paths_of(document))))
    content = json.dumps(replaced(document, path, value)).encode()
    root = b'{"capabilities": {"attachments": {"base_url": "https://example.org/"}}}'
    try:
        entries = firefox.list_models("https://a.b/v1/x", lambda url: root if url.endswith("/v1/") else content)
    except CpunmtError:
        return
    assert all(len(entry.files) >= 2 and entry.name.startswith("firefox:") for entry in entries)
