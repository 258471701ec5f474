"""--quota: the limit of each client, in the words of each dialect."""

import deepl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

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


class Charges(RuleBasedStateMachine):
    """Charged requests, failed or not, against a list: [owner, characters, period]."""

    def __init__(self):
        super().__init__()
        self.clock, self.charges, self.open = [0.0], [], []
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("cpunmt.serve.usage.time.time", lambda: self.clock[0])

    @initialize(quota=st.sampled_from([0, 10]), each=st.booleans())
    def begin(self, quota, each):
        self.quota, self.each, self.usage = quota, each or not quota, Usage(quota, 2, each)

    def period(self):
        return self.clock[0] // 7200 if self.quota else None

    def used(self, owner):
        return sum(
            count for who, count, period in self.charges if period == self.period() and (who == owner or not self.each)
        )

    @rule(owner=st.sampled_from("ab"), texts=st.lists(st.sampled_from(["", "1", "12345", "1234567890"]), max_size=3))
    def charge(self, owner, texts):
        charging, count = self.usage.charged(owner, texts), sum(map(len, texts))
        if self.quota and self.used(owner) + count > self.quota:
            with pytest.raises(QuotaError):
                charging.__enter__()
            return
        charging.__enter__()
        self.charges.append([owner, count, self.period()])
        self.open.append((charging, self.charges[-1]))

    @rule(which=st.integers(0, 9), fails=st.booleans())
    def end(self, which, fails):
        if not self.open:
            return
        charging, charge = self.open.pop(which % len(self.open))
        if fails:
            self.charges.remove(charge)
            assert not charging.__exit__(KeyError, KeyError(), None)  # it goes on
        else:
            charging.__exit__(None, None, None)

    @rule(to=st.sampled_from([3600.0, 7199.0, 7200.0]))
    def wait(self, to):
        self.clock[0] += to

    @rule(owner=st.sampled_from("ab"))
    def look(self, owner):
        """Compares; not after each step, as a period's end is noticed only by a request."""
        assert self.usage.of(owner) == self.used(owner)

    def teardown(self):
        if hasattr(self, "usage"):
            self.look("a")
            self.look("b")
        self.patch.undo()


Charges.TestCase.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
test_charges_are_a_list = Charges.TestCase


def test_what_fails_later_takes_nothing_from_the_next_period(monkeypatch):
    clock = [7199.0]
    monkeypatch.setattr("cpunmt.serve.usage.time.time", lambda: clock[0])
    usage = Usage(10, 2, each=True)
    with pytest.raises(KeyError), usage.charged("a", ["12345"]):
        assert usage.of("a") == 5
        clock[0] = 7200.0
        with usage.charged("a", ["12345678"]):
            pass
        raise KeyError
    assert usage.of("a") == 8


def test_months(monkeypatch):
    months = Usage(10, 0, each=False)
    monkeypatch.setattr("cpunmt.serve.usage.time.gmtime", lambda: (2026, 11, 30))
    with months.charged("a", ["1234567890"]):
        assert months.of("b") == 10
    for now in ((2026, 12, 1), (2027, 12, 1)):
        monkeypatch.setattr("cpunmt.serve.usage.time.gmtime", lambda now=now: now)
        assert months.of("a") == 0
        with months.charged("a", ["1"]):
            assert months.of("a") == 1


def test_as_many_owners_are_counted_as_there_is_room_for(monkeypatch):
    monkeypatch.setattr("cpunmt.serve.usage._MOST_OWNERS", 2)
    usage = Usage(0, 0, each=True)
    for owner in "abac":  # b was charged the longest ago
        with usage.charged(owner, ["1"]):
            pass
    assert [usage.of(owner) for owner in "abc"] == [2, 0, 1]
