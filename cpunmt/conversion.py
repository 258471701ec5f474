"""A checkpoint's tensors -> the tensors of a packed model: merged, quantized, laid out.

Weights that come as integers already, one scale for all (Marian's intgemm), are used as they are.
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from cpunmt.architecture import checkpoint_tensors, expected_tensors, linears, norms, output_table, table_sizes
from cpunmt.config import ModelConfig
from cpunmt.errors import ModelFileError
from cpunmt.kernels.packing import pack_float32, pack_int8, padded
from cpunmt.model_files.marian_file import StoredIntegers
from cpunmt.schemes.int8 import quantize_columns, static_scales

SCHEMES = ("int8", "float32")


def packed_tensors(
    config: ModelConfig,
    tensors: Mapping[str, "np.ndarray | StoredIntegers"],
    scheme: str,
    sigmas: float | None = 7.0,
    alphas: Mapping[str, float] | None = None,
    quantized: Callable | None = None,
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Config and tensors of the packed model, in file order.

    Parameters
    ----------
    tensors : what `architecture.checkpoint_tensors` lists, float32 or stored integers
    scheme : "int8" or "float32"
    sigmas : see `schemes.int8.quantize_columns`
    alphas : name of a weight -> what its input is multiplied with before it is rounded; None: every row of
        activations gets a scale of its own
    quantized : called with (name, float32 weights [in, out], q, scales) of each matrix that was quantized here

    Raises
    ------
    ModelFileError
        `alphas` lacks a weight, or has two for one input.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}, expected one of {', '.join(SCHEMES)}")
    missing = sorted(set(checkpoint_tensors(config)) - set(tensors))
    if missing:
        raise ValueError(f"the checkpoint lacks {', '.join(missing)}")
    static = alphas is not None and scheme == "int8"
    config = dataclasses.replace(config, scheme=scheme, activation_scales="static" if static else "dynamic")
    made = {}

    def integers(name, parts):
        """(q [in, out], scales [out], multipliers [out]) of matrices side by side; a scale is 1 / multiplier."""
        if all(_ready(part) for part in parts):
            values = [part.values.T if part.transposed else part.values for part in parts]
            multipliers = np.concatenate([np.full(part.shape[1], part.multiplier, np.float32) for part in parts])
            return np.concatenate(values, axis=1), 1 / multipliers, multipliers
        weights = np.concatenate([_floats(part) for part in parts], axis=1)
        q, scales = quantize_columns(weights, sigmas)
        if quantized:
            quantized(name, weights, q, scales)
        return q, scales, 1 / scales

    for name in table_sizes(config):
        table = tensors[name]
        if scheme == "int8" and _ready(table):  # the largest of all: its rows stay where they are, in the file
            rows = np.ascontiguousarray(table.values.T if table.transposed else table.values)
            made[f"{name}.weight"], made[f"{name}.sums"] = rows, rows.sum(axis=1, dtype=np.int32)
            multipliers = np.full(len(rows), table.multiplier, np.float32)
            made[f"{name}.scale"] = 1 / multipliers
        elif scheme == "int8":
            q, scales, multipliers = integers(name, [_floats(table).T])
            made[f"{name}.weight"], made[f"{name}.scale"] = np.ascontiguousarray(q.T), scales
            made[f"{name}.sums"] = q.sum(axis=0, dtype=np.int32)
        else:
            made[f"{name}.weight"] = _floats(table)
        if static and name == output_table(config):
            alpha = made["output.multiplier"] = _alpha([name], alphas)
            output = static_scales(made[f"{name}.sums"], multipliers, alpha, tensors["output.bias"])
    made["output.bias"] = tensors["output.bias"]
    if static:
        made["output.scale"], made["output.bias"] = output
    if config.positions == "trained":
        made["positions"] = tensors["positions"]
    for linear in linears(config):
        parts = [tensors[weight] for weight, _ in linear.parts]
        width = linear.columns // len(parts)
        bias = np.concatenate([tensors[name] if name else np.zeros(width, np.float32) for _, name in linear.parts])
        if scheme == "int8":
            q, scales, multipliers = integers(linear.name, parts)
            sums = q.sum(axis=0, dtype=np.int32)
            if static:
                alpha = made[f"{linear.name}.multiplier"] = _alpha([weight for weight, _ in linear.parts], alphas)
                scales, bias = static_scales(sums, multipliers, alpha, bias)
            made[f"{linear.name}.weight"] = pack_int8(q)
            made[f"{linear.name}.scale"] = padded(scales)
            made[f"{linear.name}.sums"] = padded(sums)
        else:
            made[f"{linear.name}.weight"] = pack_float32(np.concatenate([_floats(part) for part in parts], axis=1))
        made[f"{linear.name}.bias"] = padded(bias)
    for norm in norms(config):
        made[f"{norm}.scale"], made[f"{norm}.bias"] = tensors[f"{norm}.scale"], tensors[f"{norm}.bias"]
    return config, {name: made[name] for name in expected_tensors(config)}


def _ready(weight) -> bool:
    return isinstance(weight, StoredIntegers) and weight.values.dtype == np.int8


def _floats(weight) -> np.ndarray:
    return weight.weights() if isinstance(weight, StoredIntegers) else weight


def _alpha(weights, alphas) -> np.ndarray:
    """The multiplier of the input that `weights` share, float32 [1]."""
    missing = [name for name in weights if name not in alphas]
    found = {alphas[name] for name in weights if name in alphas}
    if missing or len(found) != 1:
        told = f"{missing[0]} has none" if missing else f"{', '.join(weights)} have {sorted(found)} for one input"
        raise ModelFileError(f"calibrated activation scales: {told}; load with activation_scales='dynamic'")
    return np.array([found.pop()], np.float32)
