"""hf: with the library huggingface_hub, in processes of their own: it reads its environment on import."""

import errno
import os
import socket
import types

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import hub as hub_module
from cpunmt.registry import store
from cpunmt.registry.entries import RemoteFile
from tests.registry.command import run, start
from tests.registry.http_server import Fault
from tests.registry.shapes import COMMIT, HUB_FILES, serve_hub, sha256
from tests.support.speeds import slow_after

NAME = "Helsinki-NLP/opus-mt-en-de"
FETCHED = ("config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Sets a home of its own for the library."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "2")
    return tmp_path / "hf"


@pytest.fixture
def hub(server, monkeypatch):
    monkeypatch.setenv("CPUNMT_HF_REGISTRY", serve_hub(server, NAME))
    return server


def fetch(*arguments) -> tuple[int, str, str]:
    process = start("fetch", *arguments)
    output, shown = process.communicate(timeout=120)
    return process.returncode, output, shown


def downloads(server) -> list[str]:
    return [request.path for request in server.requests if request.method == "GET" and "/api/" not in request.path]


def test_a_model(hub, cache):
    status, output, shown = fetch(f"hf:{NAME}")
    path = store.find(f"hf:{NAME}")
    assert (status, output) == (0, f"{path}\n"), shown
    assert shown == f"cpunmt: fetching hf:{NAME}: 5 files, {sum(len(HUB_FILES[n]) for n in FETCHED) / 1e6:.1f} MB\n"
    assert sorted(file.name for file in path.iterdir()) == sorted([*FETCHED, "metadata.json"])
    assert all((path / name).read_bytes() == HUB_FILES[name] for name in FETCHED)
    assert not any("pytorch" in request or "onnx" in request for request in downloads(hub))
    assert hub.requests[0].headers["User-Agent"] == "cpunmt"
    blobs = [file for file in cache.rglob("blobs/*") if file.stat().st_size == 5000]
    assert os.path.samefile(blobs[0], path / "model.safetensors")  # once on the disk


def test_what_its_cache_has_is_not_fetched_again(hub):
    assert fetch(f"hf:{NAME}")[0] == 0
    hub.requests.clear()
    assert fetch("--force", f"hf:{NAME}")[0] == 0
    assert downloads(hub) == []
    assert (store.find(f"hf:{NAME}") / "model.safetensors").read_bytes() == HUB_FILES["model.safetensors"]


def test_its_token_opens_a_gated_model_and_goes_nowhere_else(hub, monkeypatch):
    serve_hub(hub, NAME, gated="manual")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 0, shown
    told = {request.path for request in hub.requests if "hf_secret" in str(request.headers)}
    assert f"/api/models/{NAME}/revision/main?blobs=true" in told and "hf_secret" not in shown
    assert not any("cdn-lfs" in path for path in told)
    assert (store.find(f"hf:{NAME}") / "config.json").is_file()


@pytest.mark.parametrize(
    ("status", "code"), slow_after(1, [(401, "RepoNotFound"), (403, "GatedRepo"), (404, "RepoNotFound")])
)
def test_what_may_not_be_read(hub, status, code):
    path = f"/api/models/{NAME}/revision/main?blobs=true"
    hub.faults[path] = [Fault(status=status, headers={"X-Error-Code": code})]
    found, output, shown = fetch(f"hf:{NAME}")
    assert (found, output) == (1, "") and shown.count("\n") == 1
    assert shown.startswith(f"cpunmt: error: hf:{NAME} is not there, or needs an account (the server answers {status})")
    assert "set HF_TOKEN or run: hf auth login" in shown


def test_content_that_is_not_what_the_description_says(hub):
    """The library trusts received bytes; here they are compared."""
    wrong = HUB_FILES["model.safetensors"][:-1] + b"?"
    hub.content["/cdn-lfs/model.safetensors?signature=1"] = wrong
    status, output, shown = fetch(f"hf:{NAME}")
    assert (status, output) == (1, "")
    assert f"SHA-256 is {sha256(wrong)}, expected {sha256(HUB_FILES['model.safetensors'])}" in shown
    assert store.installed() == []
    hub.content["/cdn-lfs/model.safetensors?signature=1"] = HUB_FILES["model.safetensors"]
    assert fetch(f"hf:{NAME}")[0] == 0  # a wrong file in the cache is fetched again


@pytest.mark.parametrize("name", slow_after(1, ["config.json", "model.safetensors"]))
def test_more_than_the_description_says_does_not_come(hub, cache, name):
    path = (
        "/cdn-lfs/model.safetensors?signature=1" if name == "model.safetensors" else f"/{NAME}/resolve/{COMMIT}/{name}"
    )
    hub.content[path] = bytes(40 << 20)
    if name == "model.safetensors":  # the hub's own answer has the size, too
        hub.faults[f"/{NAME}/resolve/{COMMIT}/{name}"][0].headers["X-Linked-Size"] = str(40 << 20)
    status, output, shown = fetch(f"hf:{NAME}")
    assert (status, output) == (1, "") and store.installed() == []
    assert f"more comes than the expected {len(HUB_FILES[name])} bytes; not fetched" in shown
    assert sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) < 30 << 20


