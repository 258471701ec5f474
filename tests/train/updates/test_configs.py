"""The recipe's models."""

import pytest

from cpunmt.model.tensors import checkpoint_tensors
from models.train.updates.configs import SHAPES, model_config, settings_of
from quantize.checkpoints.marian_export import marian_options


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_a_model_that_marian_can_express(shape):
    config = model_config(shape, 8000)
    assert marian_options(config)["dec-depth"] == config.architecture.decoder_layers
    assert settings_of(shape).updates > 0


def test_sizes():
    def millions(shape, vocabulary):
        shapes = checkpoint_tensors(model_config(shape, vocabulary)).values()
        return sum(rows * (columns[0] if columns else 1) for rows, *columns in shapes) / 1e6

    assert millions("pilot", 8000) == pytest.approx(5.346880)
    assert millions("tiny", 32000) == pytest.approx(15.722752)  # as Firefox's tiny students
    assert millions("tiny", 8000) * 2 < millions("base", 8000)
