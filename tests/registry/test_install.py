"""A model appears whole, or not at all."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import threading

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import entries, firefox, huggingface, opus, store
from cpunmt.registry.connection import fetch_document
from cpunmt.registry.install import install
from tests.registry.http_server import Fault
from tests.registry.shapes import (
    HUB_FILES,
    OPUS_FILES,
    firefox_records,
    noise,
    serve_bucket,
    serve_firefox,
    serve_hub,
    serve_opus,
    sha256,
    zipped,
)
from tests.support.command_line import ROOT


def fetch(url):
    return fetch_document(url, lambda text: None)


def run(entry, said=None, **settings):
    said = [] if said is None else said
    return install(entry, on_bytes=lambda count: None, say=said.append, **settings)


PAGE = b"<html>Welcome to our network</html>"


def one_model(server, version="1.0", **settings):
    return firefox.list_models(serve_firefox(server, firefox_records("en", "de", version, **settings)), fetch)[0]


def tree(folder) -> list[str]:
    """Returns every file and empty folder below a folder."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() or not any(path.iterdir())
    )


def model_path(server, entry) -> str:
    return entry.files[1].url.removeprefix(server.url)


FILES = ["lex.50.50.ende.s2t.bin", "metadata.json", "model.ende.intgemm.alphas.bin", "vocab.ende.spm"]


def test_a_firefox_model(server):
    entry = one_model(server)
    path = run(entry)
    assert path == store.find("firefox:ende") == store.models_folder() / "firefox" / "ende"
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]
    metadata = json.loads((path / "metadata.json").read_text("utf-8"))
    assert metadata["name"] == "firefox:ende" and metadata["registry"] == entry.registry
    assert (metadata["sourceLanguage"], metadata["targetLanguage"]) == ("en", "de")
    assert (metadata["version"], metadata["licence"], metadata["architecture"]) == ("1.0", None, None)
    assert sorted(metadata["files"]) == [name for name in FILES if name != "metadata.json"]
    for file, download in zip(entry.files, metadata["downloads"], strict=True):
        content = (path / file.path).read_bytes()
        assert content == server.content[file.url.removeprefix(server.url)]
        assert download == {"url": file.url, "size": len(content), "sha256": sha256(content)}
        assert metadata["files"][file.path] == {"size": len(content), "sha256": sha256(content)}


def test_a_model_of_the_bucket(server):
    content = {name: noise(name, 500) for name in FILES if name != "metadata.json"}
    url = serve_bucket(server, {"en-de": {"base-memory": ("Release", content)}})
    path = run(firefox.list_models(url, fetch)[0])
    assert tree(path) == sorted([*content, "metadata.json"])
    assert store.installed()[0].metadata["architecture"] == "base-memory"


def test_an_opus_model(server):
    url = serve_opus(server, {"en-de/opus-2020-02-26.zip": zipped(OPUS_FILES)})
    path = run(opus.list_models(url, fetch)[0])
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.name != "metadata.json"} == OPUS_FILES
    assert tree(store.models_folder()) == sorted(f"opus/en-de/{name}" for name in [*OPUS_FILES, "metadata.json"])
    metadata = store.installed()[0].metadata
    assert metadata["files"]["LICENSE"] == {"size": 10, "sha256": sha256(OPUS_FILES["LICENSE"])}
    assert [download["sha256"] for download in metadata["downloads"]] == [sha256(zipped(OPUS_FILES))]


def test_a_model_of_the_hub(server):
    hub = serve_hub(server, "Helsinki-NLP/opus-mt-en-de")
    path = run(huggingface.find_model("Helsinki-NLP/opus-mt-en-de", hub, fetch))
    assert path == store.find("hf:Helsinki-NLP/opus-mt-en-de")
    assert (path / "model.safetensors").read_bytes() == HUB_FILES["model.safetensors"]
    assert not (path / "pytorch_model.bin").exists()
    assert store.installed()[0].metadata["licence"] == "cc-by-4.0"


def test_what_is_there_stays(server):
    entry = one_model(server)
    path = run(entry)
    (path / "vocab.ende.spm").write_bytes(b"mine")
    server.requests.clear()
    assert run(entry) == path
    assert (path / "vocab.ende.spm").read_bytes() == b"mine" and server.requests == []


def test_by_force_it_is_replaced(server):
    path = run(one_model(server))
    (path / "mine").write_bytes(b"")
    assert run(one_model(server, "2.0"), force=True) == path
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]
    assert store.installed()[0].metadata["version"] == "2.0"