def test_a_commit_is_pinned_and_a_revision_may_be_named(hub, monkeypatch):
    monkeypatch.setenv("CPUNMT_HF_REGISTRY", serve_hub(hub, NAME, revision="refs/pr/3"))
    assert fetch(f"hf:{NAME}@refs/pr/3")[0] == 0
    assert any(f"/resolve/{COMMIT}/" in path for path in downloads(hub))
    assert store.find(f"hf:{NAME}@refs/pr/3").is_dir()


def test_offline_nothing_is_asked(hub, monkeypatch):
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and shown.startswith("cpunmt: error: CPUNMT_OFFLINE is set, so http") and hub.requests == []
    monkeypatch.delenv("CPUNMT_OFFLINE")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and "unset HF_HUB_OFFLINE" in shown and shown.count("\n") == 1 and hub.requests == []


@pytest.mark.slow
def test_its_own_variable_names_a_mirror(server, monkeypatch):
    monkeypatch.delenv("CPUNMT_HF_REGISTRY")
    monkeypatch.setenv("HF_ENDPOINT", serve_hub(server, NAME))
    assert fetch(f"hf:{NAME}")[0] == 0 and server.requests
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.example")
    status, _, shown = fetch("hf:a/b")
    assert status == 1 and shown.count("\n") == 1
    advice = "HF_ENDPOINT is refused, expected https://; to trust this host, set CPUNMT_HF_REGISTRY to it"
    assert shown == f"cpunmt: error: http://mirror.example: {advice}\n"


def test_a_description_of_any_size_is_not_read(hub):
    path = f"/api/models/{NAME}/revision/main?blobs=true"
    hub.content[path] = b'{"siblings": "' + b"x" * (17 << 20) + b'"}'
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and "over 16777216 bytes; expected a registry" in shown and shown.count("\n") == 1


@pytest.mark.parametrize(
    "answer",
    slow_after(
        2, [b'{"siblings": null}', b"[]", b"[" * 100_000, b'{"sha": 5, "siblings": [{"rfilename": 3}]}', b"<html>"]
    ),
)
def test_a_description_that_is_none(hub, answer):
    hub.content[f"/api/models/{NAME}/revision/main?blobs=true"] = answer
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and ("expected a registry" in shown or "expected the hub's description" in shown)
    assert shown.count("\n") == 1


def test_an_answer_that_the_library_does_not_understand(hub):
    headers = {"Location": "http://[::1", "X-Repo-Commit": COMMIT}
    hub.faults[f"/{NAME}/resolve/{COMMIT}/source.spm"] = [Fault(status=302, headers=headers)]
    status, _, shown = fetch(f"hf:{NAME}")
    line = shown.splitlines()[-1]
    assert status == 1 and "Traceback" not in shown
    assert line.startswith("cpunmt: error: ") and "huggingface_hub does not understand the answer (" in line


@pytest.mark.parametrize("content", slow_after(1, ["import no_such_module", "raise ValueError('odd')", ""]))
def test_a_library_that_is_there_and_broken(hub, tmp_path, monkeypatch, content):
    (tmp_path / "broken" / "huggingface_hub").mkdir(parents=True)
    (tmp_path / "broken" / "huggingface_hub" / "__init__.py").write_text(content)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and shown.count("\n") == 1
    assert shown.startswith("cpunmt: error: huggingface_hub is installed, and cannot be imported (")
    assert "; run: pip install --force-reinstall 'cpunmt[hf]'" in shown


