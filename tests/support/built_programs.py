"""Builds the programs of a wheel for this machine's paths, once, in build/."""

import functools
import os
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock

from cpunmt.engine import program_files
from cpunmt.simd import isa, processor
from tests.sample_models.real_model import ROOT
from tests.support.environments import run
from tools import programs

(ROOT / "build").mkdir(exist_ok=True)


def paths() -> list[isa.Isa]:
    """Returns the built paths that this machine runs."""
    return [path for path in programs.PATHS[processor.machine()] if path in isa.supported()]


def quick_paths() -> list[str]:
    """Returns this machine's best path, and its lowest with instructions of its own: those that `make test` compiles as
    whole programs, half a minute each."""
    found = [path.value for path in isa.supported()]
    return [found[0], *found[1:-1][-1:]]


@functools.cache
def built_programs() -> Path:
    """Returns the folder with all programs and their manifest; tests change only copies of it."""
    folder = ROOT / "build" / "programs"
    with FileLock(folder.with_suffix(".lock")):
        names = [path.value for path in paths()]
        run(sys.executable, "-m", "tools.programs", "--out", folder, "--processes", "2", "--paths", *names, cwd=ROOT)
    return folder


@functools.cache
def best_program() -> Path:
    """Returns a folder with the best path alone, for the quick tests: this machine's own program is linked as a
    wheel's, because it takes half a minute to compile another."""
    folder = ROOT / "build" / "best_program"
    with FileLock(folder.with_suffix(".lock")):
        programs.build(folder, paths()[:1], make=_of_cache)
    return folder


def _of_cache(path: isa.Isa, folder: Path) -> dict[str, Any]:
    code, signatures = program_files.parts(warmed_up(path.value).read_bytes())
    return programs.linked(path, folder, code, signatures, tuned=True)


@functools.cache
def warmed_up(path: str) -> Path:
    """Compiles the program of a path into this machine's cache, if missing; one process at a time. Returns its file."""
    environment = {**os.environ, "CPUNMT_ISA": path}
    with FileLock(ROOT / "build" / f"{path}.lock"):
        return Path(run(sys.executable, "-m", "cpunmt", "warmup", cwd=ROOT, env=environment).rstrip("\n"))
