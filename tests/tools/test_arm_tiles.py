"""The tiles of aarch64 as LLVM compiles them: the intended instructions, and no waits for memory.

Their correctness is tested elsewhere: tests/simd/test_tile by emulation, `make test-arm` on an emulated processor.
"""

import functools
import re

import pytest

from tools import arm_tiles

BYTES = 16  # of a row: a step of all tiles but those of smmla, which is half of that
PATHS = arm_tiles.PATHS
loops_of = functools.cache(arm_tiles.inner_loops)


def sizes(shape):
    rows, panels = shape.split(" x ")
    return int(rows), int(panels)


def loads(loop):
    """Counts the loaded registers of sixteen bytes."""
    return sum(2 if line.startswith("ldp") else 1 for line in loop if re.match(r"ldu?[rp]\s+q", line))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["int8", "int16", "coded"])
def test_no_register_of_an_integer_tile_is_put_aside(path, kind):
    found = loops_of(path)[kind]
    assert found or (path, kind) == ("neon", "coded")
    assert {shape: arm_tiles.spilled(loop) for shape, loop in found.items()} == dict.fromkeys(found, 0)


@pytest.mark.parametrize("path", PATHS)
def test_tiles_are_the_instructions_of_their_path(path):
    """For 16 columns by 16 depths a row takes 16 sdot; two rows take as many smmla; smull and smlal are 32."""
    for shape, loop in loops_of(path)["int8"].items():
        (rows, panels), found = sizes(shape), arm_tiles.counted(loop)
        if path == "neon":
            chains = 2 if (rows, panels) == (1, 1) else 1
            assert found == {"smull.8h": 8 * chains * rows * panels, "smlal.8h": 8 * chains * rows * panels}
        elif path == "i8mm" and rows >= 4:
            assert found == {"smmla": 8 * -(-rows // 2) * panels}
        else:
            assert found == {"sdot": 16 * rows * panels}
    for shape, loop in loops_of(path)["int16"].items():
        rows, panels = sizes(shape)
        assert arm_tiles.counted(loop) == {"smlal.4s": 32 * rows * panels}
    for shape, loop in loops_of(path)["float32"].items():
        rows, panels = sizes(shape)
        assert arm_tiles.counted(loop) == {"fmla.4s": 4 * rows * panels}


@pytest.mark.parametrize("path", ["dotprod", "i8mm"])
def test_a_row_is_loaded_once_and_multiplied_by_element(path):
    """One load of sixteen bytes for four groups, and no broadcasts; weights are loaded once for all rows."""
    for shape, loop in loops_of(path)["int8"].items():
        rows, panels = sizes(shape)
        if "sdot" in arm_tiles.counted(loop):
            assert loads(loop) == rows + 16 * panels
            assert all(re.search(r"\.4b\[\d\]$", line) for line in loop if line.startswith("sdot"))
            assert not any(re.match(r"dup|ld1r|mov\s+v", line) for line in loop)


def test_one_row_has_sums_enough_to_hide_the_latency():
    """Sixteen: four sdot in a cycle, three cycles each, are twelve."""
    loop = loops_of("dotprod")["int8"]["1 x 1"]
    assert len({re.match(r"sdot\s+(v\d+)", line)[1] for line in loop if line.startswith("sdot")}) == 16


def test_floats_are_multiplied_by_element():
    loop = loops_of("neon")["float32"]["6 x 1"]
    assert all(re.search(r"\.s\[0\]$", line) for line in loop if line.startswith("fmla"))
    assert not any(line.startswith(("dup", "ld1r")) for line in loop)


def test_the_innermost_loop_that_multiplies_is_found():
    code = """
tiles:
    cbz x0, .LBB0_3
.LBB0_1:
    add x1, x1, #1
.LBB0_2:                // =>This Inner Loop Header
    ldr q0, [x1]
    sdot v1.4s, v0.16b, v2.4b[1]
    str q1, [sp, #16]
    subs x3, x3, #1
    b.ne .LBB0_2
    cbnz x4, .LBB0_1
.LBB0_3:
    ret
"""
    loop = arm_tiles.inner_loop(code)
    assert len(loop) == 4 and arm_tiles.counted(loop) == {"sdot": 1} and arm_tiles.spilled(loop) == 1
