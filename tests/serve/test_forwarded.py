"""The address that clients see, behind a proxy: files can be downloaded there, and only the proxy is trusted."""

import contextlib

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from cpunmt.serve import ServeSettings, create_app
from tests.sample_models.real_model import SHIPPED
from tests.serve.serving import serving

ASKED = {"source": "en", "target": "de"}
FILE = {"file": ("a.txt", "One man.")}


@pytest.fixture(scope="module")
def app():
    made = create_app([SHIPPED])
    with contextlib.closing(made.state.service.scheduler):
        yield made


def address(app, headers, client="127.0.0.1", path="/translate_file"):
    """Returns the address of a file, without its name, for a client."""
    with contextlib.suppress(KeyError):
        headers = {name: value for name, value in headers.items() if value is not None}
    asking = TestClient(app, base_url="http://inside:5000", client=(client, 1234))
    answer = asking.post(path, data=ASKED, files=FILE, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["translatedFileUrl"].rpartition("/")[0]


PROTOCOLS = st.sampled_from([None, "https", "HTTP", "https, http", "ftp", ""])
HOSTS = st.sampled_from([None, "mt.example", "mt.example:8443, inner", "[::1]:80", "a b", "evil/x", "a@b", ""])
PREFIXES = st.sampled_from([None, "/nmt", "/a/b/", "/v1", "/", "nmt", "/a//b", "/a?b", "//evil.example", ""])
CLIENTS = st.sampled_from(
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False), ("x", False)]
)


@given(PROTOCOLS, HOSTS, PREFIXES, CLIENTS)
def test_the_address_is_what_a_trusted_proxy_says(app, protocol, host, prefix, client):
    sent = {"X-Forwarded-Proto": protocol, "X-Forwarded-Host": host, "X-Forwarded-Prefix": prefix}
    scheme = {"https": "https", "https, http": "https"}.get(protocol, "http")
    seen = {"mt.example": "mt.example", "mt.example:8443, inner": "mt.example:8443", "[::1]:80": "[::1]:80"}
    below = {"/nmt": "/nmt", "/a/b/": "/a/b", "/v1": "/v1"}
    expected = f"{scheme}://{seen.get(host, 'inside:5000')}{below.get(prefix, '')}/download_file"
    found = address(app, sent, client[0])
    assert httpx.URL(found) == httpx.URL(expected if client[1] else "http://inside:5000/download_file")


def test_a_file_is_fetched_where_the_proxy_leads(app):
    outer = Starlette(routes=[Mount("/below", app)])
    sent = {"X-Forwarded-Prefix": "/nmt", "X-Forwarded-Host": "mt.example"}
    assert address(outer, sent, path="/below/translate_file") == "http://mt.example/nmt/below/download_file"
    asking = TestClient(app, client=("127.0.0.1", 1))
    for path in ("/languages", "/v2/nothing", "/v1/translate"):  # the prefix is not a dialect's
        plain, behind = asking.get(path), asking.get(path, headers={"X-Forwarded-Prefix": "/v1"})
        assert (plain.status_code, plain.json()) == (behind.status_code, behind.json())


def test_other_proxies_are_named():
    with serving(str(SHIPPED), trusted_proxies=["192.0.2.0/24"]) as served:
        headers = {"X-Forwarded-Host": "mt.example", "X-Forwarded-Proto": "https"}
        told = served.post("/translate_file", data=ASKED, files=FILE, headers=headers).json()["translatedFileUrl"]
        assert told.startswith(f"{served.url}/download_file/")  # this machine is not a proxy
    with serving(str(SHIPPED)) as served:
        told = served.post("/translate_file", data=ASKED, files=FILE, headers=headers).json()["translatedFileUrl"]
        assert told.startswith("https://mt.example/download_file/")
    for wrong, kind in (("10.0.0.1", TypeError), (["proxy.example"], ValueError), ([""], ValueError)):
        with pytest.raises(kind, match="trusted_proxies"):
            ServeSettings(trusted_proxies=wrong)


@pytest.mark.parametrize("headers", [{}, {"origin": "http://page.example"}])
def test_a_prefix_is_not_taken_for_another_dialect(headers):
    app = create_app([SHIPPED])
    client = TestClient(Starlette(routes=[Mount("/v1", app)]))
    asked = {"q": "One man.", "source": "en", "target": "xx"}
    answer = client.post("/v1/translate", json=asked, headers=headers)
    app.state.service.scheduler.close()
    assert answer.status_code == 400 and answer.json() == {"error": "xx is not supported"}
