"""Mozilla's three registries, the newest first: each alone, and in all orders of failure."""

import itertools
import json
import socket

import pytest

from cpunmt.files.input_files import zstd_module
from cpunmt.registry import catalogue, connection, firefox, store
from tests.registry.command import run
from tests.registry.http_server import Fault
from tests.registry.shapes import (
    COLLECTION,
    COLLECTION_V2,
    PLAN,
    firefox_records,
    firefox_records_v2,
    noise,
    serve_bucket,
    serve_firefox,
    sha256,
)
from tests.support.speeds import slow_after

PATHS = {"v2": COLLECTION_V2, "v1": COLLECTION, "bucket": "/db/models.json"}
VERSIONS = {"v2": "3.0", "v1": "2.0", "bucket": ""}
BUCKET_FILES = {pattern.format("ende"): noise(f"bucket {kind}", 2000) for kind, pattern in PLAN.items()}
FILES = sorted([*BUCKET_FILES, "metadata.json"])


def not_found(server, path):
    del server.content[path]


def failing(server, path):
    server.faults[path] = [Fault(status=500)]


def login_page(server, path):
    server.content[path] = b"<html>Welcome to our network</html>"


def empty(server, path):
    document = json.loads(server.content[path])
    server.content[path] = json.dumps(
        {**document, "data": []} if "data" in document else {**document, "models": {}}
    ).encode()


def other_shape(server, path):
    server.content[path] = b'{"data": {"en-de": []}, "models": [{}]}'


def records_of_another_kind(server, path):
    document = json.loads(server.content[path])
    if "data" in document:
        document["data"] = [{"id": record["id"], "files": 3} for record in document["data"]]
    else:
        document["models"] = {"en-de": [{"architecture": ["tiny"], "files": []}]}
    server.content[path] = json.dumps(document).encode()


def broken(server, path):
    server.faults[path] = [Fault(break_after=3)]


def redirecting(location):
    def breaks(server, path):
        server.faults[path] = [Fault(status=302, headers={"Location": location})]

    return breaks


FAILURES = {
    "404": (not_found, "the server answers 404"),
    "500": (failing, "the server answers 500 Internal Server Error, 2 times in a row"),
    "not JSON": (login_page, "not valid JSON"),
    "empty list": (empty, "lists no models"),
    "other shape": (other_shape, "expected a registry"),
    "other records": (records_of_another_kind, "lists no models"),
    "reset": (broken, "2 times in a row"),
    "to no address": (redirecting("http://[::1"), "redirects to 'http://[::1', which is not a URL"),
    "to no host": (redirecting("//["), "redirects to '//[', which is not a URL"),
    "to a bad host": (redirecting("http://[bad]/"), "redirects to 'http://[bad]/', which is not a URL"),
    "to a file": (redirecting("file:///etc/passwd"), "refused, expected https:// and a host"),
}


PAIRS = list(itertools.permutations(FAILURES.values(), 2))
ALIVE = [{"bucket"}, {"v1"}, {"v2"}, {"v2", "v1"}, {"v2", "bucket"}]


@pytest.fixture
def registries(server, monkeypatch):
    """Serves all three, each with a model of its own version; returns {name: URL}."""
    urls = {
        "v1": serve_firefox(server, firefox_records("en", "de", "2.0"), firefox_records("en", "de", "1.0")),
        "v2": serve_firefox(server, firefox_records_v2("en", "de"), collection=COLLECTION_V2),
        "bucket": serve_bucket(server, {"en-de": {"base-memory": ("Release", BUCKET_FILES)}}),
    }
    monkeypatch.delenv("CPUNMT_FIREFOX_REGISTRY")
    monkeypatch.setattr(firefox, "REGISTRIES", tuple(urls[name] for name in PATHS))
    return urls


def asked(server) -> list[str]:
    """Returns the requested registries, in order."""
    names = {path: name for name, path in PATHS.items()}
    return [name for name, _ in itertools.groupby(names[path] for path in server.paths() if path in names)]


def fallen_back(shown) -> list[str]:
    return [line for line in shown.splitlines() if "cannot be read" in line]


def test_the_addresses_are_mozillas():
    first, second, third = firefox.REGISTRIES
    assert first.endswith("/translations-models-v2/records") and second.endswith("/translations-models/records")
    assert third.endswith("-translations-data/db/models.json") and all(
        url.startswith("https://") for url in (first, third)
    )


