"""`cpunmt serve` as a process: its address, its end, its messages."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading

import httpx
import pytest

from cpunmt.errors import CpunmtError
from cpunmt.serve import server
from cpunmt.serve.settings import ServeSettings
from tests.sample_models.real_model import ROOT
from tests.serve.scheduling import WAIT, until
from tests.serve.serving import MODELS
from tests.support.command_line import run

MANY = [f"Two dogs and {n} cats are playing in the snow with a man and a woman." for n in range(1000)]


def asked_at_once(server, texts):
    """Starts a thread with a request; returns it and the list for its answer, when it is in progress."""
    answers = []

    def ask():
        address = server.client.base_url.join("/translate")
        with contextlib.suppress(httpx.HTTPError):
            answers.append(httpx.post(address, json={"q": texts, "source": "en", "target": "de"}, timeout=120))

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: "cpunmt_requests_in_flight 2.0" in server.client.get("/metrics").text)
    return thread, answers


@pytest.mark.slow
def test_requests_in_progress_are_answered_before_the_end(process, student):
    server = process("--preload", "--max-queued", "100000")
    thread, answers = asked_at_once(server, MANY)
    server.process.send_signal(signal.SIGTERM)
    until(lambda: server.client.get("/ready").status_code == 503)
    assert server.client.get("/health").status_code == 200
    refused = server.client.post("/v2/translate", json={"text": "One man.", "target_lang": "DE"})
    assert refused.status_code == 503 and refused.json() == {"message": "The server is shutting down"}
    thread.join(WAIT)
    assert answers[0].json()["translatedText"] == [result.text for result in student.translate(MANY)]
    assert server.ended() == (0, "")


def test_a_second_signal_ends_at_once(process):
    server = process()
    asked_at_once(server, MANY)
    server.process.send_signal(signal.SIGINT)
    until(lambda: server.client.get("/ready").status_code == 503)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(WAIT) == 130


@pytest.mark.slow
def test_what_takes_longer_than_the_drain_is_left(process):
    server = process("--drain", "0")
    thread, answers = asked_at_once(server, MANY)
    server.process.send_signal(signal.SIGTERM)
    thread.join(WAIT)
    assert answers[0].status_code == 503 and answers[0].json() == {"error": "The server is shutting down"}
    assert server.ended() == (0, "")


def test_keys_come_from_a_file(process, tmp_path):
    (tmp_path / "keys").write_text("secret-of-mine\n")
    server = process("--api-keys", str(tmp_path / "keys"), "--url-prefix", "mt")
    assert server.client.base_url.path == "/mt/"
    right = {"q": "One man.", "source": "en", "target": "de"}
    assert server.client.post("/translate", json=right).status_code == 403
    assert server.client.post("/translate", json={**right, "api_key": "secret-of-mine"}).status_code == 200
    server.process.terminate()
    status, said = server.ended()
    assert status == 0 and "secret" not in said


def _not_permitted(*arguments):
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        (socket.socket.bind, "the port is taken; choose another with --port$"),
        (_not_permitted, "the system does not permit it; choose a port above 1023 with --port$"),
    ],
)
def test_a_port_that_cannot_be_used_is_told(bind, said, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        made = server.server_of(MODELS[:1], "127.0.0.1", taken.getsockname()[1], ServeSettings(preload=False))
        monkeypatch.setattr(socket.socket, "bind", bind)
        with pytest.raises(CpunmtError, match=said):
            server.run(made)


@pytest.mark.parametrize(
    "flags, status, said",
    [
        (["no/such/model"], 1, "error: no/such/model: no such directory; expected a model's"),
        ([MODELS[0], "--workers", "0"], 2, "error: workers is 0, expected 1 to 256"),
        ([MODELS[0], "--port", "70000"], 2, "error: argument --port: 70000 is not a port"),
        ([MODELS[0], "--api-keys", "no/such/file"], 1, "error: no/such/file: cannot read the API keys"),
        ([MODELS[0], "--api-keys", "/dev/zero"], 1, "error: /dev/zero: API keys of more than 16777216 characters"),
        ([MODELS[0], "--host", "no..host"], 1, "error: cannot serve at no..host:5000: not an address of "),
        (["de-xq"], 1, "error: CPUNMT_OFFLINE is set, so https://"),
    ],
)
def test_what_is_wrong_is_one_line(flags, status, said):
    done = run("serve", *flags, env={**os.environ, "CPUNMT_OFFLINE": "1"})
    assert done.returncode == status and done.stdout == b"" and done.stderr.count(b"\n") == 1
    assert said in done.stderr.decode()


def test_an_address_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        theirs = {"LT_PORT": "1", "LT_DEBUG": "true", "LT_CHAR_LIMIT": "5", "LT_SSL": "true"}
        done = run("serve", MODELS[0], "--port", port, env={**os.environ, **theirs})
    first, second = done.stderr.decode().splitlines()
    assert first == "cpunmt: without effect here: LT_DEBUG, LT_SSL; see docs/migrating.md"
    assert done.returncode == 1 and second.startswith(f"cpunmt: error: cannot serve at 127.0.0.1:{port}: ")


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError('none', name='starlette')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from cpunmt.commands.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "serve", MODELS[0]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "a server needs starlette, which is not installed; run: pip install 'cpunmt[serve,detect]'" in done.stderr


def test_translating_imports_none_of_it():
    code = (
        "import sys, cpunmt, cpunmt.commands.cli, cpunmt.translator.translator\n"
        "from cpunmt.commands.cli import main\n"
        "main(['translate', '-m', sys.argv[1], 'One man.'])\n"
        "heavy = ('starlette', 'uvicorn', 'multipart', 'py3langid', 'prometheus_client', 'asyncio', 'cpunmt.serve')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code, MODELS[0]], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Ein Mann.\n[]\n"), done.stderr
