"""Wrong and hostile requests: each has its answer, in the form of its dialect, and does not affect others."""

import asyncio
import http.client
import json
import logging
import socket
import threading

import httpx
import pytest

from tests.serve.serving import MODELS, serving

DEEP = "[" * 100_000 + "]" * 100_000
FORMS = {  # path of a translation -> (right request, the message of an error)
    "/v1/translate": ({"text": "One man.", "source": "en", "target": "de"}, lambda body: body["error"]["message"]),
    "/translate": ({"q": "One man.", "source": "en", "target": "de"}, lambda body: body["error"]),
    "/translate/batch": ({"texts": ["One man."], "from": "en", "to": "de"}, lambda body: body["error"]),
    "/v2/translate": ({"text": ["One man."], "source_lang": "EN", "target_lang": "DE"}, lambda body: body["message"]),
    "/language/translate/v2": (
        {"q": ["One man."], "source": "en", "target": "de"}, lambda body: body["error"]["errors"][0]["message"],
    ),
}  # fmt: skip
PATHS = pytest.mark.parametrize("path", FORMS)
BODIES = {
    "no JSON": (b"{", 400),
    "another type": (b"[]", 400),
    "text": (b'"a"', 400),
    "a number": (b"5", 400),
    "nothing": (b"", 400),
    "no UTF-8": (b'{"q": "\xff"}', 400),
    "UTF-16": ('{"q": "a"}'.encode("utf-16"), 400),
    "deep": (DEEP.encode(), 400),
    "deep in an object": (f'{{"q": {DEEP}}}'.encode(), 400),
    "nested": (('{"q": ' + "[" * 60 + "]" * 60 + "}").encode(), 400),
    "a huge integer": (f'{{"q": {"9" * 10_000}}}'.encode(), 400),
    "NaN": (b'{"q": NaN}', 400),
    "too large": (b'{"q": "' + b"a" * 1_000_000 + b'"}', 413),
}
WRONG = [None, 5, 1.5, True, {}, [1], [None], [["a"]], {"a": "b"}, "\ud800", ["\udfff"]]


