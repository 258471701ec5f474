"""Fixtures of the registry's tests: a server, and an environment that knows nothing else."""

import sys

import pytest

from cpunmt.registry import connection
from tests.registry.http_server import serving


@pytest.fixture
def server():
    """A web server on this machine."""
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A models folder of its own, no proxy, no registry but this machine's, and little patience."""
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("CPUNMT_OFFLINE", raising=False)
    for name in ("FIREFOX", "OPUS", "HF"):
        monkeypatch.setenv(f"CPUNMT_{name}_REGISTRY", "http://127.0.0.1:9/nothing/v1/here")
    monkeypatch.setattr(connection, "BACKOFF", 0.001)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # as where it is not installed; test_hub.py has it


@pytest.fixture
def said():
    """What is told while fetching: a list to read, whose `append` is to be passed as `say`."""
    return []
