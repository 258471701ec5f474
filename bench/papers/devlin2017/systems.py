"""The systems of Devlin 2017 (https://arxiv.org/abs/1705.01991), Table 2, by name, and their timed sentences.

The paper says: 80,000 words; an encoder of three bidirectional GRU layers of 512, in all systems but S7; above an
attentional GRU of 1,024 the layers of ABOUT. S7 follows Wu et al. 2016: the first source layer is read both ways, and
from the third source layer and the second target layer on a layer's input is added to its output. The formulas of the
attention and of the fully connected layers are lost in the copy at hand: the latter are from memory of the published
paper (`quantize.reference.recurrent`), the former is Bahdanau's, whose query is the previous state. Ours are: 512 each
way, the widths of pieces' vectors and of attention's scores, S7's source width, and a tanh layer of 512 between the
last state of S1, S2 and S7 and the output layer.

Weights are random; </s> is barred and the length is the source's, so all do the work of real sentences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, checkpoint_tensors, table_sizes
from cpunmt.text.shortlists.shortlist import Shortlist

VOCABULARY = 80_000  # words
CANDIDATES = 20  # for each word of the source,
ALWAYS = 16  # and the most frequent words
BEAM = 6

_SIZES = {"model_dim": 512, "encoder_dim": 512, "decoder_dim": 1024, "attention_dim": 1024, "encoder_layers": 3}
_BASE = {**_SIZES, "attention": "input", "top": "tanh"}


def _stacked(layers: int, **changes) -> dict:
    """Returns `layers` ReLU layers of 768 above the attentional one, and a layer of 1,024 on top."""
    return {**_BASE, "model_dim": 1024, "stack": (768,) * layers, "relu_limit": 10.0, **changes}


_DEEP = {"encoder_cell": "lstm", "decoder_cell": "lstm", "encoder_layers": 8, "decoder_layers": 8, "skip": True}
SYSTEMS = {  # name -> fields of RecurrentConfig
    "S1": _BASE,
    "S2": {**_BASE, "decoder_layers": 2},
    "S3": _stacked(3),
    "S4": _stacked(7),
    "S5": _stacked(7, top="recurrent"),
    "S6": _stacked(15),
    "S7": {**_BASE, **_DEEP, "encoder": "unidirectional", "encoder_dim": 1024},
}
ENSEMBLES = {"E1": ("S4", 2), "E2": ("S4", 3)}  # name -> a system, and its number
ABOUT = {
    "S1": "a GRU with attention, 1024",
    "S2": "and a GRU above it, 1024",
    "S3": "and 3 ReLU layers, 768, and tanh, 1024",
    "S4": "and 7 ReLU layers, and tanh",
    "S5": "and 7 ReLU layers, and a GRU on top",
    "S6": "and 15 ReLU layers, and tanh",
    "S7": "8 LSTM layers on either side, 1024",
    "E1": "two of S4",
    "E2": "three of S4",
}


class Sizes(NamedTuple):
    """Sizes of the timed networks: the paper's, or smaller ones to try the benchmark."""

    vocabulary: int = VOCABULARY
    divisor: int = 1  # of all widths


def system(name: str, sizes: Sizes) -> ModelConfig:
    """Returns the config of one of SYSTEMS."""
    fields = dict(SYSTEMS[name])
    for width in ("model_dim", "encoder_dim", "decoder_dim", "attention_dim"):
        fields[width] //= sizes.divisor
    fields["stack"] = tuple(width // sizes.divisor for width in fields.get("stack", ()))
    return ModelConfig(architecture=RecurrentConfig(**fields), vocab_size=sizes.vocabulary)


def random_weights(config: ModelConfig, seed: int = 1) -> dict[str, np.ndarray]:
    """Returns a float32 checkpoint in [-1, 1], as the paper's 16-bit products require."""
    random, found = np.random.default_rng(seed), {}
    tables = table_sizes(config)
    for name, shape in checkpoint_tensors(config).items():
        deviation = 0.3 if len(shape) == 1 else 0.05 if name in tables else 1.2 * shape[0] ** -0.5
        found[name] = np.clip(np.float32(deviation) * random.standard_normal(shape, dtype=np.float32), -1, 1)
    found["output.bias"][config.eos_id] = -1e4
    return found


def random_model(name: str, scheme: str, sizes: Sizes, seed: int = 1) -> Model:
    """Returns one of SYSTEMS, packed in memory."""
    config = system(name, sizes)
    return Model(*packed_tensors(config, random_weights(config, seed), scheme))


def _frequent(random, count: int, vocabulary: int) -> np.ndarray:
    """Returns ids with the frequency of words (Zipf): 94 of a hundred are among 8,000 of 80,000."""
    return 2 + np.minimum(random.zipf(1.3, count), vocabulary - 2) - 1


def word_ids(lengths: Sequence[int], sizes: Sizes, seed: int = 1) -> list[list[int]]:
    """Returns sentences of these lengths, each with </s>."""
    random = np.random.default_rng(seed)
    return [[*_frequent(random, length, sizes.vocabulary).tolist(), 0] for length in lengths]


def candidate_lists(sizes: Sizes, seed: int = 1) -> Shortlist:
    """Returns for each word 20 others of similar frequency."""
    random, words = np.random.default_rng(seed), np.arange(sizes.vocabulary)[:, None]
    near = words * np.exp(random.standard_normal((sizes.vocabulary, 2 * CANDIDATES))) + random.integers(
        0, 2 * CANDIDATES, (sizes.vocabulary, 2 * CANDIDATES)
    )
    near = np.clip(near.astype(np.int32), ALWAYS, sizes.vocabulary - 1)
    lists = [np.unique(row[:CANDIDATES]) for row in near]
    offsets = np.zeros(sizes.vocabulary + 1, np.int64)
    np.cumsum([len(targets) for targets in lists], out=offsets[1:])
    return Shortlist(offsets, np.concatenate(lists), ALWAYS, CANDIDATES, sizes.vocabulary)
