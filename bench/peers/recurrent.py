"""A recurrent network of random weights in Marian's form, `s2s`, for each engine.

It is near S1 of Devlin 2017: a bidirectional encoder of three GRU layers, and one attentional GRU layer. Marian has one
width for all states, where the paper has 512 in the encoder and 1,024 in the decoder.

Random weights never choose </s> meaningfully. As in `bench.students`, </s> is barred, and a translation has 1.05 pieces
for each source piece, in both engines. Marian's limit is that of the longest sentence of a batch: its bulk translations
are longer, and its seconds are taken per piece. That favours it, as no row of a batch ends before the others.
"""

from pathlib import Path

import numpy as np

from bench.packing import pack_quietly
from bench.peers.models import HOME_SHORTLIST, HOME_VOCABULARY, Contest
from bench.students import LENGTH_FACTOR
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, table_sizes
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.marian_export import write_marian_npz
from tests.golden.bergamot_recurrent import without_places

WIDTHS = range(16, 4096 + 1, 16)
_EMBEDDING = 512  # the widest in use
_GAIN = 2.0  # deviation of a weight, in inputs^-0.5: the source must outweigh the last piece
# Marian's types of products. Bergamot 0.4.5 rounds every matrix of `s2s` on first use; a file with activation scales
# ("alphas") would need some for each, and no tool makes them for this family.
_PRECISIONS = {"float32": ("float32",), "int8": ("int8", "int8shift", "int8shiftAll")}


def random_recurrent(width: int, vocab_size: int) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns config and float32 tensors of a network with states of `width` numbers, from a seed."""
    config = ModelConfig.of(
        "config",
        "recurrent",
        vocab_size=vocab_size,
        model_dim=min(width, _EMBEDDING),
        encoder_dim=width,
        decoder_dim=width,
        encoder_layers=3,
        max_length_factor=LENGTH_FACTOR,
    )
    random, tensors = np.random.default_rng(1), {}
    for name, shape in checkpoint_tensors(config).items():
        deviation = 1.0 if name == "attention.score" else 0.1
        if len(shape) == 2:
            inputs = config.architecture.model_dim if name in table_sizes(config) else shape[0]
            deviation = _GAIN * inputs**-0.5
        tensors[name] = random.standard_normal(shape, np.float32) * np.float32(deviation)
    tensors["output.bias"][config.eos_id] = -1e4
    without_places(config, tensors)
    return config, tensors


def recurrent(home: Path, folder: Path, width: int) -> dict[str, Contest]:
    """Returns precision, "float32" and "int8" -> the same network for cpunmt and bergamot, with files in `folder`."""
    vocabulary, shortlist = home / HOME_VOCABULARY, home / HOME_SHORTLIST
    npz = folder / "recurrent.npz"
    write_marian_npz(npz, *random_recurrent(width, Vocabulary(vocabulary).size))
    contests = {}
    for precision, theirs in _PRECISIONS.items():
        packed = folder / f"recurrent-{precision}"
        options = ["--scheme", precision, "--vocab", str(vocabulary), "--shortlist", str(shortlist)]
        pack_quietly(npz, packed, *options, "--max-length-factor", str(LENGTH_FACTOR))
        marian = [(npz, name) for name in theirs]
        contests[precision] = Contest({"cpunmt": packed}, marian, vocabulary, shortlist, None, LENGTH_FACTOR, cut=True)
    return contests