@PATHS
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_broken_bodies(served, path, body):
    content, status = body
    answer = served.post(path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert FORMS[path][1](answer.json()) and len(answer.text) < 1000


@PATHS
def test_wrong_types(served, path):
    right, message = FORMS[path]
    assert served.post(path, json=right).status_code == 200
    for name in right:
        for value in WRONG:
            body = json.dumps({**right, name: value}).encode()
            answer = served.post(path, content=body, headers={"Content-Type": "application/json"})
            if value is None and name in ("source", "source_lang", "from"):
                continue  # as if it were not there: it is detected, or refused
            assert answer.status_code == 400, (name, value, answer.text)
            assert message(answer.json()) and "\ud800" not in answer.text
    served.json(path, right)


@PATHS
def test_texts_of_any_letters(served, path, translators):
    right, _ = FORMS[path]
    name = next(iter(right))
    for text in ("\x00", "a\x00b", "\u2028", "\U0010ffff", "\u202eabc", "�", "a" * 3000, "<<<<<" * 100, "&" * 100):
        served.json(path, {**right, name: text if isinstance(right[name], str) else [text]})


@PATHS
def test_other_methods_and_paths(served, path):
    answer = served.client.request("PATCH", path)
    assert answer.status_code == 405 and FORMS[path][1](answer.json()) == "Method not allowed"
    beside = f"{path}/nothing" if path != "/translate" else "/nothing"
    answer = served.client.get(beside)
    assert answer.status_code == 404 and FORMS[path][1](answer.json()) == "Not found"


@PATHS
def test_bodies_over_the_limit_that_say_no_length(served, path):
    def chunks():
        for _ in range(30):
            yield b"a" * 50_000

    answer = served.post(path, content=chunks(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413 and "1000000" in FORMS[path][1](answer.json())


@PATHS
def test_too_many_and_too_long_texts(path):
    right, message = FORMS[path]
    name = next(iter(right))
    with serving(MODELS[0], max_text=20, max_characters=30, max_texts=3) as served:
        for texts in (["a" * 21], ["a" * 11] * 3, ["a"] * 4):
            if path == "/translate" or isinstance(right[name], list):
                given = texts
            else:
                given = texts if len(texts) > 1 else texts[0]
            answer = served.post(path, json={**right, name: given})
            assert answer.status_code == 400 and "exceeds" in message(answer.json())
        served.json(path, right)


def test_options_that_are_not_allowed(served):
    right = FORMS["/v1/translate"][0]
    for options in ({"suppress_sequences": ["a"]}, {"glossary": "/etc/passwd"}, {"beam_size": 12}, {"beam_size": "4"},
                    {"beam_size": -1}, {"num_hypotheses": 10**30}, {"split": "none"}, {"protect": "/x"}, {"unknown": 1},
                    {"retry": "beam"}, {"max_length_factor": 99}, {"length_penalty": "high"}, {"glossary": {"a": 5}},
                    {"seed": {"a": 1}}, {"protect": [{}]}, {"rerank": "mbr"}, "beam", [1]):  # fmt: skip
        answer = served.post("/v1/translate", json={**right, "options": options})
        assert answer.status_code == 400, (options, answer.text)
        assert answer.json()["error"]["code"] == 400 and "Traceback" not in answer.text
    for given in ({"return": "all"}, {"return": 5}, {"stream": "maybe"}, {"html": 7}, {"stream": True, "text": ["a"]}):
        assert served.post("/v1/translate", json={**right, **given}).status_code == 400
    for path, given in (("/v1/translate", {**right, "beam_size": 4}), ("/v1/detect", {"text": "a", "beam_size": 4})):
        answer = served.post(path, json=given)  # which would do nothing there
        assert answer.status_code == 400
        assert "the request has beam_size, which is not allowed" in answer.json()["error"]["message"]


def test_a_fault_of_the_engine_is_one_answer(monkeypatch, translators, caplog):
    """For any error, and for all in the same batch."""
    with serving() as served:
        translator = served.service.host.between("en", "de").translator
        whole = translator.translate_sentences

        def raising(texts, forced, settings):
            if any("trouble" in text for text in texts):
                raise RuntimeError("/secret/path and text")
            return whole(texts, forced, settings)

        monkeypatch.setattr(translator, "translate_sentences", raising)
        answers = {}

        def ask(path, text):
            right, _ = FORMS[path]
            name = next(iter(right))
            body = {**right, name: text if isinstance(right[name], str) else [text]}
            answers[path, text] = served.post(path, json=body)

        asked = [(path, text) for path in FORMS for text in ("trouble", "Two dogs are playing.")]
        threads = [threading.Thread(target=ask, args=one) for one in asked]
        with caplog.at_level(logging.DEBUG):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for (path, text), answer in answers.items():
            if text == "trouble":
                assert answer.status_code == 500
                assert FORMS[path][1](answer.json()) == "Internal server error" and "secret" not in answer.text
            else:
                assert answer.status_code == 200 and "Zwei Hunde spielen" in answer.text
        ours = [record.getMessage() for record in caplog.records if record.name.startswith("cpunmt")]
        assert ours == ["a request failed: RuntimeError"] * len(FORMS)
        caplog.clear()
        stream = {"text": "trouble", "source": "en", "target": "de", "stream": True}
        answer = served.post("/v1/translate", json=stream)
        event = 'event: error\ndata: {"code": 500, "message": "Internal server error"}\n\n'
        assert (answer.status_code, answer.text) == (200, event)
        assert [record.getMessage() for record in caplog.records if record.name.startswith("cpunmt")] == [
            "a request failed: RuntimeError"
        ]


def test_clients_that_leave_take_their_sentences_along(served):
    for _ in range(20):
        connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
        body = json.dumps(
            {"text": " ".join(f"A man number {n} walks." for n in range(400)), "source": "en", "target": "de"}
        )
        connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
        connection.close()
    assert served.json("/translate", FORMS["/translate"][0]) == {"translatedText": "Ein Mann."}
    idle(served)


def test_a_stream_whose_client_leaves(served):
    text = " ".join(f"A woman number {n} walks." for n in range(400))
    body = {"text": text, "source": "en", "target": "de", "stream": True}
    with served.client.stream("POST", "/v1/translate", json=body) as answer:
        next(answer.iter_text())
    idle(served)


def idle(served):
    """Waits until nothing is in progress or waiting."""
    from tests.serve.scheduling import until

    until(lambda: served.service.in_flight == 0 and served.service.scheduler.queued == 0)


def test_requests_that_are_no_http(served):
    host, _, port = served.url.removeprefix("http://").partition(":")
    for content in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"x: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            try:
                connection.sendall(content)
                answer = connection.recv(1 << 16)
            except (ConnectionResetError, BrokenPipeError):
                continue
            assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
            assert b"Traceback" not in answer
    assert served.json("/translate", FORMS["/translate"][0]) == {"translatedText": "Ein Mann."}


@PATHS
def test_requests_of_two_lengths_end_the_connection(served, path):
    """The rest may be another client's request, smuggled past a proxy: it is not answered."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(head.encode() + b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.lower()


@PATHS
def test_requests_of_two_lengths_below_another_server(served, path):
    """A server that forwards them: the application refuses them itself."""

    async def asked():
        transport = httpx.ASGITransport(served.server.config.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.post(
                path, content=b"0", headers={"Transfer-Encoding": "chunked", "Content-Length": "1"}
            )

    answer = asyncio.run(asked())
    assert answer.status_code == 400 and answer.headers["connection"] == "close"
    assert "twice" in FORMS[path][1](answer.json())
