"""Proxies: only the environment's."""

import base64

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry.connection import fetch_document
from tests.registry.test_connection import BODY, fetch


def through_proxy(monkeypatch, server, **variables):
    """Sets the server as the environment's proxy, and a registry on a nonexistent host."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CPUNMT_OPUS_REGISTRY", "http://mirror.example/index.txt")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    server.content["http://mirror.example/index.txt"] = BODY


def test_the_proxy_of_the_environment_is_used(server, monkeypatch):
    with_user = server.url.replace("//", "//me:s%20ecret@")
    for value in (server.url, server.url.removeprefix("http://"), with_user):
        through_proxy(monkeypatch, server, http_proxy=value)
        assert fetch_document("http://mirror.example/index.txt", pytest.fail) == BODY
    assert server.paths() == ["http://mirror.example/index.txt"] * 3
    given = [{k.lower(): v for k, v in r.headers.items()}.get("proxy-authorization") for r in server.requests]
    assert given == [None, None, "Basic " + base64.b64encode(b"me:s ecret").decode()]


def test_tls_goes_through_the_proxy_as_a_tunnel(server, monkeypatch, said):
    """This proxy refuses tunnels, as the error shows."""
    through_proxy(monkeypatch, server, https_proxy=server.url)
    with pytest.raises(CpunmtError, match="mirror.example/x: Tunnel connection failed: 501"):
        fetch_document("https://mirror.example/x", said.append)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_named(server, monkeypatch, said, scheme):
    through_proxy(monkeypatch, server, **{f"{scheme}_proxy": server.url})
    server.close()
    with pytest.raises(CpunmtError, match="refused, at the proxy that the environment names, 5 times in a row"):
        fetch_document(f"{scheme}://mirror.example/index.txt", said.append)


def test_no_proxy_where_the_environment_says_so(server, monkeypatch):
    through_proxy(monkeypatch, server, http_proxy="http://127.0.0.1:9", no_proxy="127.0.0.1,other.example")
    assert fetch(server) == BODY


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://[::1", "http://host:port"])
def test_a_proxy_that_cannot_be_used_is_one_error(server, monkeypatch, proxy):
    through_proxy(monkeypatch, server, http_proxy=proxy)
    with pytest.raises(CpunmtError, match="the proxy that the environment names cannot be used"):
        fetch_document("http://mirror.example/index.txt", pytest.fail)
