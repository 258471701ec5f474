"""A float32 checkpoint from a Marian file, or from a model's directory of any kind."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.any_directory import kind_of, read_checkpoint
from cpunmt.formats.foreign_model import StoredIntegers
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.packed.packed_directory import WEIGHTS, read_directory
from cpunmt.formats.packed.safetensors_file import check_finite, check_tensors
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import expected_tensors, is_static, linears, matrices, norms, others, table_sizes
from quantize.checkpoints.stored_weights import stored_matrix


def read_float_checkpoint(
    path: str | os.PathLike[str], rounded: bool = False
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Reads config and the tensors that `model.tensors.checkpoint_tensors` lists.

    Another program's integers are converted to floats. A packed model must be float32 or float16; with `rounded` it may
    have integers too (but not static activation scales), which are also converted.

    Raises ModelFileError for a file that is missing, broken or of another kind.
    """
    path = Path(path)
    if not path.is_dir():
        config, tensors, _ = read_marian(path)
        return config, float_tensors(tensors)
    if kind_of(path) != "packed":
        foreign = read_checkpoint(path)
        return foreign.config, float_tensors(foreign.tensors)
    packed = read_directory(path)
    config = packed.config
    used = {(config.scheme_of(name), is_static(config, name)) for name in matrices(config)}
    refused = sorted({scheme for scheme, static in used if SCHEMES[scheme] != "float32" and (static or not rounded)})
    if refused:
        found = ", ".join(refused)
        told = (
            f"{found} with static scales, expected dynamic ones" if rounded else f"{found}, expected float32 or float16"
        )
        beside = next((path / name for name in ("float32", "float16") if (path / name).is_dir()), None)
        other = beside if beside and not rounded else "the checkpoint it was made of"
        raise ModelFileError(f"{path}: packed as {told}; use {other}")
    check_tensors(packed.tensors, expected_tensors(config), path / WEIGHTS)
    check_finite(packed.tensors, path / WEIGHTS)
    return config.changed(scheme="float32", schemes=()), unpacked_tensors(config, packed.tensors)


def float_tensors(tensors: Mapping[str, "np.ndarray | StoredIntegers"]) -> dict[str, np.ndarray]:
    """Converts tensors of any storage to float32."""
    return {
        name: tensor.weights() if isinstance(tensor, StoredIntegers) else tensor for name, tensor in tensors.items()
    }


def unpacked_tensors(config: ModelConfig, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inverts `conversion.packed_tensors`: returns the checkpoint, with integers converted to floats."""
    found = {name: _float32(stored_matrix(config, tensors, name).weights.T) for name in table_sizes(config)}
    found |= {name: tensors[name] for name in ("output.bias", *others(config))}
    for linear in linears(config):
        weights = linear.split(stored_matrix(config, tensors, linear).weights)
        biases = linear.split(tensors[f"{linear.name}.bias"][: linear.columns])
        for (weight, bias), values, offsets in zip(linear.parts, weights, biases, strict=True):
            found[weight] = _float32(values)
            if bias:
                found[bias] = offsets
    for norm in norms(config):
        found |= {name: tensors[name] for name in (f"{norm}.scale", f"{norm}.bias")}
    return found


def _float32(weights: Any) -> Any:
    return np.ascontiguousarray(weights, np.float32)
