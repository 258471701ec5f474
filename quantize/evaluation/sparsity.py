"""Measures the zeros of ReLUs' outputs after rounding to 8 bits: products need not read their rows of weights."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.kernels.matmul.packing import GROUP
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import is_static, linears
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.checkpoints.float_checkpoint import unpacked_tensors
from quantize.reference.inputs import hear_inputs
from quantize.rounding.calibration import calibration_sources, greedy_translations

# of kernels.matmul.quantize_rows; importing it would load a compiler
STEPS, LARGEST_INVERSE = np.float32(255 - 2.0**-12), np.float32(3.0e38)
MOST_SENTENCES = 100  # for the network in NumPy: five seconds of everyday phrases, twenty of news


class Sparsity(NamedTuple):
    """Zeros among the inputs of one layer."""

    name: str  # of the linear layer
    depth: int  # units that it reads
    rows: int  # number of seen rows
    zeros: float  # share of all numbers
    groups: float  # share of groups of GROUP adjacent numbers that are all zero
    unused: float  # share of the units with zeros in every row


def rectified_inputs(config: ModelConfig) -> list[str]:
    """Returns the names of the linear layers that multiply a ReLU's output, in the order of use."""
    return [linear.name for linear in linears(config) if linear.rectified]


def model_sparsity(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    vocabulary: Any,
    shortlist: Shortlist | None = None,
    prompt: tuple[int, ...] = (),
) -> tuple[int, list[Sparsity]]:
    """Returns (number of used sentences, sparsity of their activations) of a packed model that translates a source
    text.

    `path` has a sentence a line, of which at most MOST_SENTENCES are used, evenly spaced. The model's integers are
    converted to floats. `prompt`: the pieces of a language that begin each translation.

    Raises ModelFileError for a file that is missing, not text, or without a sentence.
    """
    sources, _ = calibration_sources(path, vocabulary, config, MOST_SENTENCES, "text of --activations")
    multipliers = {
        layer.name: float(tensors[f"{layer.name}.multiplier"][0])
        for layer in linears(config)
        if is_static(config, layer.name)
    }
    weights = unpacked_tensors(config, tensors)
    plain = config.changed(scheme="float32", schemes=(), activation_scales="dynamic")
    targets = greedy_translations(plain, weights, sources, shortlist, [prompt] * len(sources))
    return len(sources), sparsity(plain, weights, sources, targets, multipliers)


def sparsity(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    multipliers: Mapping[str, float] | None = None,
) -> list[Sparsity]:
    """Counts zeros in each layer of `rectified_inputs` under forced decoding of given translations.

    Parameters
    ----------
    tensors : a float32 checkpoint
    sources, targets : see `hear_inputs`
    multipliers : name of a layer -> its static activation scale; each row of other layers has its own scale
    """
    multipliers = multipliers or {}
    # rows, zeros, groups of zeros, and the count of nonzeros of each unit
    counts: dict[str, list[Any]] = {name: [0, 0, 0, 0] for name in rectified_inputs(config)}

    def hear(name: str, x: Any) -> None:
        if name in counts:
            used = nonzero(x, multipliers.get(name))
            groups = used.reshape(len(x), -1, GROUP).any(axis=2)
            more = len(x), (~used).sum(), (~groups).sum(), used.sum(axis=0)
            counts[name] = [known + new for known, new in zip(counts[name], more, strict=True)]

    hear_inputs(config, tensors, sources, targets, hear)
    found = []
    for name, (rows, zeros, groups, used) in counts.items():
        total = rows * len(used)
        shares = float(zeros / total), float(groups * GROUP / total), float((used == 0).mean())
        found.append(Sparsity(name, len(used), rows, *shares))
    return found


def nonzero(x: np.ndarray, multiplier: float | None = None) -> np.ndarray:
    """Returns which of x [rows, depth], none of it negative, are not 0 after rounding by
    `kernels.matmul.quantize_rows`.
    """
    if multiplier is None:
        largest = x.max(axis=1, keepdims=True)
        tiny = largest < STEPS / LARGEST_INVERSE  # treated as rows of zeros
        factor = np.where(tiny, np.float32(0), STEPS / np.where(tiny, np.float32(1), largest))
    else:
        factor = np.float32(multiplier)
    found: np.ndarray = x * factor > np.float32(0.5)
    return found
