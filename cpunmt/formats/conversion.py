"""A checkpoint's tensors -> the tensors of a packed model: merged, quantized, laid out.

Weights that come as integers already, one scale for all (Marian's intgemm), are used as they are.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.kernels.matmul.packing import pack, pack_codes, padded
from cpunmt.layers.schemes import CODEBOOKS, codebook, int8, int16
from cpunmt.layers.schemes.int8 import static_scales
from cpunmt.model.config import SCHEMES, ModelConfig
from cpunmt.model.tensors import (
    checkpoint_tensors,
    expected_tensors,
    is_static,
    linears,
    norms,
    others,
    output_table,
    table_sizes,
)

# How a float32 matrix [in, out] becomes integers and one scale per column, unless the caller knows better.
QUANTIZERS = {
    "int8": int8.quantize_columns,
    "int16": int16.quantize_columns,
    **{scheme: partial(codebook.quantize_columns, levels=levels) for scheme, levels in CODEBOOKS.items()},
}


def packed_tensors(
    config: ModelConfig,
    tensors: Mapping[str, "np.ndarray | StoredIntegers"],
    scheme: str,
    *,
    schemes: Mapping[str, str] | None = None,
    quantizer: Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]] | None = None,
    alphas: Mapping[str, float] | None = None,
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Config and tensors of the packed model, in file order.

    Parameters
    ----------
    tensors : what `model.tensors.checkpoint_tensors` lists, float32 or stored integers
    scheme : one of `config.SCHEMES`
    schemes : exceptions: name of a linear layer or a table (`model.tensors.matrices`) -> its scheme
    quantizer : called with (name, float32 weights [in, out], scheme) for every matrix that becomes integers here;
        gives (integers [in, out], float32 scales [out]). A table is handed over as [model_dim, pieces]. None:
        `QUANTIZERS`
    alphas : name of a weight -> what its input is multiplied with before it is rounded to 8 bits; None: every row of
        activations gets a scale of its own

    Raises
    ------
    ModelFileError
        `alphas` lacks a weight, or has two for one input; `schemes` names something else; float16 cannot hold a weight.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}, expected one of {', '.join(SCHEMES)}")
    missing = sorted(set(checkpoint_tensors(config)) - set(tensors))
    if missing:
        raise ValueError(f"the checkpoint lacks {', '.join(missing)}")
    exceptions = tuple((name, other) for name, other in (schemes or {}).items() if other != scheme)
    config = dataclasses.replace(
        config,
        scheme=scheme,
        schemes=exceptions,
        activation_scales="static" if alphas is not None and SCHEMES[scheme] == "int8" else "dynamic",
    )
    expected = expected_tensors(config)
    quantizer = quantizer or (lambda name, weights, scheme: QUANTIZERS[scheme](weights))
    made = {}

    def integers(name, parts, scheme):
        """(q [in, out], scales [out], multipliers [out]) of matrices side by side; a scale is 1 / multiplier."""
        if scheme == "int8" and all(_ready(part) for part in parts):
            values = [part.values.T if part.transposed else part.values for part in parts]
            multipliers = np.concatenate([np.full(part.shape[1], part.multiplier, np.float32) for part in parts])
            return np.concatenate(values, axis=1), 1 / multipliers, multipliers
        weights = np.concatenate([_floats(part) for part in parts], axis=1)
        q, scales = quantizer(name, weights, scheme)
        return q, scales, 1 / scales

    for name in table_sizes(config):
        table, stored = tensors[name], config.scheme_of(name)
        if SCHEMES[stored] == "float32":
            made[f"{name}.weight"] = _as_floats(name, _floats(table), stored)
            continue
        if stored == "int8" and _ready(table):  # the largest of all: its rows stay where they are, in the file
            rows = np.ascontiguousarray(table.values.T if table.transposed else table.values)
            multipliers = np.full(len(rows), table.multiplier, np.float32)
            scales = 1 / multipliers
        else:
            q, scales, multipliers = integers(name, [_floats(table).T], stored)
            rows = np.ascontiguousarray(q.T)
        made[f"{name}.weight"], made[f"{name}.scale"] = _stored_rows(rows, stored), scales
        made[f"{name}.sums"] = rows.sum(axis=1, dtype=np.int32)
        if name == output_table(config) and is_static(config, name):
            alpha = made["output.multiplier"] = _alpha([name], alphas)
            output = static_scales(made[f"{name}.sums"], multipliers, alpha, tensors["output.bias"])
    made["output.bias"] = tensors["output.bias"]
    if "output.multiplier" in made:
        made["output.scale"], made["output.bias"] = output
    for name in others(config):
        made[name] = tensors[name]
    for linear in linears(config):
        parts, stored = [tensors[weight] for weight, _ in linear.parts], config.scheme_of(linear.name)
        biases = zip(linear.parts, linear.widths, strict=True)
        bias = np.concatenate([tensors[b] if b else np.zeros(width, np.float32) for (_, b), width in biases])
        if SCHEMES[stored] == "float32":
            weights = np.concatenate([_floats(part) for part in parts], axis=1)
            made[f"{linear.name}.weight"] = _as_floats(linear.name, pack(weights), stored)
        else:
            q, scales, multipliers = integers(linear.name, parts, stored)
            sums = q.sum(axis=0, dtype=np.int32)
            if is_static(config, linear.name):
                alpha = made[f"{linear.name}.multiplier"] = _alpha([weight for weight, _ in linear.parts], alphas)
                scales, bias = static_scales(sums, multipliers, alpha, bias)
            made[f"{linear.name}.weight"] = _stored_panels(q, stored)
            made[f"{linear.name}.scale"] = padded(scales)
            made[f"{linear.name}.sums"] = padded(sums)
        made[f"{linear.name}.bias"] = padded(bias)
    for norm in norms(config):
        made[f"{norm}.scale"], made[f"{norm}.bias"] = tensors[f"{norm}.scale"], tensors[f"{norm}.bias"]
    return config, {name: made[name] for name in expected}


def _as_floats(name, weights, scheme) -> np.ndarray:
    """float32 or float16. Raises ModelFileError for a weight that float16 does not hold."""
    with np.errstate(over="ignore"):
        stored = weights.astype(scheme)
    if scheme == "float16" and np.isinf(stored).any() and np.isfinite(weights).all():
        raise ModelFileError(
            f"{name}: weights of up to {np.abs(weights).max():g}, but float16 holds none above 65504; keep them as "
            f"float32 (--keep {name}=float32)"
        )
    return stored


def _stored_panels(q, scheme) -> np.ndarray:
    """Integers [in, out] of a linear layer, laid out for their scheme."""
    if scheme in CODEBOOKS:
        return pack_codes(codebook.numbers(q, CODEBOOKS[scheme]))
    return pack(q)


def _stored_rows(rows, scheme) -> np.ndarray:
    """Integers [pieces, d] of a table: two codes per byte, or as they are."""
    if scheme not in CODEBOOKS:
        return rows
    low, high = np.split(codebook.numbers(rows, CODEBOOKS[scheme]), 2, axis=1)
    return low | high << 4


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
