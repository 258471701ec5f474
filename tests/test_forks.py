"""A process may fork at any moment, while another thread translates for the first time too: no child hangs."""

import os
import subprocess
import sys

import pytest

from tests.foreign_directories import KINDS
from tests.real_model import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def forks(kind, count, seed, *path) -> str:
    command = [sys.executable, "-W", "ignore", "-m", "tests.forking", kind, str(count), str(seed), *map(str, path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("full", 60),
        ("threaded", 20),
        ("positions", 8),
        pytest.param("full", 800, marks=SLOW),
        pytest.param("threaded", 600, marks=SLOW),
        pytest.param("positions", 200, marks=SLOW),
    ],
)
def test_around_the_first_call_of_a_kind(kind, count):
    """Before there was one lock for all that is made late, 41 of 300 children hung at the full vocabulary."""
    assert forks(kind, count, 1) == "[]"


@pytest.mark.parametrize("count", [2, pytest.param(400, marks=SLOW)])
def test_around_late_imports_and_the_load_of_the_program(tmp_path, count):
    """These come once in a process."""
    path = KINDS["marian npz"](tmp_path / "model").path
    for seed in range(count):
        assert forks("load", 1, seed, path) == "[]"