def test_by_force_and_in_vain_the_old_one_stays(server):
    path = run(one_model(server))
    entry = one_model(server, "2.0")
    server.faults[model_path(server, entry)] = [Fault(content=bytes(3000))]
    with pytest.raises(CpunmtError, match="SHA-256"):
        run(entry, force=True)
    assert store.installed()[0].metadata["version"] == "1.0" and tree(path) == FILES


def test_a_failure_shows_nothing_and_the_next_run_goes_on(server):
    entry = one_model(server)
    server.faults[model_path(server, entry)] = [Fault(break_after=1000), Fault(status=500)]
    with pytest.raises(CpunmtError, match="500"):
        run(entry)
    assert store.installed() == [] and not store.folder_of("firefox:ende").exists()
    part = store.models_folder() / "firefox" / ".ende.part"
    assert (part / "model.ende.intgemm.alphas.bin.part").stat().st_size == 1000
    server.faults.clear()
    server.requests.clear()
    run(entry)
    asked = [(request.path, request.headers.get("Range")) for request in server.requests]
    assert asked[0] == (model_path(server, entry), "bytes=1000-") and len(asked) == 2  # the shortlist was there
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]


def test_a_rest_of_another_version_is_dropped(server):
    entry = one_model(server)
    server.faults[model_path(server, entry)] = [Fault(break_after=1000), Fault(status=404)]
    with pytest.raises(CpunmtError, match="404"):
        run(entry)
    server.requests.clear()
    path = run(one_model(server, "2.0"))
    assert [request.headers.get("Range") for request in server.requests] == [None] * 5
    assert tree(path) == FILES


@pytest.mark.parametrize("plan", [b"\xff\xfe", b"", b"{}", None])
def test_a_damaged_rest_is_dropped(server, plan):
    """None: no folder in its place, but a file."""
    part = store.models_folder() / "firefox" / ".ende.part"
    if plan is None:
        part.parent.mkdir(parents=True)
        part.write_bytes(b"")
    else:
        part.mkdir(parents=True)
        (part / ".plan.json").write_bytes(plan)
        (part / "model.ende.intgemm.alphas.bin.part").write_bytes(b"?")
    run(one_model(server))
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]


def test_a_rest_with_nothing_in_it_does_not_stay(server):
    entry = one_model(server)
    for fault in (Fault(status=404), Fault(content=PAGE), Fault(announce=entries.LARGEST_MODEL + 1)):
        for file in entry.files:
            server.faults[file.url.removeprefix(server.url)] = [fault]
        with pytest.raises(CpunmtError):
            run(entry)
        assert list((store.models_folder() / "firefox").iterdir()) == []
    first = dataclasses.replace(entry.files[0], url="http://mirror.example/x")
    with pytest.raises(CpunmtError, match="refused, expected https"):
        run(dataclasses.replace(entry, files=(first, *entry.files[1:])))
    assert list((store.models_folder() / "firefox").iterdir()) == []


@pytest.mark.parametrize("force", [False, True])
def test_a_link_to_nowhere_is_seen_before_anything_is_fetched(server, force):
    target = store.folder_of("firefox:ende")
    target.parent.mkdir(parents=True)
    target.symlink_to("nowhere")
    with pytest.raises(CpunmtError, match="exists and is not a fetched model; it stays"):
        run(one_model(server), force=force)
    assert target.is_symlink() and not any("/cdn/" in path for path in server.paths())


def test_a_link_to_a_model_is_a_model(server, tmp_path):
    path = run(one_model(server))
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert run(one_model(server)) == path and path.is_symlink()
    assert run(one_model(server, "2.0"), force=True) == path and not path.is_symlink()
    assert tree(tmp_path / "elsewhere") == tree(path) == FILES  # only the link was replaced
    assert store.installed()[0].metadata["version"] == "2.0"


def test_a_broken_archive_is_fetched_again(server):
    url = serve_opus(server, {"en-de/opus-2020-02-26.zip": zipped(OPUS_FILES)})
    entry = opus.list_models(url, fetch)[0]
    path = entry.files[0].url.removeprefix(server.url)
    server.faults[path] = [Fault(content=zipped({**OPUS_FILES, "../evil": b""})), None]
    with pytest.raises(CpunmtError, match=f"^opus:en-de: {entry.files[0].url}: file name '../evil' is refused"):
        run(entry)
    assert store.installed() == [] and not list(store.models_folder().rglob("evil"))
    run(entry)
    assert len(store.installed()) == 1


