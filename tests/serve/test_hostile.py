"""Clients that would keep a connection, memory or a place for ever: each is ended, without effect on others."""

import asyncio
import contextlib
import json
import signal
import socket
import struct
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.serve import connections, server
from tests.serve.scheduling import WAIT, until
from tests.serve.serving import MODELS, serving
from tests.serve.test_connections import ASKED, BODY, RIGHT, connected, to_the_end
from tests.support.speeds import slow_after

PAIR = {"source": "en", "target": "en"}


@pytest.fixture(scope="module")
def hasty():
    """Starts a server that gives a connection half a second for anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_MORE", 0.3)
        patch.setattr(server, "_IDLE", 1)
        with serving(MODELS[0], body_seconds=0.2, max_requests=2) as served:
            yield served


def is_ended(connection):
    """Returns whether the other side ends the connection, while it is sent empty lines."""
    end = time.monotonic() + WAIT
    connection.settimeout(0.05)
    while time.monotonic() < end:
        try:
            connection.sendall(b"\r\n")
            if not connection.recv(1 << 16):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize("before", [b"", ASKED + BODY], ids=["at once", "after a request"])
def test_empty_lines_keep_no_connection(hasty, before):
    with connected(hasty) as connection:
        connection.sendall(before)
        assert not before or connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert is_ended(connection)


@pytest.mark.parametrize("lines", [b"\r\n", b"\n", b"\r\n\r\n\r\n", b"\r"])
def test_empty_lines_before_a_request_are_none_of_it(served, lines):
    with connected(served) as connection:
        for begin in (lines, lines * 2):
            connection.sendall(begin)
            connection.sendall(begin + ASKED + BODY)
            assert json.loads(connection.recv(1 << 16).partition(b"\r\n\r\n")[2]) == RIGHT


def unread(served, size, keep, room=4096):
    """Returns a connection with an unread answer of `size` bytes; the system takes `room` bytes of it."""
    connection = connected(served)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    body = json.dumps({"text": "x" * 50, **PAIR, "return": ["sentences"]}).encode()
    text = json.dumps({"q": ["y" * 49_000] * (size // 49_000), **PAIR}).encode() if size else body
    head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n"
    connection.sendall(head % (len(text), b"" if keep else b"Connection: close\r\n") + text)
    return connection


@pytest.mark.parametrize("keep", slow_after(1, [True, False]))
def test_who_does_not_read_is_cut_off(keep):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_MORE", 0.3)
        patch.setattr(server, "_IDLE", 1)
        with serving(MODELS[0], body_seconds=0.2, max_body=9_000_000, max_characters=9_000_000) as served:
            there = served.server.server_state.connections
            with unread(served, 8_000_000, keep):
                until(lambda: there)
                until(lambda: not there)


def test_what_nobody_reads_has_a_limit(monkeypatch):
    monkeypatch.setattr(connections, "MOST_UNREAD", 10_000_000)
    with serving(MODELS[0], max_body=9_000_000, max_characters=9_000_000) as served:
        there = served.server.server_state.connections
        held = [unread(served, 8_000_000, True) for _ in range(4)]
        until(lambda: len(there) == 4 or served.server.server_state.total_requests == 4)
        until(lambda: served.server.server_state.total_requests == 4)
        until(lambda: sum(one.transport.get_write_buffer_size() for one in list(there)) <= 10_000_000)
        assert 1 <= len(there) < 4
        for one in held:
            one.close()
        until(lambda: not there)
        assert not next(iter([served.server.config.http_protocol_class])).unread


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["Host: a", "host: a", "HOST:", "x: a", "Host: b"]), max_size=4), st.booleans())
def test_a_request_has_one_host(served, headers, is_old):
    hosts = sum(header.lower().startswith("host:") for header in headers)
    with connected(served) as connection:
        lines = [f"GET /health HTTP/1.{0 if is_old else 1}", *headers]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        status = connection.recv(1 << 16).split()[1]
    assert status == (b"200" if hosts == 1 or (is_old and not hosts) else b"400")


@pytest.mark.parametrize(
    "behind", [b"nonsense\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nx: "]
)
def test_what_is_wrong_behind_a_request_spoils_no_answer(served, behind):
    behind = behind + b"a" * (2 * connections.MOST_HEAD) if behind.endswith(b"x: ") else behind
    with connected(served) as connection:
        connection.sendall(ASKED + BODY + behind)
        connection.sendall(ASKED + BODY)
        answer = to_the_end(connection)
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.count(b"HTTP/1.1 200 ") == 1
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert json.loads(answer.partition(b"\r\n\r\n")[2].partition(b"HTTP/")[0]) == RIGHT


def test_requests_that_wait_for_their_turn_are_few(monkeypatch):
    """A client sends one request after the other, without any answer: the server stops reading."""
    with serving(MODELS[0]) as served:
        go = threading.Event()
        monkeypatch.setattr(served.service, "translated", held_by(served.service.translated, go))
        body = json.dumps({"q": ["y" * 49_000], **PAIR}).encode()
        asked = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with connected(served) as connection:
            connection.settimeout(0.5)
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 4000:
                    connection.sendall(asked)
                    sent += 1
            (there,) = served.server.server_state.connections
            assert 0 < len(there.pipeline) < 20 < sent < 4000
            go.set()  # and when some are answered, it reads as many
            connection.settimeout(0.01)
            rest, most, end = asked, 0, time.monotonic() + WAIT
            while served.server.server_state.total_requests < 40:
                with contextlib.suppress(TimeoutError):
                    rest = rest[connection.send(rest) :] or asked
                most = max(most, len(there.pipeline))
                assert time.monotonic() < end
            assert most < 20


def held_by(translated, go):
    async def later(*given):
        while not go.is_set():
            await asyncio.sleep(0.01)
        return await translated(*given)

    return later


def test_slow_bodies_take_no_place(hasty):
    """Two requests may be in progress: nine slowly arriving ones do not count."""
    held = [connected(hasty) for _ in range(9)]
    for one in held:
        one.sendall(ASKED + BODY[:-1])
    assert hasty.json("/translate", json.loads(BODY)) == RIGHT
    assert all(to_the_end(one).startswith(b"HTTP/1.1 408 ") for one in held)
    for one in held:
        one.close()


@pytest.mark.parametrize("number", slow_after(1, [signal.SIGTERM, signal.SIGHUP]))
def test_a_slow_body_does_not_delay_the_end(process, number):
    started = process("--body-seconds", "600")
    host, port = started.client.base_url.host, started.client.base_url.port
    with socket.create_connection((host, port), timeout=WAIT) as connection:
        connection.sendall(ASKED + BODY[:-1])
        until(lambda: started.client.get("/health").status_code == 200)
        began = time.monotonic()
        started.process.send_signal(number)
        answer = to_the_end(connection)
        assert started.ended() == (0, "") and time.monotonic() - began < WAIT
    assert answer.startswith(b"HTTP/1.1 503 ") and b"The server is shutting down" in answer


@pytest.mark.slow
def test_broken_forms_are_not_told_on_stderr(process):
    started = process()
    for body in (b"no boundary", b"--b\r\nx: y\r\n", b"--b--\r\nmore and more", b"--b\r\n\r\nx\r\n--b--\r\n\r\nmore"):
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        assert started.client.post("/translate", content=body, headers=kind).status_code == 400
    started.process.terminate()
    assert started.ended() == (0, "")


def reset(connection):
    """Ends a connection at once, as a client that crashes does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def pipelined(count, size=49_000):
    """Returns requests of `size` characters, all in one."""
    body = json.dumps({"q": ["y" * size], **PAIR}).encode()
    return (b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body) * count


