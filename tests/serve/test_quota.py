"""--quota: how much each client may have translated, as each dialect says it."""

import deepl
import pytest

from cpunmt.serve.errors import QuotaError
from cpunmt.serve.usage import Usage
from tests.serve.serving import MODELS, serving

FORMS = {  # path: (what asks for "Two dogs.", status and message when the quota is used up)
    "/translate": ({"q": "Two dogs.", "source": "en", "target": "de"},
                   (429, {"error": "Slowdown: The quota of 40 characters is used up"})),
    "/v2/translate": ({"text": "Two dogs.", "target_lang": "DE"},
                      (456, {"message": "Quota Exceeded", "detail": "The quota of 40 characters is used up"})),
    "/v1/translate": ({"text": "Two dogs.", "target": "de"},
                      (429, {"error": {"code": 429, "message": "The quota of 40 characters is used up",
                                       "detail": "Wait for the next period"}})),
    "/kiss": ({"text": "Two dogs.", "from": "en", "to": "de"},
              (429, {"error": "The quota of 40 characters is used up"})),
}  # fmt: skip


@pytest.mark.parametrize("path", FORMS)
def test_each_key_has_its_own(path):
    right, refused = FORMS[path]
    with serving(MODELS[0], quota=40, api_keys=["one", "two"]) as served:
        for _ in range(4):
            assert served.post(path, json={**right, "api_key": "one"}).status_code == 200
        answer = served.post(path, json={**right, "api_key": "one"})
        assert (answer.status_code, answer.json()) == refused
        assert served.post(path, json={**right, "api_key": "two"}).status_code == 200
        assert served.post(path, json={**right, "api_key": "three"}).status_code == 403
        usage = served.client.get("/v2/usage", params={"auth_key": "one"}).json()
        assert usage == {"character_count": 36, "character_limit": 40}


def test_google_says_it_in_its_form():
    with serving(MODELS[0], quota=10) as served:
        asked = {"q": ["Two dogs.", "One man."], "target": "de"}
        answer = served.post("/language/translate/v2", json=asked)
        assert answer.status_code == 429 and answer.json()["error"]["status"] == "RESOURCE_EXHAUSTED"


def test_without_keys_all_share_it_and_streams_count():
    with serving(MODELS[0], quota=40) as served:
        asked = {"text": "One man. Two dogs.", "source": "en", "target": "de", "stream": True}
        for name in ("one", "two"):
            answer = served.post("/v1/translate", json={**asked, "api_key": name})
            assert answer.status_code == 200 and "Zwei Hunde" in answer.text
        assert served.post("/v1/translate", json={**asked, "api_key": "three"}).status_code == 429
        client = deepl.Translator("four", server_url=f"{served.url}/")
        usage = client.get_usage()
        assert (usage.character.count, usage.character.limit, usage.any_limit_reached) == (36, 40, False)
        with pytest.raises(deepl.QuotaExceededException):
            client.translate_text("Two dogs.", target_lang="DE")
        client.translate_text("Dogs", target_lang="DE")
        assert client.get_usage().any_limit_reached


def test_what_fails_costs_nothing():
    with serving(MODELS[0], quota=40) as served:
        for _ in range(5):
            assert served.post("/translate", json={**FORMS["/translate"][0], "source": "zz"}).status_code == 400
        assert served.client.get("/v2/usage").json()["character_count"] == 0


def test_periods(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("cpunmt.serve.usage.time.time", lambda: clock[0])
    usage = Usage(10, 2, each=True)
    with usage.charged("a", ["12345", "678"]):
        assert usage.of("a") == 8 and usage.of("b") == 0
    with pytest.raises(QuotaError), usage.charged("a", ["123"]):
        raise AssertionError
    clock[0] = 7199.0
    assert usage.of("a") == 8
    with pytest.raises(KeyError), usage.charged("a", ["1"]):
        clock[0] = 7200.0
        raise KeyError  # after the period has ended: what was charged in it is gone with it
    assert usage.of("a") == 0
    months = Usage(10, 0, each=False)
    monkeypatch.setattr("cpunmt.serve.usage.time.gmtime", lambda: (2026, 11, 30))
    with months.charged("a", ["1234567890"]):
        assert months.of("b") == 10
    monkeypatch.setattr("cpunmt.serve.usage.time.gmtime", lambda: (2026, 12, 1))
    assert months.of("a") == 0
    for quota in (0, 10):
        unpaid = Usage(quota, 0, each=True)
        with pytest.raises(KeyError), unpaid.charged("a", ["12"]):
            raise KeyError
        assert unpaid.of("a") == 0