def test_unsafe_names_are_refused_before_anything_is_fetched(server):
    entry = one_model(server)
    for name in ("../evil", "/tmp/evil", "a\\b", "nul"):
        file = dataclasses.replace(entry.files[0], path=name)
        with pytest.raises(CpunmtError, match="firefox:ende: file name .* is refused"):
            run(dataclasses.replace(entry, files=(*entry.files[1:], file)))
    assert not store.models_folder().exists() and not any("/cdn/" in path for path in server.paths())


def test_more_than_the_disk_has(server, monkeypatch):
    monkeypatch.setattr(entries, "LARGEST_FILES", 1 << 62)
    entry = one_model(server)
    entry = dataclasses.replace(entry, files=(dataclasses.replace(entry.files[0], size=1 << 60),))
    with pytest.raises(CpunmtError, match=rf"firefox:ende needs {1 << 60} more bytes in .*, which has \d+"):
        run(entry)
    assert not any("/cdn/" in path for path in server.paths())


@pytest.mark.parametrize("lacking", [0, 1])
def test_what_is_there_already_needs_no_room(server, monkeypatch, lacking):
    """The rest of a model fits on a disk with exactly as many bytes, and not with one less."""
    entry = one_model(server)
    server.faults[entry.files[-1].url.removeprefix(server.url)] = [Fault(status=404), None]
    with pytest.raises(CpunmtError):
        run(entry)
    part = next(store.models_folder().glob("*/.*.part"))
    here = sum((part / file.path).stat().st_size for file in entry.files[:-1])
    assert here
    free = (entry.size or 0) + entry.unpacked_size - here - lacking
    usage = shutil.disk_usage(part)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    if lacking:
        with pytest.raises(CpunmtError, match=f"needs {free + 1} more bytes in .*, which has {free}; make room"):
            run(entry)
    else:
        assert run(entry) == store.find(entry.name)


def test_something_else_in_the_way_is_not_touched(server):
    target = store.folder_of("firefox:ende")
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("all of it")
    for force in (False, True):
        with pytest.raises(CpunmtError, match="exists and is not a fetched model; it stays"):
            run(one_model(server), force=force)
    assert (target / "thesis.txt").read_text() == "all of it"


def test_a_login_page_in_place_of_what_has_no_digest(server):
    """In the bucket, only the model has one."""
    content = {name: noise(name, 500) for name in FILES if name != "metadata.json"}
    (entry,) = firefox.list_models(serve_bucket(server, {"en-de": {"tiny": ("Release", content)}}), fetch)
    for path in [path for path in server.content if "/lex" in path or "/vocab" in path]:
        server.faults[path] = [Fault(content=PAGE + b"\t\n\v\f\r")]  # all white space is text
    with pytest.raises(CpunmtError, match="it is text or empty, expected a model's binary file: is it a page for log"):
        run(entry)
    assert store.installed() == []


def test_a_file_in_place_of_the_folder(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "file"))
    with pytest.raises(CpunmtError, match="Not a directory; check the folder or set CPUNMT_MODELS_DIR"):
        run(one_model(server))


def test_a_process_that_ended_between_the_two_renames(server):
    path = run(one_model(server))
    os.replace(path, path.with_name(".ende.old"))
    server.requests.clear()
    assert run(one_model(server)) == path
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]
    assert not any("/cdn/" in asked for asked in server.paths())


def test_two_at_once(server):
    """The second waits for the first, and finds the model there."""
    entry = one_model(server)
    gate = threading.Event()
    server.faults[model_path(server, entry)] = [Fault(hold=gate)]
    ended, told = [], threading.Event()

    def work():
        ended.append(install(entry, on_bytes=lambda count: None, say=lambda text: told.set()))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert told.wait(20)  # that it waits for another
    gate.set()
    for thread in threads:
        thread.join(20)
    assert ended == [store.find("firefox:ende")] * 2
    assert len([path for path in server.paths() if path == model_path(server, entry)]) == 1
    assert tree(store.models_folder()) == [f"firefox/ende/{name}" for name in FILES]


def test_one_that_is_killed_leaves_the_other_to_go_on(server):
    entry = one_model(server)
    gate = threading.Event()
    server.faults[model_path(server, entry)] = [Fault(hold=gate), None]
    code = f"""
from cpunmt.registry.install import install
from cpunmt.registry.entries import ModelEntry, RemoteFile
install({entry!r}, on_bytes=lambda count: None, say=print)
"""
    other = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while model_path(server, entry) not in server.paths():
        assert other.poll() is None
    said = []

    def work():
        run(entry, said)

    thread = threading.Thread(target=work)
    thread.start()
    while not said:
        assert thread.is_alive()
    other.kill()
    other.wait()
    thread.join(20)
    gate.set()
    assert tree(store.find("firefox:ende")) == FILES
