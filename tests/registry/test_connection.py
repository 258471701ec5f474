"""Opening URLs: allowed ones, attempts, and times."""

import contextlib
import datetime
import email.utils
import gzip
import socket
import threading
import time
import types

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import connection, firefox
from cpunmt.registry.connection import check_url, fetch_document
from tests.registry.command import run
from tests.registry.http_server import Fault
from tests.registry.shapes import COLLECTION

BODY = b'{"data": []}'


def fetch(server, path="/registry", say=lambda text: None, **settings):
    server.content.setdefault(path, BODY)
    return fetch_document(server.url + path, say, **settings)


def recorded_waits(monkeypatch) -> list:
    """Returns a list of the seconds of each wait, which is skipped."""
    waits = []
    clock = types.SimpleNamespace(sleep=waits.append, monotonic=time.monotonic, time=time.time)
    monkeypatch.setattr(connection, "time", clock)
    return waits


@pytest.mark.parametrize(
    "url",
    [
        "https://huggingface.co/a/b",
        "https://[::1]:8000/x?y=z",
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "HTTPS://example.org/x",
    ],
)
def test_urls_that_are_opened(url):
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "http://localhost.example.org/",
        "http://127.0.0.1.example.org/",
        "http://localhost@example.org/",
        "ftp://localhost/x",
        "file:///etc/passwd",
        "data:text/plain,x",
        "//example.org/x",
        "https:///x",
        "https://exa mple.org/",
        "https://example.org/\r\nHost: other",
        "https://example.org/ü",
        "https://[::1/",
        "https://example.org:port/",
        "",
        "https://example.org/" + "x" * 2000,
        None,
        7,
    ],
)
def test_urls_that_are_not(url):
    with pytest.raises(CpunmtError):
        check_url(url)


def test_plain_http_is_opened_where_the_user_says_so(monkeypatch):
    monkeypatch.setenv("MY_MIRROR", "http://mirror.example/index.txt")
    monkeypatch.setenv("CPUNMT_OPUS_REGISTRY", "https://mirror.example/index.txt")
    with pytest.raises(CpunmtError, match="expected https"):
        check_url("http://mirror.example/file")
    monkeypatch.setenv("CPUNMT_OPUS_REGISTRY", "http://mirror.example/index.txt")
    check_url("http://mirror.example/file")
    monkeypatch.setenv("CPUNMT_FIREFOX_REGISTRY", "http://[bad")  # not a URL: opening it reports that
    check_url("http://mirror.example/file")
    with pytest.raises(CpunmtError, match="https://; to trust other.example, name a registry there in CPUNMT_"):
        check_url("http://other.example/file")
    for url in ("file:///etc/passwd", "ftp://mirror.example/x"):
        with pytest.raises(CpunmtError, match="refused, expected https:// and a host$"):
            check_url(url)


def test_a_document(server):
    assert fetch(server) == BODY
    assert server.requests[0].headers["User-Agent"] == "cpunmt"


@pytest.mark.parametrize("value", ["1", "yes", "true"])
def test_offline_no_socket_is_opened(server, monkeypatch, value):
    def refuse(*arguments, **settings):
        raise AssertionError("a socket was opened")

    monkeypatch.setenv("CPUNMT_OFFLINE", value)
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(CpunmtError, match="CPUNMT_OFFLINE is set, so http.* is not opened; unset it"):
        fetch(server)


@pytest.mark.parametrize("value", ["", "0"])
def test_offline_can_be_said_no_to(server, monkeypatch, value):
    monkeypatch.setenv("CPUNMT_OFFLINE", value)
    assert fetch(server) == BODY


def test_redirects_are_followed_to_where_may_be_read(server):
    server.content["/elsewhere"] = b"there"
    server.faults["/registry"] = [Fault(status=302, headers={"Location": "/elsewhere"})]
    assert fetch(server) == b"there"


@pytest.mark.parametrize("location", ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "gopher:x"])
def test_redirects_to_elsewhere_are_not(server, location):
    server.faults["/registry"] = [Fault(status=302, headers={"Location": location})]
    with pytest.raises(
        CpunmtError, match=f"^{server.url}/registry: the server redirects elsewhere: {location}: refused"
    ):
        fetch(server)


def test_a_redirect_keeps_what_was_asked_for(server):
    """A range, above all: the answer to another one would be put in the wrong place."""
    server.content["/elsewhere"] = BODY
    for status in (301, 302, 303, 307, 308):
        server.faults["/registry"] = [Fault(status=status, headers={"Location": "elsewhere"})]
        with connection.open_url(server.url + "/registry", {"Range": "bytes=2-"}) as response:
            assert b"".join(connection.blocks(response, "x")) == BODY[2:]
    assert {request.headers["Accept-Encoding"] for request in server.requests} == {"identity"}


