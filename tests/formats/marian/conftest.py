"""Fixtures of the tests of Marian's binary files."""

import pytest

from tests.sample_models.marian_model import SMALL, marian_tensors


@pytest.fixture
def path(tmp_path):
    """Where a test may write a file."""
    return tmp_path / "model.bin"


@pytest.fixture(scope="module")
def tensors():
    """The tensors of a model of SMALL sizes, whose options are SMALL_OPTIONS."""
    return marian_tensors(1, **SMALL)