@pytest.mark.parametrize(
    "leave, sent",
    [(reset, pipelined(200)), (reset, pipelined(9, 10)), (socket.socket.close, pipelined(9, 10))],
    ids=["reset, much unread", "reset", "closed"],
)
@pytest.mark.parametrize("running", [1, 2])
def test_who_leaves_is_noticed_while_nothing_is_read(monkeypatch, leave, sent, running):
    """Waiting requests stop the reading; still the connection ends when its client leaves."""
    monkeypatch.setattr(connections, "_LOOK", 0.01)
    with serving(MODELS[0]) as served:
        there, asked, left, looks = served.server.server_state.connections, [], [], threading.Semaphore(0)
        kind, real = served.server.config.http_protocol_class, served.service.translated
        look = kind._look_for_end
        monkeypatch.setattr(kind, "_look_for_end", lambda self: (look(self), looks.release()))

        async def translated(request, *given):
            asked.append(request)
            if len(asked) < running:
                return await real(request, *given)
            while (await request.receive())["type"] != "http.disconnect":
                pass
            left.append(request)
            return []

        served.service.translated = translated
        connection = connected(served)
        connection.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            connection.sendall(sent)
        until(lambda: len(asked) == running)
        for _ in range(3):
            assert looks.acquire(timeout=WAIT)
        assert next(iter(there)).flow.read_paused and not left
        leave(connection)
        until(lambda: left and not there)
        assert left == asked[running - 1 :]


