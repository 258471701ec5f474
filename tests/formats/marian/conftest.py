"""Fixtures of the tests of Marian's binary files."""

import pytest

from tests.sample_models.marian_model import SMALL, marian_tensors


@pytest.fixture
def path(tmp_path):
    """Returns a path for a test's file."""
    return tmp_path / "model.bin"


@pytest.fixture(scope="module")
def tensors():
    """Returns the tensors of a model of SMALL sizes, whose options are SMALL_OPTIONS."""
    return marian_tensors(1, **SMALL)
