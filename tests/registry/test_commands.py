"""`cpunmt ls` and `cpunmt fetch`, as users type them."""

import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from cpunmt.commands import model_choice
from cpunmt.commands.registry import _short
from cpunmt.registry import store
from tests.registry.command import run, start
from tests.registry.http_server import Fault
from tests.registry.shapes import (
    COLLECTION,
    OPUS_FILES,
    argos_entry,
    firefox_records,
    serve_argos,
    serve_firefox,
    serve_hub,
    serve_opus,
    zipped,
)
from tests.support.command_line import ROOT, TIMEOUT

HUB = "Helsinki-NLP/opus-mt-en-de"


@pytest.fixture
def registries(server, monkeypatch):
    """Serves all four registries, with a few models; returns the server."""
    found = [
        firefox_records("en", "de", "2.0", architecture="base-memory"),
        firefox_records("en", "de", "1.0", architecture="tiny"),
        firefox_records("de", "en", "1.0", architecture="tiny"),
        firefox_records("en", "cs", "1.0", architecture="tiny"),
    ]
    archives = {"en-de/opus-2020-02-26.zip": zipped(OPUS_FILES), "en-fr/opus-2020-02-26.zip": zipped(OPUS_FILES)}
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", serve_firefox(server, *found))
    monkeypatch.setenv("CPUNMT_OPUS_REGISTRY", serve_opus(server, archives))
    monkeypatch.setenv("CPUNMT_ARGOS_REGISTRY", serve_argos(server, argos_entry("en", "az"), argos_entry("pb", "en")))
    monkeypatch.setenv("CPUNMT_HF_REGISTRY", serve_hub(server, HUB))
    return server


def lines(capsys) -> list[list[str]]:
    """Returns the columns of the output."""
    return [line.split("  ") for line in capsys.readouterr().out.splitlines()]


def names(capsys) -> list[str]:
    return [line[0] for line in lines(capsys)[1:]]


def test_the_list(registries, capsys):
    assert run(["ls"]) == 0
    output, shown = capsys.readouterr()
    assert shown == ""
    assert output == (
        "NAME          LANGUAGES  ARCHITECTURE  SIZE    INSTALLED\n"
        "firefox:deen  de > en    tiny          0.0 MB  no\n"
        "firefox:encs  en > cs    tiny          0.0 MB  no\n"
        "firefox:ende  en > de    base-memory   0.0 MB  no\n"
        "opus:en-de    en > de    -             -       no\n"
        "opus:en-fr    en > fr    -             -       no\n"
        "argos:en-az   en > az    -             -       no\n"
        "argos:pb-en   pb > en    -             -       no\n"
    )


def test_more_than_three_languages_are_counted():
    assert [_short(said) for said in ("en", "en+de+fr", "en+de+fr+it")] == ["en", "en+de+fr", "4 languages"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["en > de"], ["firefox:ende", "opus:en-de"]),
        (["firefox:"], ["firefox:deen", "firefox:encs", "firefox:ende"]),
        (["TINY", "cs"], ["firefox:encs"]),
        (["opus:en", "fr"], ["opus:en-fr"]),
        (["firefox:ende@"], ["firefox:ende@1.0"]),
    ],
)
def test_the_list_can_be_narrowed(registries, capsys, words, expected):
    assert run(["ls", *words]) == 0
    assert names(capsys) == expected


def test_only_the_registries_that_are_meant_are_asked(registries):
    run(["ls", "opus:"])
    assert registries.paths() == ["/OPUS-MT-models/index.txt"]


def test_nothing_fits(registries, capsys):
    assert run(["ls", "klingon"]) == 0
    assert capsys.readouterr() == ("", "cpunmt: no model fits\n")


def test_a_registry_that_is_down(registries, capsys):
    registries.content[COLLECTION] = b"under repair"
    assert run(["ls"]) == 1
    output, shown = capsys.readouterr()
    assert "opus:en-de" in output and "firefox" not in output
    assert shown.startswith("cpunmt: error: http") and "not valid JSON" in shown and shown.count("\n") == 1


