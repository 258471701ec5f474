"""Misbehaving connections, on a port of this machine: each is ended, and others continue."""

import json
import socket
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.serve import server
from cpunmt.serve.connections import MOST_HEAD
from tests.serve.serving import MODELS, serving

WAIT = 20
BODY = json.dumps({"q": "One man.", "source": "en", "target": "de"}).encode()
ASKED = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)
RIGHT = {"translatedText": "Ein Mann."}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def strict():
    """Starts a server with few connections, which have half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_MORE", 0.3)
        with serving(MODELS[0], body_seconds=0.2, max_connections=8) as served:
            yield served


def connected(served):
    host, _, port = served.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=WAIT)


def to_the_end(connection):
    """Returns the bytes until the other side ends the connection."""
    answer = b""
    try:
        while part := connection.recv(1 << 16):
            answer += part
    except ConnectionResetError:  # it had sent more than was read
        pass
    return answer


def test_who_says_nothing_is_sent_away(strict):
    with connected(strict) as connection:
        assert to_the_end(connection) == b""


@pytest.mark.parametrize("begun", [b"G", b"POST /translate HTTP/1.1\r\nHost: a\r\n", b"GET / HTTP/1.1\r\nx: aaa"])
def test_a_head_without_an_end(strict, begun):
    with connected(strict) as connection:
        connection.sendall(begun)
        assert to_the_end(connection).startswith(b"HTTP/1.1 408 ")


def test_a_second_request_that_does_not_come(strict):
    with connected(strict) as connection:
        connection.sendall(ASKED + BODY + ASKED[:20])
        answer = to_the_end(connection)
    assert answer.startswith(b"HTTP/1.1 200 ") and json.dumps(RIGHT, separators=(",", ":")).encode() in answer
    assert answer.count(b"HTTP/1.1 408 ") == 1


def test_a_byte_from_time_to_time_gains_nothing(strict):
    began = time.monotonic()
    with connected(strict) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        answer = b""
        while not answer:
            connection.settimeout(0.05)
            try:
                connection.send(b"a")
                answer = connection.recv(1 << 16)
            except TimeoutError:
                assert time.monotonic() - began < WAIT
            except OSError:
                break
    assert answer.startswith(b"HTTP/1.1 408 ") or not answer


@pytest.mark.parametrize("in_one", [True, False])
@pytest.mark.parametrize(
    "head",
    [b"x: " + b"a" * 2 * MOST_HEAD, b"x: a\r\n" * MOST_HEAD, b"x" * 2 * MOST_HEAD],
    ids=["value", "many", "name"],
)
def test_heads_that_are_too_long(strict, head, in_one):
    content = b"GET /health HTTP/1.1\r\n" + head + b"\r\n\r\n"
    with connected(strict) as connection:
        try:
            for begin in range(0, len(content), len(content) if in_one else 10_000):
                connection.sendall(content[begin : begin + (len(content) if in_one else 10_000)])
        except (ConnectionResetError, BrokenPipeError):  # it has been refused
            pass
        answer = to_the_end(connection)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))


def test_a_long_head_is_refused_by_its_status_and_one_at_the_limit_taken(served):
    for size, status in ((MOST_HEAD - 100, b"200"), (MOST_HEAD + 1, b"431")):
        with connected(served) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nx: " + b"a" * size + b"\r\n\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 " + status)


def test_more_connections_than_there_may_be(strict):
    with connected(strict) as kept:
        kept.sendall(ASKED + BODY)
        assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        others = [connected(strict) for _ in range(12)]
        refused = [to_the_end(one) for one in others]
        assert refused.count(b"") <= 8 and sum(one.startswith(b"HTTP/1.1 503 ") for one in refused) >= 4
        kept.sendall(ASKED + BODY)
        assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        for one in others:
            one.close()
    assert strict.json("/translate", json.loads(BODY)) == RIGHT


def test_as_many_connections_as_there_may_be():
    with serving(MODELS[0], max_connections=3) as served:
        held = [connected(served) for _ in range(4)]
        answers = []
        for one in held:
            one.sendall(ASKED + BODY)
            answers.append(one.recv(1 << 16)[:13])
        assert answers == [b"HTTP/1.1 200 "] * 3 + [b"HTTP/1.1 503 "]
        for one in held:
            one.close()


def test_many_requests_in_a_row_are_answered_in_order(served):
    with connected(served) as connection:
        texts = [f"Number {n}." for n in range(20)]
        for text in texts:
            body = json.dumps({"q": text, "source": "en", "target": "en"}).encode()
            connection.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = b""
        while answer.count(b"}") < len(texts):
            answer += connection.recv(1 << 16)
        answers = answer.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [json.loads(one.partition(b"\r\n\r\n")[2])["translatedText"] for one in answers] == texts


@settings(max_examples=20)
@given(st.sets(st.integers(1, len(ASKED + BODY) - 1), max_size=12))
def test_it_does_not_matter_where_packets_end(served, ends):
    content = ASKED + BODY
    with connected(served) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for begin, end in zip([0, *sorted(ends)], [*sorted(ends), len(content)], strict=True):
            connection.sendall(content[begin:end])
            time.sleep(0.001)
        answer = connection.recv(1 << 16)
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == RIGHT


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n"


def test_who_asks_for_another_protocol_is_answered_in_this_one(served):
    """Java's client does so, with a body."""
    content = ASKED[:-2] + UPGRADE + b"\r\n" + BODY
    with connected(served) as connection:
        for _ in range(2):  # and the connection goes on
            connection.sendall(content)
            assert json.loads(connection.recv(1 << 16).partition(b"\r\n\r\n")[2]) == RIGHT
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUPGRADE: websocket\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_a_wish_in_two_packets_ends_the_connection(served):
    begin, end = (ASKED[:-2] + UPGRADE + b"\r\n" + BODY).split(b"grade: h2c")
    with connected(served) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(begin)
        time.sleep(0.05)
        connection.sendall(b"grade: h2c" + end)
        answer = to_the_end(connection)
    assert (
        answer.startswith(b"HTTP/1.1 ") and answer.count(b"HTTP/1.1 ") == 1 and b"connection: close" in answer.lower()
    )


def test_a_body_that_speaks_of_upgrades_stays_as_it_is(served):
    text = "A dog.\r\nUpgrade: nothing\r\n\r\nUpgrade: all"
    assert served.json("/translate", {"q": text, "source": "en", "target": "en"}) == {"translatedText": text}
    answer = served.client.post("/translate?source=en&target=en", content=b"q=a\r\nupgrade: b", headers=FORM)
    assert answer.json() == {"translatedText": "a\nupgrade: b"}
