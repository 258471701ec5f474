"""Static scales of activations."""

import numpy as np
import pytest

from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import checkpoint_tensors, linears, table_sizes
from quantize.rounding.calibration import InputStatistics, static_alphas
from tests.sample_models.architectures import NAMED
from tests.sample_models.random_models import random_tensors
from tests.sample_models.transformers import make_config

MAXIMA = np.array([1, 2, 3, 4, 10], np.float32)


def statistics(config, maxima=MAXIMA):
    names = [linear.name for linear in linears(config)] + list(table_sizes(config))
    return {name: InputStatistics(np.eye(1, dtype=np.float32), maxima) for name in names}


def test_marians_formula_and_percentiles():
    config = make_config()
    reach = 4 + 1.1 * np.sqrt((9 + 4 + 1 + 0 + 36) / 5)
    assert set(static_alphas(config, statistics(config)).values()) == {float(np.float32(127 / reach))}
    assert set(static_alphas(config, statistics(config), 100).values()) == {float(np.float32(12.7))}
    assert set(static_alphas(config, statistics(config), 50).values()) == {float(np.float32(127 / 3))}


def test_an_input_that_is_always_zero_has_alpha_1():
    config = make_config()
    assert set(static_alphas(config, statistics(config, np.zeros(3, np.float32))).values()) == {1.0}


@pytest.mark.parametrize("name", NAMED)
def test_every_weight_of_every_architecture_has_one(name):
    config = NAMED[name]
    alphas = static_alphas(config, statistics(config))
    matrices = {
        name for name, shape in checkpoint_tensors(config).items() if len(shape) == 2 and "positions" not in name
    }
    assert set(alphas) <= matrices and matrices - set(alphas) <= {"source_embedding", "target_embedding"}
    packed_config, packed = packed_tensors(config, random_tensors(config, 1), "int8", alphas=alphas)
    assert packed_config.activation_scales == "static" and packed["output.multiplier"] == alphas.popitem()[1]