def test_without_a_network_one_line_says_so(monkeypatch, capsys):
    for registry in ("FIREFOX", "OPUS", "ARGOS"):
        monkeypatch.setenv(f"CPUNMT_{registry}_REGISTRY", f"https://{registry.lower()}.invalid/list")
    assert run(["ls"]) == 1
    output, shown = capsys.readouterr()
    assert output == "" and shown.startswith("cpunmt: error: host not found") and shown.count("\n") == 1


def test_fetch(registries, capsys):
    assert run(["fetch", "firefox:ende"]) == 0
    output, shown = capsys.readouterr()
    path = store.models_folder() / "firefox" / "ende"
    assert output == f"{path}\n" and path.is_dir()
    assert shown == "cpunmt: fetching firefox:ende: 3 files, 0.0 MB\n"
    assert run(["ls", "en"]) == 0
    assert [line[-1].strip() for line in lines(capsys)[1:]] == ["no", "no", "yes", "no", "no", "no", "no"]


def test_several(registries, capsys):
    registries.requests.clear()
    assert run(["fetch", "firefox:encs", "opus:en-fr", f"hf:{HUB}", "firefox:ende@1.0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert [model.name for model in store.installed()] == [
        "firefox:encs",
        "firefox:ende@1.0",
        f"hf:{HUB}",
        "opus:en-fr",
    ]
    assert run(["ls"]) == 0
    listed = {line[0]: line[-1].strip() for line in lines(capsys)}
    assert listed[f"hf:{HUB}"] == listed["firefox:ende@1.0"] == listed["opus:en-fr"] == "yes"
    assert listed["firefox:ende"] == "no"


def test_names_go_before_and_behind_options(registries, capsys):
    assert run(["fetch", "firefox:encs", "--force", "opus:en-fr"]) == 0
    assert [model.name for model in store.installed()] == ["firefox:encs", "opus:en-fr"]
    capsys.readouterr()
    assert run(["ls", "en", "--installed", "cs"]) == 0
    assert names(capsys) == ["firefox:encs"]


def test_a_wrong_name_among_them_shows_before_anything_is_fetched(registries, capsys):
    assert run(["fetch", "firefox:ende", "firefox:enzz"]) == 1
    assert capsys.readouterr() == ("", "cpunmt: error: no model is called firefox:enzz; see cpunmt ls\n")
    assert store.installed() == []


@pytest.mark.parametrize(
    ("name", "meant"), [("firefox:endd", "firefox:ende"), ("firefox:encz", "firefox:encs"), ("en-fe", "opus:en-fr")]
)
def test_a_name_that_is_nearly_right_is_told(registries, capsys, name, meant):
    assert run(["fetch", name]) == 1
    message = f"cpunmt: error: no model is called {name} (did you mean {meant}?); see cpunmt ls\n"
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize("name", ["firefox:en-de", "firefox:ENDE", "encs", "en-fr", "firefox:ende@1.0", "ende@1.0"])
def test_names_that_mean_one_model(registries, name):
    assert run(["fetch", name]) == 0
    assert len(store.installed()) == 1


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("ende", "firefox:ende, opus:en-de"),
        ("en-de", "firefox:ende, opus:en-de"),
        ("firefox:en", "firefox:encs, firefox:ende, firefox:ende@1.0"),
        ("fr", "opus:en-fr"),
        ("firefox:ende@", None),
    ],
)
def test_names_that_do_not(registries, capsys, name, choices):
    assert run(["fetch", name]) == 1
    shown = capsys.readouterr().err
    if choices:
        assert shown == f"cpunmt: error: {name} is not the whole name of one model; choose from {choices}\n"
    else:
        assert "names no model" in shown


