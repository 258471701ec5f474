"""8-bit models as Bergamot deploys them: calibrated, written as `.bin`, and their arithmetic in NumPy.

Marian multiplies a weight matrix by 127 / max|w| and rounds it. It multiplies activations by the "alpha" of the
product, 127 / (mean + 1.1 standard deviations) of each call's maximum, rounds and clips them. The sum of products is
exact, then divided by both multipliers. Tables are rounded like weights, as embeddings too. `int8shiftAll` multiplies
by 127 / max|x| of the whole activation matrix instead.
"""

from pathlib import Path

import numpy as np
import yaml

from cpunmt.formats.marian.marian_bin import ALPHA
from cpunmt.formats.marian.marian_transformer import marian_names
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import output_table
from quantize.checkpoints.marian_export import marian_options
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy
from tests.sample_models.marian_bin_writer import write_marian_bin


class Calibrating(Reference):
    """A recorder of the largest activation in every call of every product."""

    def __init__(self, config, tensors):
        super().__init__(config, tensors)
        self.largest = {}

    def product(self, name, x):
        self.largest.setdefault(name, []).append(float(np.abs(x).max()))
        return super().product(name, x)


def alphas_of(config: ModelConfig, tensors, sources, candidates) -> dict[str, float]:
    """Returns the canonical name of a weight, or of the output table -> multiplier of its input, float32 values.

    Parameters
    ----------
    sources, candidates : ids of sentences to translate, and the allowed target ids of each
    """
    network = Calibrating(config, tensors)
    for source, chosen in zip(sources, candidates, strict=True):
        greedy(network, source, chosen, max_length_factor=2)
    return {
        name: float(np.float32(127 / (np.mean(largest) + 1.1 * np.std(largest))))
        for name, largest in network.largest.items()
    }


class MarianInt8(Reference):
    """The network in Marian's integers, rounded as Marian rounds the values around them.

    Marian stores activations as unsigned bytes q + 127, and subtracts 127 times the sum of each column's integers with
    the bias. The sums are exact, but this correction is not: another rounding of it changes last bits, and in most
    sentences moves some activation to the next integer. `shifted` False leaves it out.
    """

    def __init__(self, config, tensors, alphas, shifted=True):
        super().__init__(config, tensors)
        self.alphas, self.shifted = alphas, shifted
        self.quantized = {}
        for name, weights in tensors.items():
            if weights.ndim == 2 and name != "positions":
                q, multiplier = integers(weights)
                q = np.ascontiguousarray(q.T) if name in self.tables.values() else q
                self.quantized[name] = q, multiplier, q.sum(axis=0).astype(np.float32)

    def product(self, name, x):
        return self._product(name, x, np.float32(0))

    def affine(self, name, x):
        return self._product(f"{name}.weight", x, self.tensors[f"{name}.bias"])

    def _product(self, name, x, bias):
        weights, multiplier, sums = self.quantized[name]
        alpha, most, offset = np.float32(self.alphas[name]), np.float32(127), 127 if self.shifted else 0
        q = np.clip(np.rint(x * alpha), -127, 127) + offset
        if self.shifted:
            bias = sums * (-(most / alpha * (most / multiplier)) / most) + bias
        # float64 sums of integers are exact below 2 ** 53, and NumPy multiplies them faster than integers
        return (q.astype(np.float64) @ weights).astype(np.float32) * (np.float32(1) / (alpha * multiplier)) + bias

    def embed(self, table, ids):
        weights, multiplier, _ = self.quantized[table]
        return weights.T[np.asarray(ids, np.int64)].astype(np.float32) * (np.float32(1) / multiplier)


def integers(weights: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """Returns a matrix rounded as intgemm does it, kept as float64, and its multiplier."""
    multiplier = np.float32(127) / np.abs(weights).max()
    return np.clip(np.rint(weights * multiplier), -127, 127).astype(np.float64), multiplier


def write_intgemm(path: Path, config: ModelConfig, tensors, alphas=None) -> None:
    """Writes `model.intgemm8.bin`, or `.alphas.bin`, as marian-conv does it."""
    names = marian_names(config, list(range(1, config.architecture.decoder_sets + 1)))
    theirs = {name: np.atleast_2d(tensors[ours]) for ours, name in names.items()}
    found = {names[ours]: value for ours, value in (alphas or {}).items()}
    if alphas:
        found["none"] = alphas[output_table(config)]  # the output layer among candidates does not have a name
    options = yaml.safe_dump(marian_options(config)).encode()
    assert not any(name.endswith(ALPHA) for name in theirs)
    write_marian_bin(path, theirs, options, "int8", found)
