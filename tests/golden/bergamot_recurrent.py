"""Seeded random recurrent models, in shapes that Marian supports, for comparison with Marian.

Each shape has its own strength of weights: weak ones repeat a piece for ever; with strong ones, the last bit of the
first step decides the twentieth.
"""

from typing import NamedTuple

import numpy as np

from cpunmt.formats.marian.marian_recurrent import recurrent_sources
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, table_sizes

_SMALL = {"model_dim": 256, "encoder_dim": 256, "decoder_dim": 256}
_LSTM = {"encoder_cell": "lstm", "decoder_cell": "lstm"}


class Shape(NamedTuple):
    """A model's shape, and the distribution of its weights."""

    options: dict
    gain: float  # deviation of a weight, in inputs^-0.5
    end: float = 0.0  # preference for </s>
    scale: float = 0.5  # of layer norms


RECURRENT = {
    "s2s": Shape(_SMALL | {"model_dim": 128}, 2.0),
    "bideep": Shape(
        _SMALL
        | {"encoder": "alternating", "encoder_layers": 4, "encoder_transitions": 2, "decoder_layers": 4, "skip": True}
        | {"decoder_transitions": 2, "high_transitions": 1, "layer_norm": "marian"},
        1.5,
        3.0,
    ),
    "s2s-lstm": Shape(
        _SMALL | _LSTM | {"encoder_layers": 2, "shared_embedding": False, "tied_output": False}, 2.0, 0.5
    ),
    "s2s-unidirectional": Shape(
        _SMALL
        | {"encoder": "unidirectional", "encoder_layers": 3, "decoder_layers": 2, "skip": True}
        | {"shared_embedding": False},
        1.3,
        1.0,
    ),
    "lstm-norms": Shape(
        _SMALL | _LSTM | {"encoder_transitions": 2, "decoder_transitions": 1, "layer_norm": "marian"}, 1.5, 1.0
    ),
    "nematus": Shape(
        _SMALL
        | {"encoder_transitions": 2, "decoder_transitions": 2, "layer_norm": "nematus", "layer_norm_epsilon": 1e-5}
        | {"shared_embedding": False},
        1.5,
        2.0,
    ),
}


def recurrent_checkpoint(name: str, vocab_size: int) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns architecture and float32 weights of a shape, from NumPy's old generator, whose numbers never change."""
    shape = RECURRENT[name]
    config = ModelConfig.of("config", "recurrent", vocab_size=vocab_size, **shape.options)
    generator = np.random.RandomState(list(RECURRENT).index(name))
    found = {}
    for tensor, size in checkpoint_tensors(config).items():
        mean, deviation = (shape.scale if tensor.endswith("norm.scale") else 0.0), 0.1
        if tensor == "attention.score":
            deviation = 1.0
        elif len(size) == 2:
            deviation = (
                shape.gain * (config.architecture.model_dim if tensor in table_sizes(config) else size[0]) ** -0.5
            )
        found[tensor] = (mean + generator.standard_normal(size) * deviation).astype(np.float32)
    found["output.bias"][config.eos_id] += shape.end
    without_places(config, found)
    return config, found


def without_places(config: ModelConfig, tensors: dict[str, np.ndarray]):
    """Sets weights to 0 that do not exist in Marian."""
    for name, source in recurrent_sources(config).items():
        end = 0
        for piece in () if isinstance(source, str) else source:
            begin, end = end, end + piece.width
            if not piece.names:
                tensors[name][begin:end] = 0
