"""Training needs PyTorch (the extra `train`): without it these tests are skipped."""

from contextlib import nullcontext
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*/test_*.py"]


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Returns data of a toy language, and runs on it."""
    from tests.train.toy_run import ToyRuns

    return ToyRuns(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def float32(monkeypatch):
    """Disables rounding to bfloat16, which depends on the batch."""
    monkeypatch.setattr("models.train.updates.updates.mixed_precision", lambda device: nullcontext())
