"""The errors of quantization, by layer and column: of rounded weights, and of files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.formats.conversion import packed_tensors
from cpunmt.layers.schemes import CODEBOOKS
from cpunmt.layers.schemes.int8 import quantize_columns
from cpunmt.model.tensors import matrices
from quantize.checkpoints.layer_errors import REACH, WORST, decibels, layer_error, pack_tensors, poor
from quantize.evaluation.report import compare_layers
from quantize.rounding.ranges import Range, quantize
from tests.sample_models.random_models import random_checkpoint


def error_of(weights, sigmas):
    q, scales = quantize_columns(weights, sigmas)
    return layer_error("x", "int8", weights, q * scales.astype(np.float64), 127.5 * scales.astype(np.float64))


def signal_to_noise(weights, q, scales):
    """Returns 10 log10(sum w^2 / sum (w - scale q)^2); inf without any loss."""
    w = weights.astype(np.float64)
    noise = ((w - q * scales.astype(np.float64)) ** 2).sum()
    return 10 * np.log10((w**2).sum() / noise) if noise else np.inf


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 12), st.sampled_from([None, 1.5]))
def test_errors_follow_their_formulas(seed, depth, columns, sigmas):
    weights = np.random.default_rng(seed).standard_normal((depth, columns)).astype(np.float32)
    q, scales = quantize_columns(weights, sigmas)
    error = error_of(weights, sigmas)
    assert error[:3] == ("x", "int8", (depth, columns))
    assert error.signal_to_noise == pytest.approx(signal_to_noise(weights, q, scales), abs=1e-9)
    assert error.clipped == (np.abs(weights) > 127.5 * scales.astype(np.float64)).sum() / weights.size
    each = [signal_to_noise(weights[:, c], q[:, c], scales[c : c + 1]) for c in range(columns)]
    lossy = sorted(value for value in each if np.isfinite(value))
    assert [value for _, value in error.worst] == pytest.approx(lossy[:WORST], abs=1e-9)
    assert all(each[column] == pytest.approx(value, abs=1e-9) for column, value in error.worst)


def test_a_weight_outside_its_range_on_either_side_is_clipped():
    weights = np.array([[1.0, -3.0], [2.0, 0.0]], np.float32)
    error = layer_error("x", "int8", weights, weights.astype(np.float64), np.array([1.5, 2.0]))
    assert error[3:] == (np.inf, 0.5, [], np.inf)


@pytest.mark.parametrize("scheme", ["int8", "int16", *CODEBOOKS])
def test_clipped_is_what_is_far_beyond_the_largest_level(scheme):
    levels = (
        np.unique(np.abs(CODEBOOKS[scheme].astype(int)))
        if scheme in CODEBOOKS
        else {"int8": [126, 127], "int16": [32766, 32767]}[scheme]
    )
    assert REACH[scheme] == levels[-1] + (levels[-1] - levels[-2]) / 2


def test_decibels():
    assert decibels(np.array([100.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).tolist() == [20, np.inf, np.inf]
    assert decibels(np.array([0.0]), np.array([1.0])).tolist() == [-999]  # JSON has no infinity


def test_every_layer_of_a_model_is_what_packing_it_said():
    config, tensors = random_checkpoint(3)
    float_config, baseline = packed_tensors(config, tensors, "float32")
    packed_config, packed, expected = pack_tensors(
        config, tensors, "int8", quantizer=lambda _, *matrix: quantize(*matrix, Range("sigma", 2.0))
    )
    found = compare_layers((packed_config, packed), (float_config, baseline))
    assert [layer["name"] for layer in found] == [error.name for error in expected]
    for layer, error in zip(found, expected, strict=True):
        assert (layer["scheme"], layer["shape"]) == ("int8", list(error.shape))
        assert layer["sqnr_db"] == pytest.approx(error.signal_to_noise, abs=1e-3)
        assert layer["clipped"] == error.clipped > 0
        assert 0.2 < layer["bytes"] / layer["baseline_bytes"] < 0.5
        worst = layer["worst_columns"]
        assert len(worst) == WORST and worst[0]["sqnr_db"] <= layer["sqnr_db"]
    exact = compare_layers((float_config, baseline), (float_config, baseline))
    assert {layer["sqnr_db"] for layer in exact} == {None}


def test_every_scheme_loses_what_its_bits_say():
    """Close to normal weights: 4 bits leave 15 to 21 decibels, 8 bits 40 to 46, float16 and int16 more than 60."""
    config, tensors = random_checkpoint(3)
    float_config, baseline = packed_tensors(config, tensors, "float32")
    names = matrices(config)
    schemes = dict(zip(names, ["int8", "int16", "log4", "code4", "float16", "float32"] * len(names), strict=False))
    packed_config, packed = packed_tensors(config, tensors, "int8", schemes=schemes)
    found = compare_layers((packed_config, packed), (float_config, baseline))
    assert {layer["name"]: layer["scheme"] for layer in found} == schemes
    ranges = {"log4": (13, 18), "code4": (18, 24), "int8": (38, 48), "int16": (60, 110), "float16": (65, 80)}
    for layer in found:
        low, high = ranges.get(layer["scheme"], (np.inf, np.inf))
        assert low <= (layer["sqnr_db"] or np.inf) <= high, layer


def test_outliers_are_lost_by_seven_sigma_and_not_by_the_maximum():
    """Each column has a weight 11 standard deviations large."""
    weights = np.random.default_rng(1).standard_normal((256, 4)).astype(np.float32)
    weights[7] = 15
    lost, kept = error_of(weights, 7.0), error_of(weights, None)
    assert lost.signal_to_noise < 14 and kept.lowest > 28
    slightly = lost._replace(name="b", signal_to_noise=24.9, rest=24.9)
    four = lost._replace(name="c", scheme="log4", signal_to_noise=7.0, rest=7.0)
    assert [error.name for error in poor([kept, slightly, four, lost])] == [lost.name, "c", "b"]
    assert poor([kept, four._replace(signal_to_noise=14.0, rest=14.0)]) == []


@pytest.mark.parametrize(("deviations", "least", "most"), [(15, 27, 32), (130, 8, 12), (1000, -0.1, 0.1)])
def test_one_weight_cannot_hide_what_all_others_lost(deviations, least, most):
    """A column with one giant weight keeps nearly all energy, while all others are rounded to zero."""
    weights = np.random.default_rng(2).standard_normal((512, 8)).astype(np.float32)
    weights[3] = deviations
    found = error_of(weights, None)
    assert found.signal_to_noise > 25 and least < found.rest < most
    q, scales = quantize_columns(weights)
    others = np.delete(weights, 3, axis=0)
    assert found.rest == pytest.approx(signal_to_noise(others, np.delete(q, 3, axis=0), scales), abs=0.01)
    assert poor([found]) == ([found] if deviations > 100 else [])