@pytest.mark.parametrize(("count", "end"), [(12, "alen"), (13, "alen and 1 more"), (20, "alen and 8 more")])
def test_many_choices_are_cut(registries, capsys, monkeypatch, count, end):
    found = [firefox_records(f"a{chr(97 + i)}", "en") for i in range(count)]
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", serve_firefox(registries, *found))
    assert run(["fetch", "firefox:a"]) == 1
    assert capsys.readouterr().err.endswith(f"firefox:{end}\n")


def test_what_is_there_is_not_fetched(registries, capsys):
    run(["fetch", "firefox:ende"])
    registries.requests.clear()
    for name in ("firefox:ende", "firefox:en-de"):
        assert run(["fetch", name]) == 0
    assert registries.requests == []
    assert run(["fetch", "--force", "firefox:ende"]) == 0
    assert len([path for path in registries.paths() if "/cdn/" in path]) == 3
    assert len(set(capsys.readouterr().out.splitlines())) == 1


def test_an_older_version_is_told(registries, capsys, monkeypatch):
    run(["fetch", "firefox:deen"])
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", serve_firefox(registries, firefox_records("de", "en", "1.1")))
    capsys.readouterr()
    assert run(["ls", "firefox:"]) == 0
    assert lines(capsys)[1][-1] == "yes, 1.0"
    assert run(["fetch", "--force", "firefox:deen"]) == 0
    assert run(["ls", "firefox:deen"]) == 0
    assert lines(capsys)[-1][-1] == "yes"


def test_offline(registries, capsys, monkeypatch):
    run(["fetch", "firefox:ende"])

    def refuse(*arguments, **settings):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    capsys.readouterr()
    assert run(["ls"]) == 1
    assert capsys.readouterr().err == (
        "cpunmt: error: CPUNMT_OFFLINE is set, so no registry is read; see cpunmt models\n"
    )
    assert run(["ls", "--installed"]) == 0
    assert names(capsys) == ["firefox:ende", "(default)"]
    assert run(["fetch", "firefox:ende"]) == 0  # it is there
    assert (
        run(["fetch", "firefox:deen"]) == run(["fetch", f"hf:{HUB}"]) == run(["fetch", "--force", "firefox:ende"]) == 1
    )
    assert capsys.readouterr().err.count("CPUNMT_OFFLINE is set, so http") == 3


def test_the_installed_models(registries, capsys, monkeypatch):
    monkeypatch.delenv("CPUNMT_MODEL")
    run(["fetch", "firefox:ende", f"hf:{HUB}"])
    folder, shipped = store.models_folder(), str(model_choice.SHIPPED)
    capsys.readouterr()
    assert run(["models"]) == 0
    heading, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert heading == ["NAME", "LANGUAGES", "KIND", "SIZE", "FOLDER"]
    assert rows[0][:8] == ["firefox:ende", "en", ">", "de", "Marian,", "Bergamot", "or", "OPUS-MT"]
    assert rows[0][-1] == str(folder / "firefox" / "ende") and rows[0][-2] == "MB"
    assert rows[1][:4] == [f"hf:{HUB}", "en", ">", "de"] and rows[2][0] == "(default)" and rows[2][-1] == shipped
    monkeypatch.setenv("CPUNMT_MODEL", "firefox:ende")
    assert run(["models", "BERGAMOT", "en"]) == 0
    assert names(capsys) == ["firefox:ende (default)"]
    for path in (folder / "firefox" / "ende").glob("*.bin"):
        path.unlink()
    assert run(["models", "firefox"]) == 0
    assert "damaged: see cpunmt info" in capsys.readouterr().out
    monkeypatch.setenv("CPUNMT_MODEL", "firefox:encs")
    assert run(["models", "opus-mt-en-de"]) == 0
    output, shown = capsys.readouterr()
    assert len(output.splitlines()) == 2
    assert shown == f"cpunmt: CPUNMT_MODEL: the model firefox:encs is not in {folder}; run: cpunmt fetch firefox:encs\n"