def test_the_newest_is_enough(server, registries, capsys):
    assert run(["fetch", "firefox:ende"]) == 0
    assert asked(server) == ["v2"]
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "fetching firefox:ende: 3 files" in shown
    path = store.find("firefox:ende")
    assert sorted(file.name for file in path.iterdir()) == FILES
    records, attachments = firefox_records_v2("en", "de")
    for record in records:
        content = (path / record["name"]).read_bytes()
        assert (len(content), sha256(content)) == (record["decompressedSize"], record["decompressedHash"])
        assert zstd_module().decompress(attachments[record["attachment"]["location"]]) == content
    metadata = json.loads(text := (path / "metadata.json").read_text())
    assert text == json.dumps(metadata, indent=2) + "\n"
    assert (metadata["version"], metadata["architecture"]) == ("3.0", "base-memory")
    assert metadata["registry"] == registries["v2"]
    assert list(store.models_folder().glob("firefox/.*")) == []


@pytest.mark.parametrize(
    ("failure", "alive"),
    # the newest is gone; then any are, in any way
    slow_after(len(FAILURES), [*itertools.product(FAILURES, [{"v1", "bucket"}]), *itertools.product(FAILURES, ALIVE)]),
    ids=lambda value: value if isinstance(value, str) else "+".join(sorted(value)),
)
def test_any_of_them_may_disappear(server, registries, capsys, alive, failure):
    breaks, reason = FAILURES[failure]
    for name in PATHS:
        if name not in alive:
            breaks(server, PATHS[name])
    assert run(["fetch", "firefox:ende"]) == 0
    order = list(PATHS)
    first = next(name for name in order if name in alive)
    before = order[: order.index(first)]
    assert asked(server) == [*before, first]
    shown = capsys.readouterr().err
    told = fallen_back(shown)
    assert len(told) == len(before)
    for name, line in zip(before, told, strict=True):
        following = registries[order[order.index(name) + 1]]
        assert line.startswith(f"cpunmt: {registries[name]} cannot be read (") and reason in line
        assert line.endswith(f"); trying {following}")
    assert (store.installed()[0].metadata["version"] or "") == VERSIONS[first]
    path = store.find("firefox:ende")
    assert sorted(file.name for file in path.iterdir()) == FILES  # unpacked, whichever it was


@pytest.mark.parametrize("failure", slow_after(3, ["empty list", "404", "reset", *FAILURES]))
def test_all_of_them_have_disappeared(server, registries, capsys, failure):
    breaks, reason = FAILURES[failure]
    for path in PATHS.values():
        breaks(server, path)
    assert run(["fetch", "firefox:ende"]) == 1
    shown = capsys.readouterr().err
    assert asked(server) == list(PATHS) and len(fallen_back(shown)) == 2
    if "no model" in reason:
        assert shown.endswith("cpunmt: error: no model is called firefox:ende; see cpunmt ls\n")
    else:
        assert shown.splitlines()[-1].startswith(f"cpunmt: error: {registries['bucket']}: ")
        assert ("5 times in a row" in shown) == ("2 times in a row" in reason)  # the last address has no alternative
    assert store.installed() == [] and not any(store.models_folder().rglob("*"))


@pytest.mark.parametrize("pairs", slow_after(1, [PAIRS[::20], PAIRS]), ids=len)
def test_failures_of_different_kinds(server, registries, capsys, pairs):
    for (v2, _), (v1, _) in pairs:
        with pytest.MonkeyPatch.context() as changed:
            changed.setattr(server, "content", dict(server.content))
            changed.setattr(server, "faults", {})
            v2(server, PATHS["v2"])
            v1(server, PATHS["v1"])
            said = []
            (entry,) = catalogue.list_models("firefox", said.append)
            assert (entry.name, entry.registry) == ("firefox:ende", registries["bucket"])
            assert len([line for line in said if "cannot be read" in line]) == 2


