"""The recipe's models."""

import pytest

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.model.tensors import checkpoint_tensors
from models.train.updates.configs import RECURRENT, SHAPES, model_config, settings_of
from quantize.checkpoints.marian_export import marian_options


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_a_model_that_marian_can_express(shape):
    config = model_config(shape, 8000)
    assert marian_options(config)["dec-depth"] == config.architecture.decoder_layers
    assert settings_of(shape).updates > 0


def test_recurrent_shapes():
    """After Devlin's systems; weights for 16-bit products, and ReLUs."""
    for shape in RECURRENT:
        config = model_config(shape, 8000)
        assert isinstance(config.architecture, RecurrentConfig)
        if shape.startswith("devlin"):
            assert settings_of(shape).weight_limit == 1.0
            assert bool(config.architecture.stack) == (config.architecture.relu_limit == 10.0)
    assert model_config("devlin-s2", 8000).architecture.decoder_layers == 2
    assert marian_options(model_config("smoke-marian", 8000))["type"] == "s2s"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"density_weight": -0.1}, "density_weight is -0.1, expected 0"),
        ({"weight_limit": -1.0}, "weight_limit is -1.0, expected 0"),
        ({"density_weight": float("nan")}, "density_weight is nan"),
        ({"density_weight": 0.1, "target_density": 12.0}, "target_density is 12.0, expected a share"),
        ({"density_weight": 0.1, "target_density": -0.1}, "target_density is -0.1"),
        ({"target_density": 0.1}, "target_density is of density_weight"),
    ],
)
def test_densities_that_cannot_be_meant(wrong, told):
    with pytest.raises(ValueError, match=told):
        settings_of("tiny", **wrong)
    assert settings_of("tiny", density_weight=0.1, target_density=0.12).target_density == 0.12


def test_sizes():
    def millions(shape, vocabulary):
        shapes = checkpoint_tensors(model_config(shape, vocabulary)).values()
        return sum(rows * (columns[0] if columns else 1) for rows, *columns in shapes) / 1e6

    assert millions("pilot", 8000) == pytest.approx(5.346880)
    assert millions("tiny", 32000) == pytest.approx(15.722752)  # as Firefox's tiny students
    # Kim et al. 2019, Table 3
    for shape, parameters in {"paper-large": 108.4, "tied6": 39.0, "paper-small": 17.6, "paper-tiny": 15.7}.items():
        assert millions(shape, 32000) == pytest.approx(parameters, abs=0.05)
    assert millions("teacher", 32000) == pytest.approx(60.6, abs=0.05)  # its self-attention base
    assert millions("tiny", 8000) * 2 < millions("base", 8000)