def test_nothing_installed(capsys, monkeypatch):
    monkeypatch.delenv("CPUNMT_MODEL")
    monkeypatch.setattr(model_choice, "SHIPPED", store.models_folder() / "none")
    assert run(["models"]) == 0
    output, shown = capsys.readouterr()
    assert output == "" and shown.startswith(
        f"cpunmt: no model is installed in {store.models_folder()}: `cpunmt fetch "
    )


@pytest.mark.parametrize("arguments", [["fetch"], ["fetch", "--frce", "x"], ["ls", "--unknown"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run(arguments)
    assert caught.value.code == 2


def large_model(server, monkeypatch, size=400_000):
    """Returns the path of the model file of a larger firefox:ende."""
    records, content = firefox_records("en", "de", size=size)
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", serve_firefox(server, (records, content)))
    return f"/cdn/{records[0]['attachment']['location']}"


def test_control_c_leaves_a_rest_to_go_on_with(server, monkeypatch):
    path = large_model(server, monkeypatch)
    ended = threading.Event()
    server.faults[path] = [Fault(break_after=300_000, hold=ended), None]
    process = start("fetch", "firefox:ende")
    part = store.models_folder() / "firefox" / ".ende.part" / "model.ende.intgemm.alphas.bin.part"
    while not (part.exists() and part.stat().st_size):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=TIMEOUT)
    ended.set()
    assert (process.returncode, output) == (130, "")
    kept = part.stat().st_size
    assert 0 < kept < 400_000 and store.installed() == []
    server.requests.clear()
    assert run(["fetch", "firefox:ende"]) == 0
    assert [request.headers.get("Range") for request in server.requests if request.path == path] == [f"bytes={kept}-"]
    assert (store.find("firefox:ende") / "model.ende.intgemm.alphas.bin").stat().st_size == 400_000


@pytest.mark.slow
def test_two_processes_at_once(server, monkeypatch):
    path = large_model(server, monkeypatch)
    server.faults[path] = [Fault(trickle=40_000)]
    processes = [start("fetch", "firefox:ende") for _ in range(2)]
    ended = [process.communicate(timeout=TIMEOUT) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    assert {output for output, _ in ended} == {f"{store.find('firefox:ende')}\n"}
    assert server.paths().count(path) == 1


def test_a_bar_on_a_terminal(registries, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    registries.faults["/OPUS-MT-models/en-de/opus-2020-02-26.zip"] = [Fault(break_after=100), None]
    assert run(["fetch", "firefox:ende", "opus:en-de"]) == 0
    shown = capsys.readouterr().err
    assert "firefox:ende: 100%" in shown and "3.60k/3.60k" in shown
    assert "cpunmt: http" in shown and "trying again in 0 s" in shown and "opus:en-de: " in shown
    assert "fetching" not in shown


OURS_ON_DEMAND = ("urllib3", "filelock", "platformdirs", "huggingface_hub", "backports", "compression", "ssl", "tqdm")


def test_nothing_of_it_is_imported_before_it_is_needed():
    """The command line has both commands; translating imports neither, nor any of the libraries behind them."""
    code = (
        "import sys, cpunmt; before = set(sys.modules);"
        "import cpunmt.commands.registry, cpunmt.registry.store;"
        "heavy = {'urllib.request', 'http.client', 'ssl', 'zipfile', 'gzip', 'tqdm'};"
        "print(sorted(heavy & (set(sys.modules) - before)), 'urllib.request' in sys.modules, 'ssl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout.strip() == "[] False False", done


def test_translating_imports_none_of_the_libraries():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "cpunmt", "translate", "-m", "models/ende-tiny"],
        input="A man.\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    ours = set(OURS_ON_DEMAND) - ({"compression"} if sys.version_info >= (3, 14) else set())  # NumPy imports tempfile
    assert done.stdout and "numpy" in imported and not imported & ours
