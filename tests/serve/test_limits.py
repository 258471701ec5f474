"""Keys, origins, limits on requests in progress, counters, and the application mounted in another one."""

import asyncio
import contextlib
import dataclasses
import re
import resource
import socket
import threading
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.routing import Mount

from cpunmt.engine import program
from cpunmt.errors import CpunmtError
from cpunmt.serve import ServeSettings, create_app, keys, server
from cpunmt.serve.keys import Keys, given_key, owner_of, read_keys
from cpunmt.serve.server import server_of
from tests.serve.scheduling import WAIT, until
from tests.serve.serving import MODELS, serving
from tests.serve.test_faults import FORMS

KEY = "sesame öffne dich"


@pytest.fixture(scope="module")
def locked():
    with serving(MODELS[0], api_keys=["another", KEY]) as served:
        yield served


@pytest.mark.parametrize("path", FORMS)
def test_only_who_has_a_key_is_served(locked, path):
    right, message = FORMS[path]
    for wrong in ("", "sesam", KEY + " ", "another,"):
        if wrong.strip() != KEY:
            answer = locked.post(path, json={**right, "api_key": wrong})
            assert answer.status_code == 403 and "key" in message(answer.json()) and "sesam" not in answer.text
    for name in ("api_key", "apiKey", "auth_key", "key", "token"):
        assert locked.post(path, json={**right, name: KEY}).status_code == 200
        assert locked.client.post(path, params={name: KEY}, json=right).status_code == 200
    written = KEY.encode().decode("latin-1")  # as a header's bytes are read
    for headers in (
        {"Authorization": "Bearer another"},
        {"Authorization": "DeepL-Auth-Key another"},
        {"X-Api-Key": "another"},
    ):
        assert locked.post(path, json=right, headers=headers).status_code == 200
    assert locked.post(path, json=right, headers={"X-Api-Key": written.encode("latin-1")}).status_code in (200, 403)


SAID = {  # how a key may be said -> whether it is one
    "X-Api-Key": True,
    "X-Goog-Api-Key": True,
    "Authorization: Bearer": True,
    "Authorization: DeepL-Auth-Key": True,
    "Authorization": True,
    "Authorization: Basic": False,
    "Authorization: Digest": False,
    "api_key": True,
    "token": True,
}


@given(st.dictionaries(st.sampled_from(sorted(SAID)), st.sampled_from(["right", "wrong", "cHJveHk6cHc="]), max_size=4))
def test_a_right_key_counts_whatever_else_a_proxy_says(said):
    headers, parameters = [], {}
    for how, key in said.items():
        name, _, scheme = how.partition(": ")
        if how.islower():
            parameters[how] = key
        else:
            headers.append((name.lower().encode(), f"{scheme} {key}".strip().encode()))
    alone = [key for how, key in said.items() if SAID[how]]
    assert given_key(headers, parameters) in (alone or [""])
    found = given_key(headers, parameters, Keys(["right", "other"]))
    assert found == "right" if "right" in alone else found in (alone or [""])


def test_a_proxy_with_a_password_of_its_own(locked):
    right, message = FORMS["/translate"]
    basic = {"Authorization": "Basic cHJveHk6cHc="}
    assert locked.post("/translate", json=right, headers={**basic, "X-Api-Key": "another"}).status_code == 200
    assert locked.post("/translate", json={**right, "api_key": "another"}, headers=basic).status_code == 200
    bearer = {"Authorization": "Bearer eyJhbGciOi.J9", "X-Api-Key": "another"}  # another proxy's header
    assert locked.post("/translate", json=right, headers=bearer).status_code == 200
    answer = locked.post("/translate", json=right, headers=basic)
    assert (answer.status_code, message(answer.json())) == (403, "An API key is required")
    answer = locked.post("/translate", json=right, headers={"X-Api-Key": "wrong"})
    assert (answer.status_code, message(answer.json())) == (403, "Invalid API key")


def test_what_watches_a_server_needs_no_key(locked):
    for path in ("/health", "/ready", "/metrics", "/languages", "/frontend/settings", "/openapi.json"):
        assert locked.client.get(path).status_code == 200
    assert locked.client.get("/frontend/settings").json()["keyRequired"] is True
    assert locked.client.get("/v1/models").status_code == 403


