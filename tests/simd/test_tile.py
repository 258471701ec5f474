"""Register tiles of instruction sets that this machine may lack: they compile, and they are right."""

import numpy as np
import pytest

from cpunmt.simd.matrix_tile import SHAPES
from tests.simd import emulated_matrices
from tests.support.processes import output, python

VNNI = {"avx512_vnni": "zmm", "avx_vnni": "ymm"}  # registers of each


def run(module, path, what):
    return output("-m", f"tests.simd.{module}", what, CPUNMT_ISA=path)


@pytest.mark.parametrize("path", VNNI)
def test_vnni_tiles_compile_to_the_instructions(path):
    assembly = run("vector_tiles", path, "assembly").splitlines()
    for instruction, least in (("vpdpbusd", 20), ("vpdpwssd", 20), ("vpshufb", 3)):
        lines = [line for line in assembly if instruction in line]
        assert len(lines) > least
        assert all(f"%{VNNI[path]}" in line for line in lines)


@pytest.mark.parametrize("path", [*VNNI, "i8mm", "dotprod", "neon"])
def test_tiles_are_exact_with_the_instructions_emulated(path):
    """Runs the code with plain arithmetic instead of the instructions: tests operand order, offsets and layout."""
    assert "shapes are exact" in run("vector_tiles", path, "run")


def test_matrix_tiles_compile_to_the_instructions():
    """Each register of sums is stored, and no other: none is spilled to memory."""
    words = [line.split()[0] for line in run("matrix_tiles", "amx_int8", "assembly").splitlines() if line.strip()]
    found = {name: words.count(name) for name in ("ldtilecfg", "tdpbusd", "tilestored", "tilerelease")}
    sums = sum(blocks * panels for blocks, panels in SHAPES)
    assert found == {"ldtilecfg": 1, "tdpbusd": sums, "tilestored": sums, "tilerelease": 1}


def test_matrix_tiles_are_exact_with_the_instructions_emulated():
    assert "shapes are exact" in run("matrix_tiles", "amx_int8", "run")


@pytest.fixture
def registers():
    """Returns emulated registers: the first two have 3 rows, the third 16, all of 64 bytes."""
    made = emulated_matrices.Registers()
    configure(made, [3, 3, 16])
    return made


def configure(registers, rows, width=64, palette=1):
    given = np.zeros(64, np.uint8)
    given[0], given[48 : 48 + len(rows)] = palette, rows
    given[16:48].view(np.uint16)[: len(rows)] = width
    registers.configure(given.ctypes.data)


@pytest.mark.parametrize(
    "misuse, fault",
    [
        (lambda made: made.multiply(0, 1, 3), "register 3 is used and not configured"),
        (lambda made: made.multiply(0, 2, 1), "registers of sizes that do not meet"),
        (lambda made: made.multiply(0, 0, 2), "a register is two operands"),
        (lambda made: made.load(5, 0, 64), "register 5 is used and not configured"),
        (lambda made: made.store(3, 0, 64), "register 3 is used and not configured"),
        (lambda made: (made.release(), made.multiply(0, 1, 2)), "register 0 is used and not configured"),
        (lambda made: configure(made, [3], palette=0), "palette 0"),
        (lambda made: configure(made, [17]), "rows and bytes of registers"),
        (lambda made: configure(made, [3], width=65), "rows and bytes of registers"),
        (lambda made: configure(made, [3, 0, 16]), "rows and bytes of registers"),
        (lambda made: configure(made, [1] * 9), "reserved bytes"),
    ],
)
def test_the_emulation_notices_misuse(registers, misuse, fault):
    """A processor faults in all of these cases."""
    registers.multiply(0, 1, 2)
    with pytest.raises(AssertionError, match=fault):
        misuse(registers)


def test_the_emulation_touches_configured_rows_only(registers):
    memory = np.arange(4 * 80, dtype=np.uint8).reshape(4, 80)
    registers.load(0, memory.ctypes.data, 80)
    assert np.array_equal(registers.content[0, :3], memory[:3, :64]) and not registers.content[0, 3:].any()
    stored = np.full((4, 80), 7, np.uint8)
    registers.store(0, stored.ctypes.data, 80)
    assert np.array_equal(stored[:3, :64], memory[:3, :64])
    assert (stored[3] == 7).all() and (stored[:, 64:] == 7).all()


def test_an_error_in_emulated_code_ends_the_process():
    """ctypes would print it, and the program would continue with a wrong result."""
    code = "from tests.simd import emulated_matrices; emulated_matrices._CALLED['tdpbusd'](0, 1, 2); print('went on')"
    done = python("-c", code)
    assert done.returncode == 70 and "register 0 is used and not configured" in done.stderr and not done.stdout


GENERIC = """
from cpunmt.simd import float_tile, tile
from tools.tile_code import assembly_of, code_of
floats = float_tile.float_tiles, float_tile.head_tiles, float_tile.placed_head_tiles
for tiles in (tile.int8_tiles(), tile.int16_tiles(), *floats):
    print(assembly_of(code_of(tiles), *{target!r}))
"""


@pytest.mark.slow
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
    """Uses fused multiply-adds on whole registers, not calls of a library's fma."""
    made = output("-c", GENERIC.format(target=target), CPUNMT_ISA="generic")
    lines = [line for line in made.splitlines() if multiply_add in line]
    assert len(lines) >= 4 and any(size in line for line in lines)
    assert "fmaf" not in made
