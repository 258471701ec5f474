"""Seeded random models of common shapes, and the shipped one, for comparison with Marian.

Bergamot 0.4.5 never reads `transformer-rnn-projection`, `transformer-decoder-ffn-depth` and
`transformer-decoder-dim-ffn`, so the shapes here do not need them. Differences between encoder and decoder, and layers
after a cell, are only compared with the definition.
"""

import numpy as np

from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, table_sizes
from tests.golden.bergamot_recurrent import RECURRENT, recurrent_checkpoint
from tests.sample_models.packed_checkpoint import checkpoint_of
from tests.sample_models.real_model import DIRECTORIES

VOCAB = 8000  # pieces of models/ende-student/vocabulary.spm
_SMALL = {"model_dim": 256, "ffn_dim": 1024, "encoder_layers": 2, "decoder_parameters": (0, 1)}
SHAPES = {
    "tiny": {"model_dim": 256, "ffn_dim": 1536, "encoder_layers": 6, "decoder_parameters": (0, 1)},
    "base": {"model_dim": 512, "ffn_dim": 2048, "encoder_layers": 6, "decoder_parameters": (0, 1)},
    "base-memory": {"model_dim": 384, "ffn_dim": 1536, "encoder_layers": 6, "decoder_parameters": (0, 1, 2, 3)},
    "nano": {"model_dim": 256, "ffn_dim": 1536, "encoder_layers": 4, "decoder_parameters": (0, 1)},
    "tied": {"model_dim": 256, "ffn_dim": 1536, "encoder_layers": 6, "decoder_parameters": (0, 0)},
    "self-attention": _SMALL | {"cell": "self_attention", "activation": "swish"},
    "average-attention": _SMALL | {"cell": "average_attention", "average_dim": 1024},
    "average-attention-plain": _SMALL
    | {"cell": "average_attention", "average_dim": 256, "average_gate": False, "average_activation": "relu"},
    "sru": _SMALL | {"cell": "sru"},
    "two-tables": _SMALL | {"shared_embedding": False},
    "untied-output": _SMALL | {"tied_output": False},
    "highway": _SMALL | {"postprocess": "hn", "embedding_norm": True},
    "normalized-top": _SMALL | {"top_norm": True, "activation": "gelu_sigmoid"},
    "deep-network": _SMALL | {"ffn_depth": 3, "decoder_ffn_depth": 3},
    "no-projection": _SMALL | {"attention_projection": False, "cell": "self_attention"},
    "gru": _SMALL | {"cell": "gru"},
    "lstm": _SMALL | {"cell": "lstm"},
}


STUDENT = "student"  # models/ende-student
LARGE = ("tiny", "base", "base-memory", "nano", "tied")


def checkpoint(model: str) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns architecture and float32 weights of a shape's random model, or of the shipped one."""
    if model == STUDENT:
        packed = read_directory(DIRECTORIES["float32"])
        return packed.config, checkpoint_of(packed)
    if model in RECURRENT:
        return recurrent_checkpoint(model, VOCAB)
    config = config_of(model)
    return config, tensors_of(config, list(SHAPES).index(model))


def config_of(shape: str) -> ModelConfig:
    return ModelConfig.of(heads=8, vocab_size=VOCAB, **SHAPES[shape])


def tensors_of(config: ModelConfig, seed: int) -> dict[str, np.ndarray]:
    """Draws float32 weights from NumPy's old, unchanging generator, scaled so that translations vary."""
    generator = np.random.RandomState(seed)
    found = {}
    for name, shape in checkpoint_tensors(config).items():
        deviation = 0.1
        if name.endswith("norm.scale"):
            deviation = 1.0
        elif len(shape) == 2:
            strong = ".cell." in name or ".cross_attention." in name or name in table_sizes(config)
            inputs = config.architecture.model_dim if name in table_sizes(config) else shape[0]
            deviation = (4 if ".cross_attention." in name else 2 if strong else 1) * inputs**-0.5
        found[name] = (generator.standard_normal(shape) * deviation).astype(np.float32)
    return found
