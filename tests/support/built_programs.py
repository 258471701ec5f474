"""The programs that a wheel would bring, of the paths that this machine runs: built once, and kept in build/."""

import functools
import sys
from pathlib import Path

from filelock import FileLock

from cpunmt.simd import isa, processor
from tests.sample_models.real_model import ROOT
from tests.support.environments import run
from tools.programs import PATHS

FOLDER = ROOT / "build" / "programs"


def paths() -> list[isa.Isa]:
    """What this machine runs, of what is built."""
    return [path for path in PATHS[processor.machine()] if path in isa.supported()]


@functools.cache
def built_programs() -> Path:
    """The folder with them and their manifest; tests change copies of it only."""
    FOLDER.parent.mkdir(exist_ok=True)
    with FileLock(FOLDER.with_suffix(".lock")):
        names = [path.value for path in paths()]
        run(sys.executable, "-m", "tools.programs", "--out", FOLDER, "--processes", "2", "--paths", *names, cwd=ROOT)
    return FOLDER
