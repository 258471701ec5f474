"""Fixtures of the quick set, which tests whether a Python can be used, alone or with all other tests.

It needs the package, pytest and hypothesis, and nothing else of `tests/`.
"""

import importlib.util
import sysconfig
from pathlib import Path

import pytest
from hypothesis import settings

from cpunmt import Translator

settings.register_profile("quick", deadline=None, database=None, derandomize=True)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def cases():
    """Imports the neighbouring module from anywhere: `tests` may not be on the path."""
    found = importlib.util.spec_from_file_location("quick_cases", Path(__file__).with_name("cases.py"))
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def shipped(cases):
    """A Translator of the shipped model."""
    return Translator(cases.MODEL)


@pytest.fixture(scope="session")
def is_free_threaded():
    """Whether this Python was built without the global interpreter lock."""
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