def test_a_redirect_takes_the_token_to_no_other_host(server):
    server.content["/elsewhere"] = BODY
    other = server.url.replace("127.0.0.1", "localhost") + "/elsewhere"
    for location in ("/elsewhere", other):
        server.faults["/registry"] = [Fault(status=302, headers={"Location": location})]
        assert fetch(server, headers={"Authorization": "Bearer secret"}) == BODY
    sent = [(request.path, request.headers.get("Authorization")) for request in server.requests]
    assert sent == [
        *(("/registry", "Bearer secret"), ("/elsewhere", "Bearer secret")),
        *(("/registry", "Bearer secret"), ("/elsewhere", None)),
    ]


@pytest.mark.parametrize("location", ["http://[::1", "//[", "http://[bad]/"])
def test_redirects_to_what_is_no_url(server, location):
    server.faults["/registry"] = [Fault(status=302, headers={"Location": location})]
    with pytest.raises(CpunmtError, match="registry: the server redirects to .*, which is not a URL"):
        fetch(server)


@pytest.mark.parametrize("headers", [{}, {"Location": ""}])
def test_a_redirect_to_nowhere(server, headers):
    server.faults["/registry"] = [Fault(status=302, headers=headers)]
    with pytest.raises(CpunmtError, match="answers 302"):
        fetch(server)


def test_redirects_in_a_circle_end(server):
    server.faults["/registry"] = [Fault(status=302, headers={"Location": "/registry"})]
    with pytest.raises(CpunmtError, match="answers 302"):
        fetch(server)
    assert len(server.requests) < 20


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(server, said, status):
    server.faults["/registry"] = [Fault(status=status), Fault(status=status), None]
    assert fetch(server, say=said.append) == BODY
    assert len(server.requests) == 3
    assert len(said) == 2 and f"answers {status}" in said[0] and "trying again" in said[0]


def test_it_gives_up(server, said):
    server.faults["/registry"] = [Fault(status=500)]
    with pytest.raises(CpunmtError, match="answers 500 .*, 5 times in a row; try again later"):
        fetch(server, say=said.append)
    assert len(server.requests) == connection.ATTEMPTS == len(said) + 1


@pytest.mark.parametrize(("status", "hint"), [(400, "moved"), (401, "private"), (403, "private"), (404, "name")])
def test_what_will_stay_is_not_tried_again(server, status, hint):
    server.faults["/registry"] = [Fault(status=status)]
    with pytest.raises(CpunmtError, match=rf"registry: the server answers {status}.*{hint}"):
        fetch(server)
    assert len(server.requests) == 1


def test_the_wait_doubles(server, monkeypatch):
    monkeypatch.setattr(connection, "BACKOFF", 1.0)
    waits = recorded_waits(monkeypatch)
    server.faults["/registry"] = [Fault(status=503)]
    with pytest.raises(CpunmtError):
        fetch(server)
    assert waits == [1.0, 2.0, 4.0, 8.0]
    waits.clear()
    attempts = connection.Attempts("url", lambda text: None)
    for progress in (False, False, True, False):  # progress begins the count anew
        attempts.failed(connection.Interrupted("reset"), progress)
    assert waits == [1.0, 2.0, 1.0, 2.0]


def test_the_server_may_say_how_long_to_wait(server, monkeypatch):
    waits = recorded_waits(monkeypatch)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=30)
    headers = [{"Retry-After": value} for value in ("7", email.utils.format_datetime(soon), "soon", "-3")]
    server.faults["/registry"] = [*(Fault(status=429, headers=header) for header in headers), None]
    assert fetch(server) == BODY
    assert waits[0] == 7.0 and 25 < waits[1] <= 30 and waits[2:] == [0.004, 0.008]


