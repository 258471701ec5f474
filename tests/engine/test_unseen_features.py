"""A processor whose features LLVM does not detect, as in an emulator or a container without its own /proc/cpuinfo."""

import os

import pytest

from cpunmt.simd import isa
from tests.sample_models.real_model import ROOT
from tests.support.processes import python

# Prologue of each process of the test. Few kernels are compiled: those with the instructions of a path.
BLIND = """
import llvmlite.binding as llvm
llvm.get_host_cpu_name = lambda: "generic"
llvm.get_host_cpu_features = lambda: llvm.FeatureMap()
from cpunmt.engine import compiler, prebuilt
prebuilt.FOLDER = prebuilt.FOLDER / "none"
compiler.ENTRIES = ("cpunmt.kernels.matmul.int8_matmul",)
"""
# x86-64 with features of Arm, for which LLVM lacks code: it ends the process.
PRETENDED = """
from cpunmt.simd import processor
processor.features = lambda: frozenset({"neon", "dotprod"})
processor.machine = lambda: "x86_64"
"""
START = "from cpunmt.engine import program; loaded = program.load(); print(loaded.origin, loaded.path.name)"
NUMBA_FIRST = "import numba; numba.njit('int64(int64)')(lambda x: x + 1); "
WARM_UP = "from cpunmt.engine import program; print(program.warm_up().name, program.load().origin)"


@pytest.fixture
def started(tmp_path):
    """Returns a function that runs code after `prologue` in a process: (exit status, words, lines)."""

    def run(prologue, code, **environment):
        (tmp_path / "sitecustomize.py").write_text(prologue)
        paths = os.pathsep.join([str(tmp_path), str(ROOT)])
        own = {"PYTHONPATH": paths, "CPUNMT_CACHE_DIR": str(tmp_path / "cache"), "CPUNMT_ISA": ""}
        done = python("-c", code, **{**own, **environment})
        return done.returncode, done.stdout.split(), done.stderr.splitlines()

    return run


@pytest.mark.slow
def test_a_path_whose_features_llvm_does_not_see_is_compiled(started):
    """Numba once compiled for the detected features only, and LLVM ended the process; also after other uses."""
    path = isa.current().value
    named = {"CPUNMT_ISA": os.environ.get("CPUNMT_ISA", "")}
    status, (origin, name), lines = started(BLIND, NUMBA_FIRST + START, **named)
    assert (status, origin, len(lines)) == (0, "compiled", 1), lines
    assert name.startswith(path) and lines[0].startswith("cpunmt: compiling")
    assert started(BLIND, START, **named) == (0, ["cached", name], [])


@pytest.mark.slow
def test_a_path_that_llvm_cannot_compile_gives_way_to_the_next(started):
    """LLVM really ends the compiling processes; the parent continues, and reports it."""
    status, (origin, name), lines = started(BLIND + PRETENDED, START)
    assert (status, origin) == (0, "compiled"), lines
    assert name.startswith("generic")
    told = [line for line in lines if "cannot compile" in line]
    for line, (path, following) in zip(told, [("dotprod", "neon"), ("neon", "generic")], strict=True):
        assert line.startswith(f"cpunmt: LLVM cannot compile for {path} here (LLVM ERROR: ")
        assert f"; {following} is used instead. Set CPUNMT_ISA={following}" in line
    status, words, lines = started(BLIND + PRETENDED, WARM_UP)
    assert (status, words) == (0, [name, "cached"]) and len(lines) == 2
    assert started(BLIND + PRETENDED, START, CPUNMT_ISA="generic") == (0, ["cached", name], [])


def test_a_path_that_is_named_and_cannot_be_compiled_is_one_line(started):
    status, words, lines = started(BLIND + PRETENDED, START, CPUNMT_ISA="neon")
    assert (status, words) == (1, [])
    assert lines[-1].endswith("LLVM cannot compile for neon here; set CPUNMT_ISA to one of: generic")


def test_another_path_stores_activations_alike_or_is_left_out(monkeypatch):
    """A loaded model depends on the offset of its path's activations."""
    monkeypatch.delenv("CPUNMT_ISA", raising=False)
    monkeypatch.setattr(isa, "_given_up", set())
    monkeypatch.setattr(isa, "_present", lambda path: path.value in ("avx512_vnni", "avx_vnni", "avx2", "generic"))
    isa.current.cache_clear()
    try:
        assert isa.current() is isa.Isa.AVX512_VNNI
        isa.give_up(isa.current())
        assert isa.supported() == [isa.Isa.AVX_VNNI] == [isa.current()]
        with pytest.raises(isa.UnsupportedIsaError, match="for avx_vnni here; set CPUNMT_ISA to one of: avx2, generic"):
            isa.give_up(isa.current())
    finally:
        isa.current.cache_clear()
