"""Biases that make random students as sparse as trained ones.

Random weights leave half of a ReLU's outputs zero. Training leaves few nonzeros: in models/ende-tiny, rounded to 8
bits, 3 to 7 % in the encoder and 17 % in the decoder. They are adjacent as rarely as by chance (of four adjacent units
all are zero in 75 to 87 and in 49 %). Some units are often nonzero and others almost never: the logarithms of their
shares have about a normal distribution. A plain random student would not show the gain of sparse products. So each of
its units gets a share of that distribution, and as its bias the quantile of its inputs, on real sentences, that leaves
it positive with that share.

`python -m quantize report --activations` shows the shares of a model.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import linears
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.reference.inputs import hear_inputs
from quantize.reference.network import Reference
from quantize.reference.transformer import Transformer
from quantize.rounding.calibration import greedy_translations

# Share of nonzeros by layer of models/ende-tiny, on captions, phrases and news (tests/golden/sentences.en.txt). A
# student with more layers repeats them.
NONZEROS = {"encoder": (0.051, 0.034, 0.056, 0.039, 0.065, 0.072), "decoder": (0.171,)}
_SPREAD = {"encoder": 0.6, "decoder": 0.45}  # deviation of the logarithm of a unit's share
_MOST = 0.9  # of a unit
_ROUNDS = 3  # a sparser decoder has other translations, for which its biases are found again


def make_sparse(
    config: ModelConfig,
    tensors: dict[str, np.ndarray],
    sources: Sequence[list[int]],
    shortlist: Shortlist | None,
    seed: int,
):
    """Sets the biases before the ReLUs of the feed-forward networks in a Transformer's float32 checkpoint.

    Parameters
    ----------
    sources : ids with their </s>: some hundred pieces in all
    seed : of the units' shares
    """
    if config.architecture.activation != "relu":
        return
    random, shares = np.random.default_rng((seed, 1)), {}
    for layer in linears(config):
        side, number, block, part = layer.name.split(".", 3)
        if (block, part) == ("feed_forward", "inner"):
            mean = NONZEROS[side][int(number) % len(NONZEROS[side])]
            some = np.exp(_SPREAD[side] * random.standard_normal(layer.columns))
            shares[layer.name] = np.minimum(some * (mean / some.mean()), _MOST)
    _Settling(config, tensors, shares, sources).settle()
    targets = [source[-2::-1] + source[-1:] for source in sources]  # initially any text of that length
    for number in range(_ROUNDS):
        inputs = {name: [] for name in shares if name.startswith("decoder")}
        hear_inputs(config, tensors, sources, targets, lambda name, x, to=inputs: name in to and to[name].append(x))
        for name, heard in inputs.items():
            made = np.concatenate(heard) @ tensors[f"{name}.weight"]
            tensors[f"{name}.bias"] = bias_of(made, shares[name])
        if number < _ROUNDS - 1:
            targets = greedy_translations(config, tensors, sources, shortlist)


def bias_of(made: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Returns float32 [units]: biases that leave a unit's numbers, of `made` [rows, units], positive in its share of
    the rows.
    """
    ordered, rows = np.sort(made, axis=0), len(made)
    places = np.clip(np.rint((1 - shares) * rows).astype(np.int64), 1, rows - 1)
    units = np.arange(made.shape[1])
    return -(ordered[places - 1, units] + ordered[places, units]) / 2


class _SideBySide(Transformer):
    """An encoder of all sentences of a _Settling at once."""

    def _input(self, side, embedded, first, one=False):
        return np.concatenate([super(_SideBySide, self)._input(side, part, 0) for part in self._sentences(embedded)])

    def _attended(self, name, x, keys, values):
        parts = zip(*map(self._sentences, (x, keys, values)), strict=True)
        return np.concatenate([super(_SideBySide, self)._attended(name, *one)[0] for one in parts]), None

    def _sentences(self, rows):
        return np.split(rows, self.weights.bounds)


class _Settling(Reference):
    """An encoder of all sentences at once, which sets each bias at its layer: later layers depend on it."""

    definitions = MappingProxyType({TransformerConfig: _SideBySide})

    def __init__(self, config: ModelConfig, tensors: dict, shares: Mapping[str, np.ndarray], sources):
        super().__init__(config, tensors)
        self._shares, self._ids = shares, np.concatenate(sources)
        self.bounds = np.cumsum([len(source) for source in sources])[:-1]

    def settle(self):
        self.encode(self._ids)

    def affine(self, name, x):
        if name in self._shares:
            self.tensors[f"{name}.bias"] = bias_of(self.product(f"{name}.weight", x), self._shares[name])
        return super().affine(name, x)