@pytest.mark.parametrize("digits", ["1" + "0" * 400, "9" * 4300, str((1 << 53) + 1)], ids=len)
@pytest.mark.parametrize("command", [["ls", "firefox:"], ["fetch", "firefox:ende"]])
def test_sizes_that_no_file_has(server, registries, capsys, digits, command):
    document = json.loads(server.content[COLLECTION_V2])
    for record in document["data"]:
        record["attachment"]["size"] = "SIZE"
    server.content[COLLECTION_V2] = json.dumps(document).replace('"SIZE"', digits).encode()
    assert run(command) == 0
    assert asked(server) == ["v2", "v1"] and len(fallen_back(capsys.readouterr().err)) == 1


@pytest.mark.parametrize("error", [OverflowError("too large"), ValueError("odd"), ZeroDivisionError()])
def test_content_that_the_reader_does_not_survive(server, registries, capsys, monkeypatch, error):
    """A hypothetical error of the reader must not keep the others from being tried."""
    read = firefox.list_models

    def fails(url, fetch):
        if url == registries["v2"]:
            raise error
        return read(url, fetch)

    monkeypatch.setattr(firefox, "list_models", fails)
    assert run(["fetch", "firefox:ende"]) == 0
    (line,) = fallen_back(capsys.readouterr().err)
    assert f"(not understood ({error})" in line


def remove_attachments(server, *collections):
    for collection in collections:
        for record in json.loads(server.content[collection])["data"]:
            server.content.pop(f"/cdn/{record['attachment']['location']}", None)


def test_files_that_are_listed_and_gone_come_from_the_next(server, registries, capsys):
    remove_attachments(server, COLLECTION_V2)
    assert run(["fetch", "firefox:ende"]) == 0
    shown = capsys.readouterr().err
    (line,) = [line for line in shown.splitlines() if "answers 404" in line]
    assert "; its registry names it, but its server does not give it; trying " + registries["v1"] in line
    assert asked(server) == ["v2", "v1"] and store.installed()[0].metadata["version"] == "2.0"
    assert list(store.models_folder().glob("firefox/.*")) == []


def test_files_that_are_gone_in_two_registries(server, registries, capsys):
    remove_attachments(server, COLLECTION_V2, COLLECTION)
    assert run(["fetch", "firefox:ende"]) == 0
    assert asked(server) == list(PATHS) and store.installed()[0].metadata["version"] is None
    assert capsys.readouterr().err.count("answers 404") == 2


