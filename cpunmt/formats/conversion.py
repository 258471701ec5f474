"""Packs canonical tensors: merges, quantizes and lays them out.

Weights stored as int8, with one scale (Marian's intgemm) or one for each column (CTranslate2), are used as they are.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.kernels.matmul.packing import pack, pack_codes, padded
from cpunmt.layers.schemes import CODEBOOKS, SCHEMES, codebook, int8, int16
from cpunmt.layers.schemes.int8 import static_scales
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import (
    checkpoint_tensors,
    expected_tensors,
    linears,
    norms,
    others,
    output_table,
    storage_of,
    table_sizes,
)

_BLOCK = 1 << 14  # rows of a table that are quantized at once; each has a scale of its own
# The default conversion of a float32 matrix [in, out] to integers and one scale per column.
QUANTIZERS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "int8": int8.quantize_columns,
    "int16": int16.quantize_columns,
    **{scheme: partial(codebook.quantize_columns, levels=levels) for scheme, levels in CODEBOOKS.items()},
}


def packed_tensors(
    config: ModelConfig,
    tensors: Mapping[str, Weight],
    scheme: str,
    *,
    schemes: Mapping[str, str] | None = None,
    quantizer: Callable[[str, Array, str], tuple[Array, Array]] | None = None,
    alphas: Mapping[str, float] | None = None,
) -> tuple[ModelConfig, dict[str, Array]]:
    """Returns config and tensors of the packed model, in file order.

    Parameters
    ----------
    tensors : those of `model.tensors.checkpoint_tensors`, float32 or stored integers
    scheme : one of `config.SCHEMES`
    schemes : exceptions: name of a linear layer or a table (`model.tensors.matrices`) -> its scheme
    quantizer : called with (name, float32 weights [in, out], scheme) for every matrix to be quantized; returns
        (integers [in, out], float32 scales [out]). A table is passed as [model_dim, pieces]. None: `QUANTIZERS`
    alphas : name of a weight -> multiplier of its input before rounding to 8 bits; None: every row of activations has a
        scale of its own

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
    expected, storage, output = expected_tensors(config), storage_of(config), output_table(config)
    own = quantizer is not None
    quantizer = quantizer or (lambda name, weights, scheme: QUANTIZERS[scheme](weights))
    layers, bias = linears(config), np.asarray(tensors["output.bias"])
    scales: Array
    multipliers: Array
    kept = ["output.bias", *others(config), *(f"{norm}.{part}" for norm in norms(config) for part in ("scale", "bias"))]
    made: dict[str, Any] = {name: tensors[name] for name in kept}
    for name in table_sizes(config):
        table, (stored, static) = tensors[name], storage[name]
        if SCHEMES[stored] == "float32":
            made[f"{name}.weight"] = _as_floats(name, _floats(table), stored)
            continue
        if stored == "int8" and _ready(table):  # the largest of all: its rows stay in the file
            rows = np.ascontiguousarray(table.values)
            multipliers = table.multipliers(len(rows))
            scales = 1 / multipliers
        else:
            blocks = _row_blocks(table, table.shape[0] if own else _BLOCK)
            found = [(np.ascontiguousarray(q.T), s) for q, s in (quantizer(name, one.T, stored) for one in blocks)]
            rows, scales = np.concatenate([q for q, _ in found]), np.concatenate([s for _, s in found])
            multipliers = 1 / scales
        made[f"{name}.weight"], made[f"{name}.scale"] = _stored_rows(rows, stored), scales
        sums = made[f"{name}.sums"] = rows.sum(axis=1, dtype=np.int32)
        if name == output and static:
            alpha = made["output.multiplier"] = _alpha([name], alphas)
            made["output.scale"], made["output.bias"] = static_scales(sums, multipliers, alpha.item(), bias)
    for linear in layers:
        name, parts, (stored, static) = (
            linear.name,
            [tensors[weight] for weight, _ in linear.parts],
            storage[linear.name],
        )
        biases = zip(linear.parts, linear.widths, strict=True)
        bias = np.concatenate([tensors[b] if b else np.zeros(width, np.float32) for (_, b), width in biases])
        if SCHEMES[stored] == "float32":
            weights = np.concatenate([_floats(part) for part in parts], axis=1)
            made[f"{name}.weight"] = _as_floats(name, pack(weights), stored)
            made[f"{name}.bias"] = padded(bias)
            continue
        ready = [part for part in parts if _ready(part)]
        if stored == "int8" and len(ready) == len(parts):
            q = np.concatenate([part.values for part in ready], axis=1)
            columns = zip(ready, linear.widths, strict=True)
            multipliers = np.concatenate([part.multipliers(width) for part, width in columns])
            scales = 1 / multipliers
        else:
            q, scales = quantizer(name, np.concatenate([_floats(part) for part in parts], axis=1), stored)
            multipliers = 1 / scales
        sums = q.sum(axis=0, dtype=np.int32)
        if static:
            alpha = made[f"{name}.multiplier"] = _alpha([weight for weight, _ in linear.parts], alphas)
            scales, bias = static_scales(sums, multipliers, alpha.item(), bias)
        levels = CODEBOOKS.get(stored)
        made[f"{name}.weight"] = pack(q) if levels is None else pack_codes(codebook.numbers(q, levels))
        made |= {f"{name}.scale": padded(scales), f"{name}.sums": padded(sums), f"{name}.bias": padded(bias)}
    return config, {name: made[name] for name in expected}


def _row_blocks(table: Weight, rows: int) -> Iterator[Array]:
    """Yields a table in float32, some rows at a time."""
    if isinstance(table, StoredIntegers):
        yield table.weights()
        return
    for begin in range(0, len(table), rows):
        yield table[begin : begin + rows]


def _as_floats(name: str, weights: Array, scheme: str) -> Array:
    """Returns float32 or float16. Raises ModelFileError for a weight that float16 does not hold."""
    with np.errstate(over="ignore"):
        stored = weights.astype(scheme, copy=False)
    if scheme == "float16" and np.isinf(stored).any() and np.isfinite(weights).all():
        raise ModelFileError(
            f"{name}: weights of up to {np.abs(weights).max():g}, but float16 holds none above 65504; keep them as "
            f"float32 (python -m quantize pack --keep {name}=float32)"
        )
    return stored


def _stored_rows(rows: Array, scheme: str) -> Array:
    """Returns integers [pieces, d] of a table: two codes per byte, or as they are."""
    if scheme not in CODEBOOKS:
        return rows
    low, high = np.split(codebook.numbers(rows, CODEBOOKS[scheme]), 2, axis=1)
    codes: Array = low | high << 4
    return codes


def _ready(weight: Weight) -> TypeGuard[StoredIntegers]:
    return isinstance(weight, StoredIntegers) and weight.values.dtype == np.int8


def _floats(weight: Weight) -> Array:
    return weight.weights() if isinstance(weight, StoredIntegers) else weight


def _alpha(weights: list[str], alphas: Mapping[str, float] | None) -> Array:
    """Returns the multiplier of the input that `weights` share, float32 [1]."""
    assert alphas is not None
    missing = [name for name in weights if name not in alphas]
    values = {alphas[name] for name in weights if name in alphas}
    if missing or len(values) != 1:
        problem = f"{missing[0]} lacks one" if missing else f"{', '.join(weights)} have {sorted(values)} for one input"
        raise ModelFileError(f"calibrated activation scales: {problem}; load with activation_scales='dynamic'")
    return np.array([values.pop()], np.float32)
