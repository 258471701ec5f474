"""Clients that would keep a connection, memory or a place for ever: each is ended, and others do not notice."""

import asyncio
import contextlib
import json
import signal
import socket
import threading
import time
from urllib.parse import quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from cpunmt.serve import connections, parameters, server
from cpunmt.serve.errors import ServeError
from cpunmt.serve.keys import Keys
from cpunmt.serve.parameters import Parameters
from cpunmt.serve.queue import arriving
from cpunmt.serve.queue.arriving import Arriving
from tests.serve.scheduling import WAIT, until
from tests.serve.serving import MODELS, serving
from tests.serve.test_connections import ASKED, BODY, RIGHT, connected, to_the_end

PAIR = {"source": "en", "target": "en"}


@pytest.fixture(scope="module")
def hasty():
    """A server that gives a connection half a second for anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_MORE", 0.3)
        patch.setattr(server, "_IDLE", 1)
        with serving(MODELS[0], body_seconds=0.2, max_requests=2) as served:
            yield served


def is_ended(connection):
    """Whether the other side ends the connection, while it is sent empty lines."""
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


def unread(served, size, keep):
    """A connection whose answer of so many bytes nobody reads."""
    connection = connected(served)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({"text": "x" * 50, **PAIR, "return": ["sentences"]}).encode()
    text = json.dumps({"q": ["y" * 49_000] * (size // 49_000), **PAIR}).encode() if size else body
    head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n"
    connection.sendall(head % (len(text), b"" if keep else b"Connection: close\r\n") + text)
    return connection


@pytest.mark.parametrize("keep", [True, False])
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
    assert json.loads(answer.partition(b"\r\n\r\n")[2].partition(b"HTTP/")[0]) == RIGHT


def test_requests_that_wait_for_their_turn_are_few(monkeypatch):
    """A client sends one request after the other, of which none is answered: the server reads no further."""
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
            first = len(there.pipeline)
            go.set()
            connection.settimeout(WAIT)
            until(lambda: served.server.server_state.total_requests >= first)
            assert len(there.pipeline) < 20


def held_by(translated, go):
    async def later(*given):
        while not go.is_set():
            await asyncio.sleep(0.01)
        return await translated(*given)

    return later


def test_slow_bodies_take_no_place(hasty):
    """Two requests may be in progress: nine that arrive slowly are none."""
    held = [connected(hasty) for _ in range(9)]
    for one in held:
        one.sendall(ASKED + BODY[:-1])
    assert hasty.json("/translate", json.loads(BODY)) == RIGHT
    assert all(to_the_end(one).startswith(b"HTTP/1.1 408 ") for one in held)
    for one in held:
        one.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
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


def test_broken_forms_are_not_told_on_stderr(process):
    started = process()
    for body in (b"no boundary", b"--b\r\nx: y\r\n", b"--b--\r\nmore and more", b"--b\r\n\r\nx\r\n--b--\r\n\r\nmore"):
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        assert started.client.post("/translate", content=body, headers=kind).status_code == 400
    started.process.terminate()
    assert started.ended() == (0, "")


class Arrivals(RuleBasedStateMachine):
    """Bodies that come in parts, against a list: [its bytes, its task], the oldest first."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.arriving, self.held, self.ended = Arriving(), [], {}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(arriving, "MOST_BYTES", 100)

    def turn(self, *coroutine):
        """The loop goes on until nothing is left to do at once."""

        async def some():
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(some())

    @rule()
    def begin(self):
        parts = asyncio.Queue()

        async def arrive():
            try:
                with self.arriving.one() as held:
                    while (count := await parts.get()) is not None:
                        held(count)
                return "whole"
            except ServeError as error:
                return error.status

        self.held.append([0, self.loop.create_task(arrive()), parts])
        self.turn()

    @rule(which=st.integers(0, 9), count=st.integers(0, 101))
    def more(self, which, count):
        if self.held:
            one = self.held[which % len(self.held)]
            one[2].put_nowait(count)
            self.turn()
            one[0] += count
            while sum(other[0] for other in self.held) > 100 and len(self.held) > 1:
                self.over(next(other for other in self.held if other is not one), 408)

    @rule(which=st.integers(0, 9))
    def whole(self, which):
        if self.held:
            one = self.held[which % len(self.held)]
            one[2].put_nowait(None)
            self.turn()
            self.over(one, "whole")

    @rule(which=st.integers(0, 9))
    def left_by_others(self, which):
        if self.held:
            one = self.held[which % len(self.held)]
            one[1].cancel()
            self.turn()
            assert one[1].cancelled()
            self.held.remove(one)

    @rule()
    def end(self):
        self.arriving.end_all(ServeError(503, "the end"))
        self.turn()
        for one in list(self.held):
            self.over(one, 503)

    def over(self, one, how):
        self.turn()
        assert one[1].done() and one[1].result() == how
        self.held.remove(one)

    @invariant()
    def all_are_counted(self):
        assert len(self.arriving) == len(self.held) and not any(one[1].done() for one in self.held)
        assert self.arriving._bytes == sum(one[0] for one in self.held) and not self.arriving._ended

    def teardown(self):
        self.end()
        self.loop.close()
        self.patch.undo()


