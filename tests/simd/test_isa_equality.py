"""Law 3: the same integers, the same floats and the same translations on every path."""

import functools
import json

import numpy as np
import pytest

from cpunmt.kernels.matmul.packing import pack
from cpunmt.simd import isa
from tests.definitions.matmul import int8_matmul_reference, int16_matmul_reference
from tests.simd import isa_outputs
from tests.support.built_programs import built_programs, quick_paths, warmed_up
from tests.support.built_programs import paths as built_paths
from tests.support.processes import output
from tests.support.speeds import slow_after

QUICK = quick_paths()
PATHS = [*QUICK, *(path.value for path in isa.supported() if path.value not in QUICK)]


def native(path):
    warmed_up(path)
    return output("-m", "tests.simd.isa_outputs", CPUNMT_ISA=path)


def emulated(path):
    return output("-m", "tests.simd.emulation", "tests.simd.isa_outputs", CPUNMT_ISA=path)


def prebuilt(path):
    """Uses the program of a wheel."""
    command = "tests.support.prebuilt_start", built_programs(), "tests.simd.isa_outputs"
    return output("-m", *command, CPUNMT_ISA=path)


EMULATED = ("amx_int8", "avx512_vnni", "avx_vnni", "i8mm", "dotprod", "neon")
EVERY_PATH = slow_after(
    len(QUICK),
    [
        *((native, path) for path in PATHS),
        *((prebuilt, path.value) for path in built_paths()),
        *((emulated, path) for path in EMULATED),
    ],
)


@pytest.fixture(scope="module")
def run(once):
    """`run(how, path)` returns the outputs of a path, made once for all tests and workers."""

    @functools.cache
    def found(how, path):
        made = json.loads(once(f"{how.__name__} {path}", lambda: how(path)))
        assert made["isa"] == path
        return made

    return found


@pytest.fixture(scope="module")
def exact_integers():
    """Returns the digest of the exact sums of `isa_outputs.integer_cases()` and `isa_outputs.word_cases()`."""
    bytes_, words = isa_outputs.integer_cases(), isa_outputs.word_cases()
    exact = [int8_matmul_reference(q, pack(weights), weights.shape[1]) for q, weights in bytes_]
    exact += [int16_matmul_reference(q, pack(weights), weights.shape[1]).astype(np.int32) for q, weights in words]
    return isa_outputs.digest(exact)


@pytest.mark.parametrize("how, path", EVERY_PATH)
def test_integers_are_exact(run, how, path, exact_integers):
    assert run(how, path)["integers"] == exact_integers


@pytest.mark.parametrize("how, path", EVERY_PATH)
def test_floats_of_every_kernel_are_the_same_bits(run, how, path):
    made, expected = run(how, path)["kernels"], run(native, PATHS[0])["kernels"]
    assert [name for name in expected if made[name] != expected[name]] == []
    assert made.keys() == expected.keys()


@pytest.mark.parametrize("how, path", EVERY_PATH)
@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_translations_and_scores_are_the_same_bits(run, how, path, scheme):
    made, expected = run(how, path)["translations"][scheme], run(native, PATHS[0])["translations"][scheme]
    assert len(made) == len(expected) >= isa_outputs.SENTENCES[scheme] + 10
    different = [i for i, (a, b) in enumerate(zip(made, expected, strict=True)) if a != b]
    assert different == []
    assert len({tuple(ids) for ids, *_ in made}) > isa_outputs.SENTENCES[scheme] // 2  # real ones
    assert all(np.isfinite(float.fromhex(number)) for _, *numbers in made for number in numbers)


@pytest.mark.parametrize("how, path", EVERY_PATH)
def test_models_whose_numbers_leave_float32_say_the_same(run, how, path):
    """The 8-bit activation of a NaN once depended on the path."""
    assert run(how, path)["overflowing"] == run(native, PATHS[0])["overflowing"]


@pytest.mark.parametrize("how, path", EVERY_PATH)
@pytest.mark.parametrize("scheme", isa_outputs.NETWORK_SCHEMES)
def test_recurrent_networks_say_the_same_bits(run, how, path, scheme):
    made, expected = run(how, path)["recurrent"][scheme], run(native, PATHS[0])["recurrent"][scheme]
    assert made == expected and len(made) > 18 * 12 and len({tuple(ids) for ids, _ in made}) > 200


@pytest.mark.parametrize("how, path", EVERY_PATH)
@pytest.mark.parametrize("scheme", isa_outputs.NETWORK_SCHEMES)
def test_transformers_of_other_programs_say_the_same_bits(run, how, path, scheme):
    made, expected = run(how, path)["extended"][scheme], run(native, PATHS[0])["extended"][scheme]
    count = len(isa_outputs.EXTENDED)
    assert made == expected and len(made) == count * 24 and len({tuple(ids) for ids, _ in made}) > count * 8


@pytest.mark.parametrize("how, path", EVERY_PATH)
def test_models_of_codes_alone_say_the_same_bits(run, how, path):
    made, expected = run(how, path)["codes alone"], run(native, PATHS[0])["codes alone"]
    assert made == expected and len({tuple(ids) for ids, _ in made["log4"]}) > 100
