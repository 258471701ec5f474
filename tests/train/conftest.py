"""Training needs PyTorch (the extra `train`): without it there is nothing to test here."""

from contextlib import nullcontext
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*/test_*.py"]


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Data of a toy language, and runs on it."""
    from tests.train.toy_run import ToyRuns

    return ToyRuns(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def float32(monkeypatch):
    """Rounding to bfloat16 depends on the batch; what is compared then is the rest."""
    monkeypatch.setattr("models.train.updates.updates.mixed_precision", lambda device: nullcontext())