Arrivals.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
test_bodies_that_arrive_have_one_limit_together = Arrivals.TestCase

KEYS = ["sesame öffne dich", 'a"b\\c', "plain"]
ANY_JSON = st.recursive(
    st.none() | st.integers() | st.text('ab"\\{}[]:,ä', max_size=9), lambda inner: st.lists(inner, max_size=3)
)


@given(
    st.sampled_from(["api_key", "apiKey", "auth_key", "key", "token"]),
    st.sampled_from([*KEYS, "wrong"]),
    ANY_JSON,
    st.booleans(),
)
def test_a_key_in_a_body_is_found_before_it_is_parsed(name, key, other, is_ascii):
    bodies = [
        json.dumps({"q": other, name: key, "more": other}, ensure_ascii=is_ascii, indent=2).encode(),
        f"q={'a' * 9}&{name}={quote_plus(key)}&b=c".encode(),
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\nx: y\r\n\r\n{key}\r\n--b--'.encode(),
    ]
    for body in bodies:
        if key in KEYS:
            Keys(KEYS).check_body(body)
        else:
            with pytest.raises(ServeError, match="Invalid API key"):
                Keys(KEYS).check_body(body)
    with pytest.raises(ServeError, match="An API key is required"):
        Keys(KEYS).check_body(json.dumps({"q": [other, f'"{name}": "{key}"', f"&{name}x={key}"]}).encode())


@pytest.mark.parametrize("size", [100, 100_000])
def test_keys_come_before_parsing(size, monkeypatch):
    parsed = []
    monkeypatch.setattr(parameters, "_parsed", lambda kind, content: parsed.append(kind) or {})
    with serving(MODELS[0], api_keys=["sesame"]) as served:
        for body in (b"[" * size, b'{"q":"' + b"a" * size + b'","api_key":"sesam"}'):
            answer = served.post("/translate", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 403 and not parsed
        for key in ({"headers": {"X-Api-Key": "sesame"}}, {"params": {"api_key": "sesame"}}):
            assert served.post("/translate", content=b"[" * size, **key).status_code == 400
        assert len(parsed) == 2


def read(content, kind="application/json"):
    """The parameters of a body, as a request has them."""
    from starlette.requests import Request

    from cpunmt.serve.settings import ServeSettings

    async def receive():
        return {"type": "http.request", "body": content, "more_body": False}

    headers = [(b"content-type", kind.encode())]
    request = Request({"type": "http", "method": "POST", "query_string": b"", "headers": headers}, receive)
    return asyncio.run(parameters.read_parameters(request, ServeSettings()))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 3), st.lists(st.sampled_from(['"', "\\", "a", "{", "ä"]), max_size=9).map("".join))
def test_json_has_so_much_outside_of_its_texts(more, text):
    """Texts may be long; 64 KB of the rest are read, and one byte more is not."""
    content = json.dumps({"q": [text * 3000] * 3 + ["x" * 70_000]}).encode()
    structure = len("{: [, , , ]}")
    content += b" " * (parameters._SHORT - structure + more - 1)
    if more <= 1:
        assert read(content) == {"q": [text * 3000] * 3 + ["x" * 70_000]}
    else:
        with pytest.raises(ServeError, match="outside of its texts"):
            read(content)


@pytest.mark.parametrize("end", [b"", b'"', b"\\", b'\\"'])
def test_texts_without_an_end_take_no_time(end):
    content = b'{"q": "' + b'\\"' * 450_000 + end
    began = time.process_time()
    with pytest.raises(ServeError, match="not valid JSON"):
        read(content)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("value, is_right", [(0, True), (7, True), (8, False), (-1, False), ("7", True), ("8", False)])
def test_counts_end_at_their_limit(value, is_right):
    given = Parameters(n=value)
    if is_right:
        assert given.count("n", 3, 7) == int(value)
    else:
        with pytest.raises(ServeError, match="n must be an integer from 0 to 7"):
            given.count("n", 3, 7)


@pytest.mark.parametrize("name, most", [("max_texts", 3), ("max_text", 5), ("max_characters", 9)])
def test_limits_of_texts_are_what_is_still_taken(name, most):
    from cpunmt.serve.settings import ServeSettings

    def texts(count):
        return {"max_texts": ["a"] * count, "max_text": ["a" * count], "max_characters": ["a" * (count - 4), "aaaa"]}[
            name
        ]

    limits = ServeSettings(**{name: most})
    for count in (most - 1, most):
        assert parameters.checked_texts(texts(count), limits) == texts(count)
    with pytest.raises(ServeError, match=r"exceeds .*limit"):
        parameters.checked_texts(texts(most + 1), limits)