def test_keys_are_found_and_kept_nowhere(tmp_path, monkeypatch):
    assert given_key([(b"authorization", b"deepl-auth-key a")], {"key": "b"}) == "a" and given_key([], {"key": 5}) == ""
    for coding in ("utf-8", "latin-1"):
        assert given_key([(b"x-api-key", "schlüssel".encode(coding))], {}) == "schlüssel"
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    assert read_keys(str(tmp_path / "marked")) == ("one", "two")
    assert (
        KEY not in str(vars(Keys([KEY])))
        and KEY not in owner_of(KEY)
        and KEY not in repr(ServeSettings(api_keys=[KEY]))
    )
    path = tmp_path / "keys"
    path.write_text(f"# ours\n\n one \n{KEY}\n", "utf-8")
    assert read_keys(str(path)) == ("one", KEY)
    for content, said in ((b"# none\n", "has no API key"), (b"\xff", "not UTF-8")):
        path.write_bytes(content)
        with pytest.raises(CpunmtError, match=said):
            read_keys(str(path))
    with pytest.raises(CpunmtError, match="cannot read the API keys"):
        read_keys(str(tmp_path))
    monkeypatch.setattr(keys, "_MOST", 5)
    path.write_text("abcde")
    assert read_keys(str(path)) == ("abcde",)
    path.write_text("abcdef")
    with pytest.raises(CpunmtError, match="API keys of more than 5 characters; wrong file"):
        read_keys(str(path))


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/nothing"])
def test_every_origin_may_ask(served, path):
    for answer in (
        served.post(path, headers={"Origin": "https://a.example"}),
        served.client.get(path, headers={"Origin": "null"}),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
    asked = {
        "Origin": "https://a.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key",
    }
    answer = served.client.options(path, headers=asked)
    assert answer.status_code == 200 and "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-max-age"] == "86400"


class Held:
    """A server whose translations wait."""

    def __init__(self, served, monkeypatch):
        translator = served.service.host.between("en", "de").translator
        whole, self.go, self.begun = translator.translate_sentences, threading.Event(), threading.Event()

        def waiting(*given):
            self.begun.set()
            assert self.go.wait(WAIT)
            return whole(*given)

        monkeypatch.setattr(translator, "translate_sentences", waiting)


def test_what_is_too_much_is_refused_for_now(monkeypatch):
    with serving(MODELS[0], max_requests=2) as served:
        held, answers = Held(served, monkeypatch), []
        texts = iter("abcdefg")
        asking = [
            threading.Thread(
                target=lambda: answers.append(
                    served.post("/translate", json={"q": next(texts), "source": "en", "target": "de"})
                )
            )
            for _ in range(2)
        ]
        for thread in asking:
            thread.start()
        until(lambda: served.service.in_flight == 2)
        for path, (right, message) in FORMS.items():
            answer = served.post(path, json=right)
            assert (
                answer.status_code == 503
                and int(answer.headers["retry-after"]) >= 1
                and "busy" in message(answer.json())
            )
        assert served.client.get("/health").status_code == 200 and served.client.get("/ready").status_code == 200
        held.go.set()
        for thread in asking:
            thread.join(WAIT)
        assert sorted(answer.status_code for answer in answers) == [200, 200]


def test_slow_clients_are_sent_away():
    with serving(MODELS[0], body_seconds=0.2) as served:
        host, _, port = served.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=WAIT) as connection:
            connection.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nq=")
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        assert answer.startswith(b"HTTP/1.1 408") and b'{"error":"The request took too long to arrive"}' in answer


