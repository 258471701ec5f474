"""Register tiles of the instruction sets that this machine need not have: they compile, and they are right."""

import os
import subprocess
import sys

import pytest

from tests.sample_models.real_model import ROOT

VNNI = {"avx512_vnni": "zmm", "avx_vnni": "ymm"}  # the registers of each


def vnni_tiles(path, what):
    done = subprocess.run(
        [sys.executable, "-m", "tests.simd.vnni_tiles", what],
        env={**os.environ, "CPUNMT_ISA": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", VNNI)
def test_vnni_tiles_compile_to_the_instructions(path):
    assembly = vnni_tiles(path, "assembly").splitlines()
    for instruction, least in (("vpdpbusd", 20), ("vpdpwssd", 20), ("vpshufb", 3)):
        lines = [line for line in assembly if instruction in line]
        assert len(lines) > least
        assert all(f"%{VNNI[path]}" in line for line in lines)


@pytest.mark.parametrize("path", VNNI)
def test_vnni_tiles_are_exact_with_the_instructions_emulated(path):
    """The emitted code itself, with plain arithmetic in place of vpdpbusd: order of operands, offsets, layout."""
    assert "shapes are exact" in vnni_tiles(path, "run")


GENERIC = """
from cpunmt.simd import float_tile, tile
from tests.simd.tile_code import assembly_of, code_of
for tiles in (tile.int8_tiles(), tile.int16_tiles(), float_tile.float_tiles, float_tile.head_tiles):
    print(assembly_of(code_of(tiles), *{target!r}))
"""


@pytest.mark.parametrize(
    "target, multiply_add, size",
    [
        (("aarch64-unknown-linux-gnu", "generic", "+neon"), "fmla", "v0.4s"),
        (("x86_64-unknown-linux-gnu", "x86-64-v3", ""), "vfmadd", "%ymm"),
        (("x86_64-unknown-linux-gnu", "x86-64-v4", ""), "vfmadd", "%zmm"),
    ],
    ids=["aarch64", "x86-64-v3", "x86-64-v4"],
)
def test_generic_tiles_compile_for_other_machines(target, multiply_add, size):
    """With fused multiply-adds on whole registers, not calls of a library's fma."""
    done = subprocess.run(
        [sys.executable, "-c", GENERIC.format(target=target)],
        env={**os.environ, "CPUNMT_ISA": "generic"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if multiply_add in line]
    assert len(lines) >= 4 and any(size in line for line in lines)
    assert not any("fmaf" in line for line in done.stdout.splitlines())