def test_a_request_that_cannot_arrive_is_not_too_slow(monkeypatch):
    """The server stops reading in the middle of a request: that is not its client's fault."""
    monkeypatch.setattr(server, "_MORE", -9.5)
    with serving(MODELS[0], body_seconds=10.0) as served:
        go, looks = threading.Event(), threading.Semaphore(0)
        monkeypatch.setattr(served.service, "translated", held_by(served.service.translated, go))
        kind = served.server.config.http_protocol_class
        look = kind._too_slow
        monkeypatch.setattr(kind, "_too_slow", lambda self: (look(self), looks.release()))
        with connected(served) as connection:
            sending = threading.Thread(target=connection.sendall, args=(pipelined(20),))
            sending.start()
            assert looks.acquire(timeout=WAIT)
            go.set()
            answer = b""
            while answer.count(b"HTTP/1.1 200 ") < 20 and (part := connection.recv(1 << 20)):
                answer += part
            sending.join(WAIT)
        assert answer.count(b"HTTP/1.1 200 ") == 20 == answer.count(b"HTTP/1.1 ")


LARGE = {"max_body": 9_000_000, "max_characters": 9_000_000}


@pytest.mark.parametrize("end", slow_after(1, ["closed", "idle", "refused", "slow"]))
def test_who_does_not_read_the_last_answer_is_cut_off(monkeypatch, end):
    """Closing waits until all is sent. The limits on the buffer would end it too: here they are high."""
    made = connections.Connection.connection_made

    def connection_made(self, transport):
        made(self, transport)
        transport.set_write_buffer_limits(high=1 << 30)

    monkeypatch.setattr(connections.Connection, "connection_made", connection_made)
    monkeypatch.setattr(server, "_MORE", -599.5)  # the application does not end a slow body first
    monkeypatch.setattr(server, "_IDLE", 1 if end == "idle" else 60)
    with serving(MODELS[0], body_seconds=600.0, **LARGE) as served:
        there = served.server.server_state.connections
        with unread(served, 8_000_000, end != "closed") as connection:
            until(lambda: served.server.server_state.total_requests == 1 and not served.service.in_flight)
            if end == "refused":
                connection.sendall(b"nonsense\r\n\r\n")
            elif end == "slow":
                connection.sendall(ASKED + BODY[:-1])
            until(lambda: not there)


@pytest.mark.slow
def test_who_reads_slowly_gets_the_last_answer(monkeypatch):
    """A reader that is slower than a connection's time, but not too slow."""
    made = connections.Connection.connection_made

    def connection_made(self, transport):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        made(self, transport)

    monkeypatch.setattr(connections.Connection, "connection_made", connection_made)
    monkeypatch.setattr(server, "_MORE", -9.5)
    with serving(MODELS[0], body_seconds=10.0, **LARGE) as served:
        with unread(served, 8_000_000, False, 1 << 16) as connection:
            began, size = time.monotonic(), 0
            while part := connection.recv(1 << 15 if time.monotonic() - began < 2 else 1 << 20):
                size += len(part)
                if time.monotonic() - began < 2:  # four times that time
                    time.sleep(0.01)
        assert size > 7_900_000