def test_counters(served):
    def counted():
        families = text_string_to_metric_families(served.client.get("/metrics").text)
        return {
            (sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples
        }

    before = counted()
    served.json("/translate", {"q": "A sentence of the counters. And another.", "source": "en", "target": "de"})
    served.json("/translate", {"q": "A sentence of the counters.", "source": "en", "target": "de"})
    served.post("/translate", json={})
    after = counted()

    def more(*name):
        return after.get(name, 0) - before.get(name, 0)

    assert (
        more("cpunmt_requests_total", "/translate", "200") == 2
        and more("cpunmt_requests_total", "/translate", "400") == 1
    )
    assert (more("cpunmt_sentences_total"), more("cpunmt_cache_hits_total"), more("cpunmt_sentences_asked_total")) == (
        2,
        1,
        3,
    )
    assert after["cpunmt_queued_sentences",] == 0 and after["cpunmt_model_bytes",] > 1e6
    assert "counters" not in served.client.get("/metrics").text


def test_wrong_settings_are_refused():
    for wrong in ({"workers": 0}, {"cache_mb": -1}, {"deadline": 0}, {"max_body": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
            ServeSettings(**wrong)
    for wrong in ({"workers": 1.5}, {"preload": 1}, {"api_keys": "abc"}, {"api_keys": [""]}, {"unknown": 1}):
        with pytest.raises(TypeError):
            ServeSettings(**wrong)
    with pytest.raises(TypeError, match="expected either"):
        create_app(MODELS, settings=ServeSettings(), workers=2)


DAY, MANY = 86400.0, 1 << 20
RANGES = {
    **{"workers": (1, 256), "max_requests": (1, 4096), "max_alternatives": (0, 63), "quota": (0, 1 << 50)},
    **dict.fromkeys(["batch_tokens", "max_connections", "max_texts"], (1, MANY)),
    **dict.fromkeys(["cache_mb", "max_glossaries"], (0, MANY)),
    **dict.fromkeys(["max_queued", "max_body", "max_file", "max_text", "max_characters"], (1, 1 << 30)),
    **{"deadline": (0.01, DAY), "body_seconds": (0.01, DAY), "drain": (0.0, DAY)},
    **dict.fromkeys(["memory", "max_rate"], (0, 1 << 30)),
    **{"idle_unload": (0.0, 1e9), "quota_hours": (0.0, 1e6)},
}


@pytest.mark.parametrize("name", RANGES)
def test_a_setting_has_its_range(name):
    low, high = RANGES[name]
    for right in (low, high):
        assert getattr(ServeSettings(**{name: right}), name) == right
    step = 1 if isinstance(low, int) else 0.001
    for wrong in (low - step, high + step):
        with pytest.raises(ValueError, match=name):
            ServeSettings(**{name: wrong})


def test_every_setting_of_a_number_has_one():
    numbers = [one.name for one in dataclasses.fields(ServeSettings) if type(one.default) in (int, float)]
    assert sorted(numbers) == sorted(RANGES)


def test_settings_that_are_no_limits_have_their_defaults():
    rest = {"workers": 1, "batch_tokens": 1024, "cache_mb": 64, "drain": 30.0, "preload": True, "api_keys": ()}
    rest |= dict.fromkeys(["idle_unload", "memory", "quota", "quota_hours", "max_rate"], 0)
    rest |= {"no_files": False, "no_page": False, "url_prefix": "", "max_file": 10_000_000}
    assert {name: getattr(ServeSettings(), name) for name in rest} == rest


def test_uvicorn_is_told_our_limits():
    config = server_of(MODELS[:1], "127.0.0.1", 0, ServeSettings(max_connections=7, body_seconds=2.0)).config
    assert (config.timeout_keep_alive, config.timeout_graceful_shutdown, config.backlog) == (30, 1, 2048)
    assert (config.access_log, config.server_header, config.proxy_headers) == (False, False, False)
    assert (config.http.most, config.http.seconds) == (7, 7.0)


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((1024, 4096), (1256, 4096)),
        ((1024, 1100), (1100, 1100)),
        ((1024, resource.RLIM_INFINITY), (1256, resource.RLIM_INFINITY)),
        ((1255, 4096), (1256, 4096)),
        ((1256, 4096), None),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None),
    ],
)
def test_a_server_may_open_as_many_files_as_it_needs(monkeypatch, limits, wanted):
    made = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: made.append((which, new)))
    server._may_open(1000)
    assert made == ([] if wanted is None else [(resource.RLIMIT_NOFILE, wanted)])


