"""A server that the tests share, and Translators of what it serves."""

import pytest

from cpunmt import Pivot, Translator
from tests.sample_models.real_model import DIRECTORIES, GERMAN
from tests.serve.serving import serving


@pytest.fixture(scope="session")
def served():
    """A server with default limits."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def translators(student):
    """(source, target) -> what must say the same as the server."""
    german = Translator(GERMAN)
    return {("en", "de"): student, ("de", "en"): german, ("en", "fr"): Pivot([DIRECTORIES["int8"], GERMAN])}
