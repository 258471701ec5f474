"""Law 3: the same integers, the same floats and the same translations on every path."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cpunmt.kernels.matmul.packing import pack
from cpunmt.simd import isa
from tests.definitions.matmul import int8_matmul_reference, int16_matmul_reference
from tests.sample_models.real_model import ROOT
from tests.simd import isa_outputs
from tests.support.built_programs import built_programs
from tests.support.built_programs import paths as built_paths

PATHS = [path.value for path in isa.supported()]


def outputs(path, module, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "CPUNMT_ISA": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["isa"] == path
    return made


@functools.cache
def native(path):
    return outputs(path, "tests.simd.isa_outputs")


@functools.cache
def emulated(path):
    return outputs(path, "tests.simd.emulation", "tests.simd.isa_outputs")


@functools.cache
def prebuilt(path):
    """On the program that a wheel would bring."""
    return outputs(path, "tests.support.prebuilt_start", str(built_programs()), "tests.simd.isa_outputs")


EVERY_PATH = [
    *(pytest.param(native, path, id=path) for path in PATHS),
    *(pytest.param(prebuilt, path.value, id=f"{path.value} prebuilt") for path in built_paths()),
    *(
        pytest.param(emulated, path, id=f"{path} emulated", marks=pytest.mark.slow)
        for path in ("amx_int8", "avx512_vnni", "avx_vnni", "i8mm", "dotprod", "neon")
    ),
]


@pytest.fixture(scope="module")
def exact_integers():
    """Digest of the exact sums of `isa_outputs.integer_cases()` and `isa_outputs.word_cases()`."""
    bytes_, words = isa_outputs.integer_cases(), isa_outputs.word_cases()
    exact = [int8_matmul_reference(q, pack(weights), weights.shape[1]) for q, weights in bytes_]
    exact += [int16_matmul_reference(q, pack(weights), weights.shape[1]).astype(np.int32) for q, weights in words]
    return isa_outputs.digest(exact)


@pytest.mark.parametrize("run, path", EVERY_PATH)
def test_integers_are_exact(run, path, exact_integers):
    assert run(path)["integers"] == exact_integers


@pytest.mark.parametrize("run, path", EVERY_PATH)
def test_floats_of_every_kernel_are_the_same_bits(run, path):
    made, expected = run(path)["kernels"], native(PATHS[0])["kernels"]
    assert [name for name in expected if made[name] != expected[name]] == []
    assert made.keys() == expected.keys()


@pytest.mark.parametrize("run, path", EVERY_PATH)
@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_translations_and_scores_are_the_same_bits(run, path, scheme):
    made, expected = run(path)["translations"][scheme], native(PATHS[0])["translations"][scheme]
    assert len(made) == len(expected) >= isa_outputs.SENTENCES[scheme] + 10
    different = [i for i, (a, b) in enumerate(zip(made, expected, strict=True)) if a != b]
    assert different == []
    assert len({tuple(ids) for ids, *_ in made}) > isa_outputs.SENTENCES[scheme] // 2  # real ones
    assert all(np.isfinite(float.fromhex(number)) for _, *numbers in made for number in numbers)


@pytest.mark.parametrize("run, path", EVERY_PATH)
def test_models_whose_numbers_leave_float32_say_the_same(run, path):
    """What an 8-bit activation was made of a NaN depended on the path."""
    assert run(path)["overflowing"] == native(PATHS[0])["overflowing"]


@pytest.mark.parametrize("run, path", EVERY_PATH)
@pytest.mark.parametrize("scheme", ["int8", "log4", "int16", "float32"])
def test_recurrent_networks_say_the_same_bits(run, path, scheme):
    made, expected = run(path)["recurrent"][scheme], native(PATHS[0])["recurrent"][scheme]
    assert made == expected and len(made) > 18 * 12 and len({tuple(ids) for ids, _ in made}) > 200
