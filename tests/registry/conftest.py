"""Fixtures of the registry's tests: a server, and an environment without others."""

import sys

import pytest

from cpunmt.registry import connection
from tests.registry.http_server import serving


@pytest.fixture
def server():
    """Starts a web server on this machine."""
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """Sets a models folder of its own, no proxy, only this machine's registry, and short waits."""
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "none"))  # argos-translate may have packages here
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("CPUNMT_OFFLINE", raising=False)
    for name in ("FIREFOX", "OPUS", "ARGOS", "HF"):
        monkeypatch.setenv(f"CPUNMT_{name}_REGISTRY", "http://127.0.0.1:9/nothing/v1/here")
    monkeypatch.setattr(connection, "BACKOFF", 0.001)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # as where it is not installed; test_hub.py has it


@pytest.fixture
def said():
    """Returns a list of messages while fetching, whose `append` is passed as `say`."""
    return []
