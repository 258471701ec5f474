"""The scheme of a matrix, and rounding for its inputs."""

import numpy as np
import pytest

from cpunmt.errors import CpunmtError
from cpunmt.layers.schemes import CODEBOOKS
from cpunmt.layers.schemes.int16 import activation_reach, overflow_free
from cpunmt.model.tensors import matrices, output_table
from quantize.rounding.calibration import InputStatistics, greedy_translations, input_statistics
from quantize.rounding.matrix_quantizer import exceptions, matrix_quantizer
from quantize.rounding.ranges import Range, quantize
from quantize.rounding.rounding import damped
from tests.definitions.rounding import lost
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.transformers import make_config

CONFIG = make_config()


@pytest.fixture(scope="module")
def calibrated():
    """Returns (float32 checkpoint, statistics of the inputs of its matrices)."""
    tensors = random_tensors(CONFIG, 4)
    sources = random_sources(3, CONFIG.source_size, 40, longest=12)
    targets = greedy_translations(CONFIG, tensors, sources)
    return tensors, input_statistics(CONFIG, tensors, sources, targets)


def test_patterns_name_matrices():
    names = matrices(CONFIG)
    assert exceptions(CONFIG, []) == {}
    assert exceptions(CONFIG, [("embedding", "float16")]) == {"embedding": "float16"}
    assert exceptions(CONFIG, [("*", "int8")]) == dict.fromkeys(names, "int8")
    found = exceptions(CONFIG, [("decoder.*", "int8"), ("*.key_value", "int16")])
    assert set(found) == {name for name in names if name.startswith("decoder.")}
    keys = {f"decoder.{i}.cross_attention.key_value" for i in (0, 1)}
    assert {name for name, scheme in found.items() if scheme == "int16"} == keys
    found = exceptions(CONFIG, [("*.key_value", "int16"), ("decoder.*", "int8")])  # the last match counts
    assert set(found.values()) == {"int8"}


@pytest.mark.parametrize("pattern", ["output", "Embedding", "decoder", "encoder.0.self_attention.query"])
def test_a_pattern_that_matches_nothing_is_told_what_there_is(pattern):
    with pytest.raises(
        CpunmtError, match="no matrix is called so; there are embedding, encoder.0.self_attention.query_"
    ):
        exceptions(CONFIG, [("embedding", "int8"), (pattern, "int8")])


@pytest.mark.parametrize("scheme", ["int8", "int16", *CODEBOOKS])
def test_without_statistics_weights_are_rounded_to_nearest(scheme):
    weights = np.random.default_rng(1).standard_normal((32, 5)).astype(np.float32)
    for statistics in (None, {"another": None}):
        found = matrix_quantizer(CONFIG, Range(), statistics)("encoder.0.feed_forward.inner", weights, scheme)
        for ours, theirs in zip(found, quantize(weights, scheme, Range()), strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("scheme", ["int8", *CODEBOOKS])
@pytest.mark.parametrize("name", ["encoder.1.feed_forward.inner", "embedding"])
def test_with_statistics_products_change_less(calibrated, scheme, name):
    tensors, statistics = calibrated
    weights = tensors["embedding"].T if name == "embedding" else tensors[f"{name}.weight"]
    q, scales = matrix_quantizer(CONFIG, Range(), statistics)(name, weights, scheme)
    plain, plain_scales = quantize(weights, scheme, Range())
    h = damped(statistics[name].moments)
    assert q.dtype == np.int8 and scales.dtype == np.float32
    assert lost(weights, q, scales, h).sum() < 0.8 * lost(weights, plain, plain_scales, h).sum()
    if scheme in CODEBOOKS:
        assert np.isin(q, CODEBOOKS[scheme]).all()
        assert (
            len(np.unique(matrix_quantizer(CONFIG, Range(per_tensor=True), statistics)(name, weights, scheme)[1])) == 1
        )
    q, _ = matrix_quantizer(CONFIG, Range(), statistics)(name, weights, "int16")  # errors made good would move sums
    assert np.array_equal(q, quantize(weights, "int16", Range())[0]) and overflow_free(q, activation_reach(len(q)))


def test_a_table_that_looks_up_stays_closer_to_its_weights(calibrated):
    """The output layer alone would be better without damping; embedded rows would not."""
    tensors, statistics = calibrated
    untied = make_config(tied_output=False)
    assert output_table(untied) == "output" and output_table(CONFIG) == "embedding"
    weights, known = tensors["embedding"].T, statistics["embedding"]
    tied = matrix_quantizer(CONFIG, Range(), {"embedding": known})("embedding", weights, "code4")
    alone = matrix_quantizer(untied, Range(), {"output": known})("output", weights, "code4")
    error = {kind: np.square(weights - q * scales).sum() for kind, (q, scales) in (("tied", tied), ("alone", alone))}
    h = damped(known.moments)
    assert error["tied"] < error["alone"]
    assert lost(weights, *alone, h).sum() < lost(weights, *tied, h).sum()


def test_statistics_of_an_input_that_is_always_zero(calibrated):
    """Such a matrix is rounded to nearest, as nothing else is known."""
    tensors, _ = calibrated
    name = "encoder.1.feed_forward.inner"
    weights = tensors[f"{name}.weight"]
    zero = InputStatistics(np.zeros((32, 32), np.float32), np.zeros(4, np.float32))
    q, _ = matrix_quantizer(CONFIG, Range(), {name: zero})(name, weights, "int8")
    assert np.array_equal(q, quantize(weights, "int8", Range())[0])