def test_another_application_mounts_it(translators):
    inner = create_app(MODELS[0], cache_mb=1)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with inner.router.lifespan_context(inner):
            yield

    outer = Starlette(routes=[Mount("/nmt", inner)], lifespan=lifespan)

    async def asked():
        async with lifespan(outer):
            transport = httpx.ASGITransport(outer)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                right = {"q": "Two dogs.", "source": "en", "target": "de"}
                found = await client.post("/nmt/translate", json=right)
                missing = await client.get("/nmt/v2/nothing")
                file = await client.post("/nmt/translate_file", files={"file": ("a.txt", "One man.")}, data=right)
                fetched = await client.get(file.json()["translatedFileUrl"])
                return found.json(), missing.json(), fetched.text

    found, missing, fetched = asyncio.run(asked())
    assert found == {"translatedText": translators["en", "de"].translate("Two dogs.").text} and fetched == "Ein Mann."
    assert missing == {"message": "Not found"}


def test_models_that_are_idle_are_unloaded():
    with serving(MODELS[0], idle_unload=0.1, preload=True) as served:
        until(lambda: served.service.is_ready)
        until(lambda: served.service.host.loaded_bytes == 0)
        right = FORMS["/translate"][0]
        assert served.json("/translate", right) == {"translatedText": "Ein Mann."}
        assert served.client.get("/v1/models").json()["models"][0]["source"] == "en"


def test_a_program_that_cannot_be_made_is_known_at_the_start(monkeypatch, caplog):
    """Before the first request."""

    def fails():
        raise OSError("no room for the cache")

    monkeypatch.setattr(program, "load", fails)
    with serving(MODELS[0]) as served:
        until(lambda: served.service.failure)
        assert not served.service.is_ready and served.service.failure == "OSError"
    assert "cannot start: OSError" in caplog.text


def test_a_model_that_cannot_be_loaded_is_told(tmp_path, caplog):
    import shutil

    from tests.sample_models.real_model import DIRECTORIES

    shutil.copytree(DIRECTORIES["int8"], tmp_path / "model", ignore=shutil.ignore_patterns("float32"))
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"broken")
    with serving(f"en-de={tmp_path / 'model'}", MODELS[1], preload=True) as served:
        until(lambda: served.service.is_ready)  # the others are served
        assert caplog.text.count("cannot load the model from en to de") == 1
        assert [one["loaded"] for one in served.client.get("/v1/models").json()["models"]] == [False, True]
        for path, (right, message) in FORMS.items():
            answer = served.post(path, json=right)
            assert answer.status_code == 503 and message(answer.json()) == "The model cannot be loaded"
            assert answer.headers["retry-after"] == "60"
            assert str(tmp_path) not in answer.text + caplog.text
        answer = served.post("/", data={"q": "Two dogs.", "source": "en", "target": "de"})  # without scripts
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
        assert "The model cannot be loaded. Try again in 60 s." in answer.text and "Two dogs." in answer.text
        back = served.json("/translate", {"q": "Ein Mann.", "source": "de", "target": "en"})
        assert served.client.get("/ready").status_code == 200
        assert back["translatedText"]


def test_a_server_without_a_model_is_not_ready(tmp_path):
    import shutil

    from tests.sample_models.real_model import DIRECTORIES

    shutil.copytree(DIRECTORIES["int8"], tmp_path / "model", ignore=shutil.ignore_patterns("float32"))
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"broken")
    with serving(f"en-de={tmp_path / 'model'}", preload=True) as served:
        until(lambda: served.service.failure)
        answer = served.client.get("/ready")
        assert (answer.status_code, answer.json()["error"]["message"]) == (503, "not ready: no model could be loaded")


def test_the_limits_of_the_docs_are_the_defaults():
    page = Path(__file__).parents[2].joinpath("docs/server.md").read_text("utf-8")
    rows = re.findall(r"^\| `--([a-z-]+)` \| ([\d,]+)", page, re.MULTILINE)
    told = {name.replace("-", "_"): float(number.replace(",", "")) for name, number in rows}
    assert len(told) >= 11 and told == {name: getattr(ServeSettings(), name) for name in told}


def test_the_server_ends_when_those_who_waited_have_their_answer():
    """`drain` is over, and one request still has its error to read."""
    server = server_of(MODELS[:1], "127.0.0.1", 0, ServeSettings(drain=0.0))

    async def ends():
        server.service.in_flight = 1
        ending = asyncio.ensure_future(server._drain())
        await asyncio.sleep(0.2)
        waited = not server.should_exit
        server.service.in_flight = 0
        await asyncio.wait_for(ending, WAIT)
        return waited

    assert asyncio.run(ends()) and server.should_exit
