"""What quantization cost each layer: the formulas of `rounding.weights`, column by column, of what a file holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.formats.conversion import packed_tensors
from cpunmt.layers.schemes.int8 import quantize_columns
from cpunmt.model.tensors import matrices
from quantize.checkpoints.pack import pack_tensors
from quantize.checkpoints.stored_weights import StoredMatrix
from quantize.evaluation.layer_errors import WORST, decibels, layer_errors, matrix_error
from quantize.rounding.weights import clipped_share, signal_to_noise
from tests.random_models import random_checkpoint


def stored(weights, sigmas):
    q, scales = quantize_columns(weights, sigmas)
    reach = scales.astype(np.float64) * 127.5
    return q, scales, StoredMatrix("int8", q * scales.astype(np.float64), reach)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 12), st.sampled_from([None, 1.5]))
def test_errors_follow_their_formulas(seed, depth, columns, sigmas):
    weights = np.random.default_rng(seed).standard_normal((depth, columns)).astype(np.float32)
    q, scales, matrix = stored(weights, sigmas)
    ratio, clipped, worst = matrix_error(matrix, weights)
    assert ratio == pytest.approx(signal_to_noise(weights, q, scales), abs=1e-9)
    assert clipped == clipped_share(weights, scales)
    each = [signal_to_noise(weights[:, c], q[:, c], scales[c : c + 1]) for c in range(columns)]
    lossy = sorted(value for value in each if np.isfinite(value))
    assert [value for _, value in worst] == pytest.approx(lossy[:WORST], abs=1e-9)
    assert all(each[column] == pytest.approx(value, abs=1e-9) for column, value in worst)


def test_the_worst_column_is_the_one_that_was_spoiled():
    weights = np.random.default_rng(1).standard_normal((64, 40)).astype(np.float32)
    q, scales, _ = stored(weights, None)
    restored = q * scales.astype(np.float64)
    restored[:, 23] *= 0.5
    _, _, worst = matrix_error(StoredMatrix("int8", restored, scales * 127.5), weights)
    assert worst[0] == (23, pytest.approx(20 * np.log10(2), abs=0.2)) and worst[1][1] > 35


def test_a_weight_outside_its_range_on_either_side_is_clipped():
    weights = np.array([[1.0, -3.0], [2.0, 0.0]], np.float32)
    matrix = StoredMatrix("x", weights.astype(np.float64), np.array([1.5, 2.0]))
    assert matrix_error(matrix, weights) == (np.inf, 0.5, [])


def test_decibels():
    assert decibels(np.array([100.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).tolist() == [20, np.inf, np.inf]
    assert decibels(np.array([0.0]), np.array([1.0])).tolist() == [-999]  # JSON has no infinity


def test_every_layer_of_a_model_is_what_packing_it_said():
    config, tensors = random_checkpoint(3)
    float_config, baseline = packed_tensors(config, tensors, "float32")
    packed_config, packed, expected = pack_tensors(config, tensors, "int8", 2.0)
    found = layer_errors((packed_config, float_config), (packed, baseline))
    assert [error.name for error in found] == [error.name for error in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.scheme, ours.shape) == ("int8", theirs.shape)
        assert ours.signal_to_noise == pytest.approx(theirs.signal_to_noise, abs=1e-6)
        assert ours.clipped == theirs.clipped > 0
        assert 0.2 < ours.bytes / ours.baseline_bytes < 0.5
        assert len(ours.worst) == WORST and ours.worst[0][1] <= ours.signal_to_noise
    exact = layer_errors((float_config, float_config), (baseline, baseline))
    assert {error.signal_to_noise for error in exact} == {np.inf}


def test_every_scheme_loses_what_its_bits_say():
    """Close to normal weights: 4 bits leave 15 to 21 decibels, 8 bits 40 to 46, float16 and int16 more than 60."""
    config, tensors = random_checkpoint(3)
    float_config, baseline = packed_tensors(config, tensors, "float32")
    names = matrices(config)
    schemes = dict(zip(names, ["int8", "int16", "log4", "code4", "float16", "float32"] * len(names), strict=False))
    packed_config, packed = packed_tensors(config, tensors, "int8", schemes=schemes)
    found = layer_errors((packed_config, float_config), (packed, baseline))
    assert {error.name: error.scheme for error in found} == schemes
    ranges = {"log4": (13, 18), "code4": (18, 24), "int8": (38, 48), "int16": (60, 110), "float16": (65, 80)}
    for error in found:
        low, high = ranges.get(error.scheme, (np.inf, np.inf))
        assert low <= error.signal_to_noise <= high, error
