"""Limits on the requests of a client in a minute, and the server below a path or without its page."""

import pytest

from cpunmt.serve import ServeSettings
from cpunmt.serve import usage as usage_module
from cpunmt.serve.errors import ServeError
from cpunmt.serve.usage import Rates, client_at
from tests.serve.serving import MODELS, serving

ASKED = {"q": "One man.", "source": "en", "target": "de"}


class Clock:
    """A clock that the test sets."""

    now = 120.0

    def time(self):
        return self.now


def test_each_minute_begins_anew_and_clients_are_apart(monkeypatch):
    monkeypatch.setattr(usage_module, "time", clock := Clock())
    monkeypatch.setattr(usage_module, "_MOST_OWNERS", 2)
    rates = Rates(2)
    for client in ("a", "b", "a", "b"):
        rates.count(client)
    clock.now = 179.5
    with pytest.raises(ServeError) as refused:
        rates.count("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    assert str(refused.value) == "2 requests per minute are allowed"
    with pytest.raises(ServeError):
        rates.count("c")  # two clients have reached the limit: others do not displace them
    clock.now = 180.0
    for client in "abcc":  # the oldest of more than two clients below the limit is forgotten
        rates.count(client)
    rates.count("a")
    clock.now = 240.0
    rates.count("b")
    rates.count("b")
    with pytest.raises(ServeError):
        rates.count("b")
    for _ in range(10):
        Rates(0).count("a")


@pytest.mark.parametrize(
    "address, client",
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_a_network_is_one_client(address, client):
    assert client_at(address) == client


def test_addresses_and_keys_are_clients_and_the_page_can_be_left_out(monkeypatch):
    monkeypatch.setattr(usage_module, "time", Clock())
    with serving(MODELS[0], max_rate=2) as server:

        def status(said=None):
            headers = {} if said is None else {"X-Forwarded-For": said}
            return server.post("/translate", json=ASKED, headers=headers).status_code

        assert [status() for _ in range(3)] == [200, 200, 429]
        # the last address that is not of a trusted proxy
        assert [status(f"{n}, 192.0.2.1, ::1") for n in range(3)] == [200, 200, 429]
        assert [status(f"192.0.2.1:{n}") for n in (80, 8080)] == [429, 429]
        assert [status(said) for said in ("[2001:db8::1]:80", "2001:db8::2", "[2001:db8::3]")] == [200, 200, 429]
        assert status("192.0.2.1, 192.0.2.2") == 200 and status("127.0.0.1") == 429 and status(",") == 429
        answer = server.post("/translate", json=ASKED)
        assert answer.json() == {"error": "Slowdown: 2 requests per minute are allowed"}
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert server.client.get("/health").status_code == server.client.get("/languages").status_code == 200
    with serving(MODELS[0], max_rate=1, api_keys=["a", "b"], no_page=True) as server:
        assert server.client.get("/").status_code == server.client.get("/page/page.css").status_code == 404
        found = [server.post("/translate", json={**ASKED, "api_key": key}).status_code for key in "aabc"]
    assert found == [200, 429, 200, 403]


def test_below_a_path():
    with serving(MODELS[0], url_prefix="a/b/") as server:
        assert server.post("/a/b/translate", json=ASKED).json() == {"translatedText": "Ein Mann."}
        assert (
            server.post(
                "/a/b/v2/translate", json={"text": ["One man."], "source_lang": "EN", "target_lang": "DE"}
            ).status_code
            == 200
        )
        assert server.client.get("/a/b/").status_code == 200
        for path in ("/translate", "/a/translate", "/a/bc/translate", "/a/b/a/b/translate"):
            assert server.post(path, json=ASKED).status_code == 404
        assert server.client.get("/").status_code == server.post("/a/b", json=ASKED).status_code == 404
        found = server.client.get("/a/b", follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (308, "b/")
        found = server.client.get("/a/b?source=de&q=Hallo%20Welt", follow_redirects=False)
        assert found.headers["location"] == "b/?source=de&q=Hallo%20Welt"
        assert server.client.get("/a/b", follow_redirects=True).text == server.client.get("/a/b/").text
        assert server.client.get("/health").status_code == server.client.get("/a/b/health").status_code == 200
        sent = {"files": {"file": ("a.txt", "One man.")}, "data": {"source": "en", "target": "de"}}
        url = server.post("/a/b/translate_file", **sent).json()["translatedFileUrl"]
        assert server.client.get(url).text == "Ein Mann."


@pytest.mark.parametrize("prefix", ["a b", "/a//b", "/ä", "/", 5, None])
def test_a_path_is_checked(prefix):
    assert ServeSettings(url_prefix="/a-1/b_2/").url_prefix == "/a-1/b_2" and ServeSettings().url_prefix == ""
    with pytest.raises((TypeError, ValueError), match="^url_prefix is .*, expected a path such as /translate$"):
        ServeSettings(url_prefix=prefix)
