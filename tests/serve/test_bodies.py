"""Bodies of requests: while they arrive, before they are parsed, and at the limits of their contents."""

import asyncio
import contextlib
import json
import time
from urllib.parse import quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from starlette.requests import Request

from cpunmt.serve import parameters
from cpunmt.serve.errors import ServeError
from cpunmt.serve.keys import Keys
from cpunmt.serve.parameters import Parameters
from cpunmt.serve.queue import arriving
from cpunmt.serve.queue.arriving import Arriving
from cpunmt.serve.settings import ServeSettings
from tests.serve.serving import MODELS, serving


class Arrivals(RuleBasedStateMachine):
    """Bodies that come in parts, against a list: [its bytes, its task], the oldest first."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.arriving, self.held, self.ended = Arriving(), [], {}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(arriving, "MOST_BYTES", 100)

    def turn(self, *coroutine):
        """Runs the loop until it is idle."""

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

KEYS = ["sesame öffne dich", 'a"b\\c', "plain", "q3+Zx/9=", "a&b", "50%25off"]
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
    """Returns the parameters of a body, as in a request."""

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
    def texts(count):
        return {"max_texts": ["a"] * count, "max_text": ["a" * count], "max_characters": ["a" * (count - 4), "aaaa"]}[
            name
        ]

    limits = ServeSettings(**{name: most})
    for count in (most - 1, most):
        assert parameters.checked_texts(texts(count), limits) == texts(count)
    with pytest.raises(ServeError, match=r"exceeds .*limit"):
        parameters.checked_texts(texts(most + 1), limits)


@pytest.mark.parametrize("depth, is_right", [(parameters._DEEPEST - 2, True), (parameters._DEEPEST - 1, False)])
def test_json_is_as_deep_as_it_may_be(depth, is_right):
    """Besides the object, and the number that is in all lists."""
    content = b'{"q":' + b"[" * depth + b"1" + b"]" * depth + b"}"
    if is_right:
        assert read(content)
    else:
        with pytest.raises(ServeError, match="nested too deeply"):
            read(content)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_bodies_and_forms_end_at_their_limits(more):
    content = b"q=".ljust(1_000_000 + more, b"a")
    form = "application/x-www-form-urlencoded"
    fields = b"&".join([b"a=b"] * (10_000 + more))
    if more <= 0:
        assert len(read(content, form)["q"]) == 999_998 + more and len(read(fields, form)["a"]) == 10_000 + more
    else:
        with pytest.raises(ServeError, match="larger than 1000000 bytes"):
            read(content, form)
        with pytest.raises(ServeError, match="more than 10000 fields"):
            read(fields, form)


@pytest.mark.parametrize("count", [100, 101])
def test_a_multipart_form_has_a_hundred_fields(count):
    part = '--b\r\nContent-Disposition: form-data; name="q"\r\n\r\na\r\n'
    content = (part * count + "--b--\r\n").encode()
    if count <= 100:
        assert read(content, "multipart/form-data; boundary=b") == {"q": ["a"] * count}
    else:
        with pytest.raises(ServeError, match="multipart form is broken"):
            read(content, "multipart/form-data; boundary=b")


def test_a_text_that_looks_like_a_key_hides_none():
    for body in (b'{"key": "none", "api_key": "plain"}', b"key=none&api_key=plain"):
        Keys(KEYS).check_body(body)


def test_a_file_with_keys_hides_none():
    urls = "".join(f"see http://a.b/?a=1&key=abc{n} here\r\n" for n in range(25))
    file = f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{urls}\r\n'
    Keys(KEYS).check_body(f'{file}--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\na&b\r\n--b--'.encode())


@pytest.mark.parametrize("wrong", [19, 20])
@pytest.mark.parametrize("form", ['{"key": "%s"}', "&key=%s"])
def test_twenty_places_of_a_body_may_hold_a_key(form, wrong):
    body = "".join(form % key for key in [*["none"] * wrong, "plain"]).encode()
    with contextlib.nullcontext() if wrong < 20 else pytest.raises(ServeError, match="Invalid API key"):
        Keys(KEYS).check_body(body)


@pytest.mark.parametrize("lists, status", [(39, 200), (40, 400)])
def test_json_has_forty_levels_at_most(served, lists, status):
    """The object around the lists is a level."""
    body = f'{{"q": "One man.", "source": "en", "target": "de", "x": {"[" * lists}{"]" * lists}}}'
    answer = served.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