def test_a_token_that_is_none(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_\r\nX-Evil: é")
    status, _, shown = fetch(f"hf:{NAME}")
    assert status == 1 and "the token of huggingface_hub is not valid" in shown and "Evil" not in shown
    assert hub.requests == []


@pytest.mark.slow
def test_no_server(hub, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("CPUNMT_HF_REGISTRY", f"http://127.0.0.1:{port}")
    status, _, shown = fetch(f"hf:{NAME}")
    last = shown.splitlines()[-1]
    assert status == 1 and last.startswith("cpunmt: error: http://127") and "refused, 5 times in a row" in last


class Library:
    """The parts of the library that are used here; `answers` are the contents of its next downloads."""

    class errors:
        GatedRepoError = type("GatedRepoError", (Exception,), {})
        RepositoryNotFoundError = type("RepositoryNotFoundError", (Exception,), {})
        OfflineModeIsEnabled = type("OfflineModeIsEnabled", (ConnectionError,), {})
        RevisionNotFoundError = type("RevisionNotFoundError", (Exception,), {})

    def __init__(self, folder, answers=(), token=None, offline=False, implicit=True):
        self._path, self._answers, self.calls = folder / "cached", iter(answers), []
        self.get_token = lambda: token
        self.constants = types.SimpleNamespace(HF_HUB_OFFLINE=offline, HF_HUB_DISABLE_IMPLICIT_TOKEN=not implicit)

    def hf_hub_download(self, repository, path, *, force_download, tqdm_class, **settings):
        self.calls.append((repository, path, force_download, settings))
        content = next(self._answers)
        tqdm_class(total=len(content)).update(len(content) // 2)
        self._path.write_bytes(content)
        return str(self._path)


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"token": "hf_1"}, {"Authorization": "Bearer hf_1"}),
        ({"token": None}, {}),
        ({"token": "hf_1", "implicit": False}, {}),
        ({"token": "a b"}, "^the token of huggingface_hub is not valid"),
        ({"offline": True}, "^https://hub is not asked, since the library is offline"),
    ],
)
def test_the_header_of_a_token(tmp_path, monkeypatch, settings, header):
    monkeypatch.setattr(hub_module, "_library", lambda: Library(tmp_path, **settings))
    if isinstance(header, dict):
        assert hub_module.authorization("https://hub") == header
        return
    with pytest.raises(CpunmtError, match=header):
        hub_module.authorization("https://hub")


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize(
    ("answers", "forced"), [([b"good"], [False]), ([b"bad", b"good"], [False, True]), ([b"bad"] * 2, [False, True])]
)
def test_a_download_is_counted_checked_and_tried_twice(tmp_path, monkeypatch, answers, forced, links):
    library, counts, synced = Library(tmp_path, answers), [], []
    monkeypatch.setattr(hub_module, "_library", lambda: library)
    monkeypatch.setattr(hub_module, "sync", lambda path: synced.append(path.name))
    if not links:
        monkeypatch.setattr(os, "link", refuse_to_link)
    (tmp_path / "m.part").write_bytes(b"rest")
    (tmp_path / "m").write_bytes(b"old")
    file = RemoteFile("https://hub/a/b/resolve/c0/m", "m", 4)

    def wrong(path):
        with open(path, "rb") as content:
            return None if content.read() == b"good" else "it is bad"

    if answers[-1] == b"bad":
        with pytest.raises(CpunmtError, match="cached: it is bad; delete it there and fetch again"):
            hub_module.download(file, tmp_path, counts.append, wrong)
        assert sum(counts) == 0 and (tmp_path / "m").read_bytes() == b"old"
    else:
        assert hub_module.download(file, tmp_path, counts.append, wrong).read_bytes() == b"good"
        assert sum(counts) == 4 and synced == ["m.part"] and not (tmp_path / "m.part").exists()
        assert os.path.samefile(tmp_path / "m", tmp_path / "cached") == links
    expected = {"revision": "c0", "endpoint": "https://hub", "library_name": "cpunmt"}
    assert library.calls == [("a/b", "m", again, expected) for again in forced]


def refuse_to_link(source, target):
    raise OSError("no links here")


def test_received_bytes_are_counted_up_to_the_size():
    counts = []
    counted = hub_module._Counted.of(counts.append, RemoteFile("https://hub/m", "m", 3))
    counted().update(2)
    counted().update(None)
    counted().update(1)
    assert counts == [2, 0, 1] and counted.total_bytes == 3 and hub_module._Counted.total_bytes == 0
    with pytest.raises(CpunmtError, match="more comes than the expected 3 bytes; not fetched"):
        counted().update(1)
    hub_module._Counted.of(counts.append, RemoteFile("https://hub/m", "m"))().update(1 << 40)
    assert counts[3:] == [1 << 40]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Library.errors.GatedRepoError("no"), "no; if the name is right, ask for access there, and set HF_TOKEN"),
        (Library.errors.RepositoryNotFoundError("no"), "no; if the name is right, ask for access there"),
        (Library.errors.OfflineModeIsEnabled("off"), "off; unset HF_HUB_OFFLINE to fetch models"),
        (Library.errors.RevisionNotFoundError("no"), "no; expected a branch, a tag or a commit after @"),
        (OSError(errno.ENOSPC, "full", "/hf"), r"\[Errno 28\] full: '/hf'; make room, or set HF_HOME to another one$"),
        (OSError("reset"), "reset; try again later$"),
        (type("HTTPError", (Exception,), {})(), "HTTPError; try again later$"),
        (ValueError("odd"), r"huggingface_hub does not understand the answer \(ValueError: odd\); try again later$"),
    ],
)
def test_failures_of_the_library(tmp_path, monkeypatch, error, said):
    monkeypatch.setattr(hub_module, "_library", lambda: Library(tmp_path))
    with pytest.raises(CpunmtError, match=f"^here: {said}"), hub_module._failures("here"):
        raise error


def test_without_the_library_an_account_needs_it(hub, capsys):
    """In this process it is not there."""
    assert run(["fetch", f"hf:{NAME}"]) == 0
    assert (store.find(f"hf:{NAME}") / "model.safetensors").read_bytes() == HUB_FILES["model.safetensors"]
    path = f"/api/models/{NAME}/revision/main?blobs=true"
    for status in (401, 403):
        hub.faults[path] = [Fault(status=status)]
        capsys.readouterr()
        assert run(["fetch", "--force", f"hf:{NAME}"]) == 1
        shown = capsys.readouterr().err
        assert f"(the server answers {status}); to read it with one: pip install 'cpunmt[hf]'" in shown
    assert (store.find(f"hf:{NAME}") / "model.safetensors").is_file()
