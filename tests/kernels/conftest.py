"""The compiled program: tests run the machine code that users run."""

import pytest

from cpunmt.engine import program as compiled


@pytest.fixture(scope="session")
def program():
    return compiled.load()
