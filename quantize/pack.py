"""A float32 checkpoint -> a packed model directory."""

import dataclasses
from typing import NamedTuple

import numpy as np

from cpunmt.architecture import checkpoint_tensors, expected_tensors, linears, norms
from cpunmt.config import ModelConfig
from cpunmt.kernels.packing import pack_float32, pack_int8, padded
from quantize.weights import clipped_share, quantize_columns, signal_to_noise

SCHEMES = ("int8", "float32")


class LayerError(NamedTuple):
    """What quantization cost one weight matrix."""

    name: str
    shape: tuple[int, int]
    signal_to_noise: float  # decibels
    clipped: float  # share of weights outside their column's range


def pack_tensors(
    config: ModelConfig, tensors: dict[str, np.ndarray], scheme: str, sigmas: float | None = 7.0
) -> tuple[ModelConfig, dict[str, np.ndarray], list[LayerError]]:
    """Quantize and lay out the tensors of a checkpoint.

    Parameters
    ----------
    tensors : what `architecture.checkpoint_tensors` lists, float32
    scheme : "int8" or "float32"
    sigmas : see `quantize.weights.quantize_columns`

    Returns
    -------
    the packed model's config, its tensors in file order, and the error of each int8 matrix
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}, expected one of {', '.join(SCHEMES)}")
    missing = sorted(set(checkpoint_tensors(config)) - set(tensors))
    if missing:
        raise ValueError(f"the checkpoint lacks {', '.join(missing)}")
    config = dataclasses.replace(config, scheme=scheme)
    made, errors = {}, []

    def quantized(name, weights):
        """Quantize [depth, columns], note the error, return (q, scales, sums)."""
        q, scales = quantize_columns(weights, sigmas)
        errors.append(
            LayerError(name, weights.shape, signal_to_noise(weights, q, scales), clipped_share(weights, scales))
        )
        return q, scales, q.sum(axis=0, dtype=np.int32)

    if scheme == "int8":
        q, scales, sums = quantized("embedding", tensors["embedding"].T)
        made["embedding.weight"] = np.ascontiguousarray(q.T)
        made["embedding.scale"], made["embedding.sums"] = scales, sums
    else:
        made["embedding.weight"] = tensors["embedding"]
    made["output.bias"] = tensors["output.bias"]
    for linear in linears(config):
        weights = np.concatenate([tensors[weight] for weight, _ in linear.parts], axis=1)
        width = linear.columns // len(linear.parts)
        bias = [tensors[name] if name else np.zeros(width, np.float32) for _, name in linear.parts]
        if scheme == "int8":
            q, scales, sums = quantized(linear.name, weights)
            made[f"{linear.name}.weight"] = pack_int8(q)
            made[f"{linear.name}.scale"], made[f"{linear.name}.sums"] = padded(scales), padded(sums)
        else:
            made[f"{linear.name}.weight"] = pack_float32(weights)
        made[f"{linear.name}.bias"] = padded(np.concatenate(bias))
    for norm in norms(config):
        made[f"{norm}.scale"], made[f"{norm}.bias"] = tensors[f"{norm}.scale"], tensors[f"{norm}.bias"]
    return config, {name: made[name] for name in expected_tensors(config)}, errors
