"""Settings and fixtures of all tests."""

import pytest
from hypothesis import settings

from cpunmt import Translator
from tests.real_model import DIRECTORIES

# No deadline: a busy machine is no failure.
settings.register_profile("cpunmt", deadline=None)
settings.load_profile("cpunmt")


@pytest.fixture(scope="session")
def student():
    """A Translator of the shipped int8 model."""
    return Translator(DIRECTORIES["int8"])


@pytest.fixture(scope="session")
def float_student():
    """A Translator of the same model in float32."""
    return Translator(DIRECTORIES["float32"], compute_type="float32")