def test_files_that_are_gone_everywhere(server, registries, capsys):
    remove_attachments(server, COLLECTION_V2, COLLECTION)
    for path in [path for path in server.content if path.startswith("/bucket/")]:
        del server.content[path]
    assert run(["fetch", "firefox:ende"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("cpunmt: error: ") and "its server does not give it" in last
    assert list(store.models_folder().glob("firefox/.*")) == []


def test_files_that_are_gone_from_the_one_that_the_variable_names(server, registries, monkeypatch):
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", registries["v2"])
    remove_attachments(server, COLLECTION_V2)
    assert run(["fetch", "firefox:ende"]) == 1 and asked(server) == ["v2"]


@pytest.mark.parametrize("name", ["firefox:enis", "firefox:en-is"])
def test_languages_that_only_an_older_registry_has(server, registries, capsys, name):
    serve_firefox(server, firefox_records("en", "de", "2.0"), firefox_records("en", "is", "2.0"))
    assert run(["fetch", name]) == 0
    assert asked(server) == ["v2", "v1"] and fallen_back(capsys.readouterr().err) == []
    assert [model.name for model in store.installed()] == ["firefox:enis"]


def test_no_server_at_all(server, registries, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        unreachable = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/records"
    monkeypatch.setattr(firefox, "REGISTRIES", (unreachable, registries["v1"], registries["bucket"]))
    assert run(["ls", "firefox:"]) == 0
    output, shown = capsys.readouterr()
    assert "firefox:ende" in output and len(fallen_back(shown)) == 1
    assert "Connection refused, 2 times in a row); trying" in shown
    monkeypatch.setattr(firefox, "REGISTRIES", (unreachable,) * 3)
    assert run(["ls", "firefox:"]) == 1


@pytest.mark.parametrize("works", [True, False])
def test_a_host_that_is_not_found_is_reported_once(server, registries, monkeypatch, said, works):
    nowhere, v2, v1 = "https://a.invalid/v1/records", registries["v2"], registries["v1"]
    monkeypatch.setattr(firefox, "REGISTRIES", (nowhere, v2, v1))
    if not works:
        not_found(server, COLLECTION_V2)
    assert catalogue.list_models("firefox", said.append)[0].registry == (v2 if works else v1)
    assert said[0] == f"{nowhere} cannot be read (host not found); trying {v2}"
    assert [line.partition(" cannot")[0] for line in said[1:]] == ([] if works else [v2])


def test_no_other_address_has_the_model(server, registries, said):
    (entry,) = catalogue.list_models("firefox", said.append)
    not_found(server, COLLECTION)
    not_found(server, PATHS["bucket"])
    assert catalogue.elsewhere(entry, said.append) is None
    assert len(said) == 2 and said[1].startswith(f"{registries['bucket']}: the server answers 404")


def test_the_root_document_of_remote_settings_may_be_gone(server, registries, capsys):
    del server.content["/v1/"]
    assert run(["fetch", "firefox:ende"]) == 0
    assert asked(server) == list(PATHS) and len(fallen_back(capsys.readouterr().err)) == 2


def test_offline_none_is_asked(server, registries, monkeypatch, capsys):
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    assert run(["fetch", "firefox:ende"]) == 1
    shown = capsys.readouterr().err
    assert server.requests == [] and shown.count("\n") == 1 and "CPUNMT_OFFLINE is set" in shown


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("works", [True, False])
def test_the_variable_means_one_and_no_other(server, registries, monkeypatch, name, works):
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", registries[name])
    if not works:
        not_found(server, PATHS[name])
    assert run(["fetch", "firefox:ende"]) == (0 if works else 1)
    assert asked(server) == [name]


def test_an_older_release_is_found_where_it_still_is(server, registries, capsys):
    assert run(["fetch", "firefox:ende@1.0"]) == 0
    assert asked(server) == ["v2", "v1"] and fallen_back(capsys.readouterr().err) == []
    assert [model.metadata["version"] for model in store.installed()] == ["1.0"]
    assert run(["fetch", "firefox:ende@7.0"]) == 1
    assert "no model is called firefox:ende@7.0" in capsys.readouterr().err


def test_nothing_is_left_of_a_model_that_is_wrong(server, registries, capsys):
    """A wrong digest of the content, the size of a bomb; then the same model, correct."""
    good = server.content[COLLECTION_V2]
    records = json.loads(good)
    for record in records["data"]:
        record["decompressedHash"] = "0" * 64
    server.content[COLLECTION_V2] = json.dumps(records).encode()
    assert run(["fetch", "firefox:ende"]) == 1
    assert "the unpacked SHA-256 is" in capsys.readouterr().err and store.installed() == []
    records = json.loads(good)
    bomb = zstd_module().compress(bytes(64 << 20))
    for record in records["data"]:
        record["attachment"] |= {"hash": sha256(bomb), "size": len(bomb)}
        server.content[f"/cdn/{record['attachment']['location']}"] = bomb
    server.content[COLLECTION_V2] = json.dumps(records).encode()
    assert run(["fetch", "firefox:ende"]) == 1
    assert "expands to more than" in capsys.readouterr().err and store.installed() == []
    left = [path for path in store.models_folder().rglob("*") if path.is_file() and path.name != ".plan.json"]
    assert left == []
    for location, content in firefox_records_v2("en", "de")[1].items():
        server.content[f"/cdn/{location}"] = content
    server.content[COLLECTION_V2] = good
    assert run(["fetch", "firefox:ende"]) == 0
    assert list(store.models_folder().glob("firefox/.*")) == []


def test_what_was_interrupted_is_continued(server, registries, monkeypatch, capsys):
    monkeypatch.setattr(connection, "ATTEMPTS", 1)
    serve_firefox(server, found := firefox_records_v2("en", "de", size=300_000), collection=COLLECTION_V2)
    path = f"/cdn/{found[0][0]['attachment']['location']}"
    server.faults[path] = [Fault(break_after=100_000), None]
    assert run(["fetch", "firefox:ende"]) == 1
    server.requests.clear()
    assert run(["fetch", "firefox:ende"]) == 0
    assert [r.headers.get("Range") for r in server.requests if r.path == path] == ["bytes=100000-"]
    content = (store.find("firefox:ende") / found[0][0]["name"]).read_bytes()
    assert sha256(content) == found[0][0]["decompressedHash"]
