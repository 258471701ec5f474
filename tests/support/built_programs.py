"""Builds the programs of a wheel for this machine's paths, once, in build/."""

import functools
import os
import sys
from pathlib import Path

from filelock import FileLock

from cpunmt.simd import isa, processor
from tests.sample_models.real_model import ROOT
from tests.support.environments import run
from tools.programs import PATHS

(ROOT / "build").mkdir(exist_ok=True)


def paths() -> list[isa.Isa]:
    """Returns the built paths that this machine runs."""
    return [path for path in PATHS[processor.machine()] if path in isa.supported()]


def built_programs() -> Path:
    """Returns the folder with all programs and their manifest; tests change only copies of it."""
    return _built("programs", *paths())


def best_program() -> Path:
    """Returns a folder with the best path alone, for the quick tests: each path takes half a minute."""
    return _built("best_program", paths()[0])


@functools.cache
def warmed_up(path: str) -> None:
    """Compiles the program of a path into this machine's cache, if missing; one process at a time."""
    with FileLock(ROOT / "build" / f"{path}.lock"):
        run(sys.executable, "-m", "cpunmt", "warmup", cwd=ROOT, env={**os.environ, "CPUNMT_ISA": path})


@functools.cache
def _built(name: str, *chosen: isa.Isa) -> Path:
    folder = ROOT / "build" / name
    with FileLock(folder.with_suffix(".lock")):
        names = [path.value for path in chosen]
        run(sys.executable, "-m", "tools.programs", "--out", folder, "--processes", "2", "--paths", *names, cwd=ROOT)
    return folder