@pytest.mark.parametrize("value", ["3600", "999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_the_server_may_not_say_very_long(server, value):
    server.faults["/registry"] = [Fault(status=503, headers={"Retry-After": value})]
    with pytest.raises(CpunmtError, match=r"asks to wait \d+ s: try again then"):
        fetch(server)
    assert len(server.requests) == 1


def test_content_stays_as_it_is_sent(server):
    """For any encoding that the server states: digests are of the received bytes."""
    server.content["/registry"] = packed = gzip.compress(BODY)
    for encoding in ("gzip", "br", "zstd", "nonsense"):
        server.faults["/registry"] = [Fault(headers={"Content-Encoding": encoding})]
        assert fetch(server) == packed


def test_a_document_is_whole_or_fetched_again(server):
    server.faults["/registry"] = [Fault(break_after=4), Fault(end_after=4), Fault(break_after=0), None]
    assert fetch(server) == BODY


def test_an_answer_that_does_not_come(server, monkeypatch, said):
    monkeypatch.setattr(connection, "TIMEOUT", 0.1)
    server.faults["/registry"] = [Fault(hold=threading.Event()), Fault(break_after=4, stall=0.3), None]
    assert fetch(server, say=said.append) == BODY
    assert len(said) == 2 and all("no answer in 0 s" in text for text in said)


def test_an_answer_that_comes_too_slowly(server, monkeypatch, said):
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    server.content["/registry"] = bytes(100)
    server.faults["/registry"] = [Fault(trickle=1), None]
    assert fetch(server, say=said.append) == bytes(100)
    assert "only " in said[0] and " bytes in 0 s" in said[0]


def test_slow_is_not_too_slow(server, monkeypatch, said):
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    server.content["/registry"] = bytes(400)
    server.faults["/registry"] = [Fault(trickle=40)]
    assert fetch(server, say=said.append) == bytes(400)
    assert said == []


@pytest.mark.parametrize(
    ("sizes", "times", "slow"),
    [
        ([200, 1], [0, 2], None),  # just fast enough
        ([199, 1], [0, 2], "only 199 bytes in 2 s"),
        ([200, 199, 1], [0, 2, 2, 4], "only 199 bytes in 2 s"),  # each period counts its own bytes
        ([1, 1], [0, 1.9], None),
    ],
)
def test_the_slowest_connection(monkeypatch, sizes, times, slow):
    monkeypatch.setattr(connection, "TIMEOUT", 2)
    clock = iter(times)
    monkeypatch.setattr(connection, "time", types.SimpleNamespace(monotonic=lambda: next(clock, times[-1])))
    monkeypatch.setattr(connection._operation, "begin", lambda: None)
    pieces = iter([bytes(size) for size in sizes])
    response = types.SimpleNamespace(read1=lambda size, decode_content: next(pieces, b""))
    with contextlib.nullcontext() if slow is None else pytest.raises(connection.Interrupted, match=f"^{slow}$"):
        assert sum(map(len, connection.blocks(response, "url"))) == sum(sizes)


@pytest.mark.parametrize("announce", [None, 0, 3])
def test_a_document_has_a_limit(server, announce):
    server.content["/registry"] = bytes(1000)
    server.faults["/registry"] = [Fault(announce=announce)]
    if announce == 3:
        assert fetch(server, limit=999) == bytes(3)  # the rest does not belong to it
    else:
        with pytest.raises(CpunmtError, match="over 999 bytes"):
            fetch(server, limit=999)
        assert fetch(server, limit=1000) == bytes(1000)


def test_no_server(server, said):
    server.close()
    with pytest.raises(CpunmtError, match="refused.*5 times in a row"):
        fetch(server, say=said.append)


def test_no_such_host(monkeypatch):
    def unknown(*arguments, **settings):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        CpunmtError, match=r"^host not found \(Name or service not known\), needed for h.*; is there a network\?$"
    ):
        fetch_document("https://no.example/registry", pytest.fail)


def test_what_is_no_web_server(said):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            for _ in range(connection.ATTEMPTS):
                client, _ = listener.accept()
                with client:
                    client.recv(1 << 16)
                    client.sendall(b"220 mail ready\r\n")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(CpunmtError, match="5 times in a row"):
            fetch_document(f"http://127.0.0.1:{listener.getsockname()[1]}/x", said.append)


def test_what_a_server_says_cannot_move_the_cursor(server):
    # A reason phrase with an escape sequence, which http.server would send as it is.
    server.faults["/registry"] = [Fault(status=404)]
    handler = server._server.RequestHandlerClass
    handler.responses = {**handler.responses, 404: ("Not \x1b[2J here", "")}
    with pytest.raises(CpunmtError) as caught:
        fetch(server)
    assert "answers 404 Not;" in str(caught.value) and "\x1b" not in str(caught.value)


def test_what_is_shown_of_a_foreign_text():
    assert connection.one_line("x" * 201) == "x" * 200 and connection.one_line(" a\nb") == "a"


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
    """Bytes arrive all the time, so no single read waits for long."""
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
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


def test_without_a_network_the_reason_is_told_once(server, monkeypatch, capsys):
    """It followed four addresses; unreachable ones are reported only if another is reached."""
    nowhere = [f"https://{name}.invalid/records" for name in ("a", "b", "c")]
    monkeypatch.delenv("CPUNMT_FIREFOX_REGISTRY", raising=False)
    monkeypatch.setattr(firefox, "REGISTRIES", tuple(nowhere))
    for command in (["ls", "firefox:"], ["fetch", "firefox:ende"]):
        assert run(command) == 1
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and shown.startswith("cpunmt: error: host not found (")
        assert shown.endswith(f"), needed for {nowhere[-1]}; is there a network?\n")
    alive = server.url + COLLECTION
    server.content[COLLECTION] = b'{"data": []}'
    monkeypatch.setattr(firefox, "REGISTRIES", (*nowhere[:2], alive, nowhere[2]))
    run(["ls", "firefox:"])
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [f"cpunmt: {url} cannot be read (host not found); trying {alive}" for url in nowhere[:2]]
