"""Servers that never come to an end of what is no content: none holds a download for ever."""

import contextlib
import socket
import threading
import time

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import connection
from cpunmt.registry.connection import fetch_document

START = b"HTTP/1.1 200 OK\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def endless():
    """Makes the URL of a server that sends `start`, and then `piece` for ever, with pauses in between."""
    listeners = []

    def serve(start, piece, pause=0.0):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def send(client):
            with contextlib.suppress(OSError), client:
                client.recv(1 << 16)
                client.sendall(start)
                while True:
                    client.sendall(piece)
                    time.sleep(pause)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=send, args=listener.accept()[:1], daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50, id="continue"),
        pytest.param(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: a\r\n" * 50, id="trailers"),
        pytest.param(b"", b"H", id="status line"),
        pytest.param(START, b"X", id="header"),
        pytest.param(CHUNKED + b"1;", b"X", id="extension of a chunk"),
        pytest.param(CHUNKED + b"0\r\n", b"X", id="trailer"),
    ],
)
def test_an_answer_that_never_ends(endless, monkeypatch, said, start, piece):
    """Bytes come all the time, so no single read waits for long."""
    monkeypatch.setattr(connection, "TIMEOUT", 0.4)
    url = endless(start, piece, pause=0.02)
    # newer releases of Python count interim responses and trailers, of which there may be 100
    with pytest.raises(CpunmtError, match="(no answer in 0 s|got more than 100 [a-z ]+), 2 times in a row"):
        fetch_document(url, said.append, attempts=2)


def test_a_proxy_that_never_makes_its_tunnel(endless, monkeypatch, said):
    monkeypatch.setattr(connection, "TIMEOUT", 0.4)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", endless(START, b"X", pause=0.02))
    with pytest.raises(CpunmtError, match="no answer in 0 s, 2 times in a row"):
        fetch_document("https://mirror.example/x", said.append, attempts=2)
