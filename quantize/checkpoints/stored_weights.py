"""The weights of a packed model as real numbers, and the largest weight that each form can store."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.kernels.matmul.packing import unpack, unpack_codes
from cpunmt.layers.schemes import CODEBOOKS, SCHEMES
from cpunmt.layers.stored import Linear
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import is_static, linears
from quantize.checkpoints.layer_errors import REACH


class StoredMatrix(NamedTuple):
    """One matrix of a packed model."""

    scheme: str
    weights: np.ndarray  # [depth, columns]; a table is transposed: its pieces are the columns
    reach: np.ndarray  # float64 [columns]: larger weights are clipped, not rounded


def stored_matrix(config: ModelConfig, tensors: Mapping[str, np.ndarray], layer: Linear | str) -> StoredMatrix:
    """Returns the matrix of a linear layer, or the table of that name."""
    if isinstance(layer, str):
        name, values = layer, stored_table(config, tensors, layer).T
    else:
        name, values = layer.name, stored_linear(config, tensors, layer)
    scheme, columns = config.scheme_of(name), values.shape[1]
    if SCHEMES[scheme] == "float32":
        return StoredMatrix(scheme, values, np.full(columns, np.inf))
    scales = tensors[f"{name}.scale"][:columns].astype(np.float64)
    if not isinstance(layer, str) and is_static(config, name):  # includes the activations' scale
        scales = scales * tensors[f"{name}.multiplier"].astype(np.float64)
    return StoredMatrix(scheme, values * scales, REACH[scheme] * scales)


def stored_bytes(tensors: Mapping[str, np.ndarray], name: str) -> int:
    """Returns the bytes of a layer's tensors: its weights with scales and biases."""
    return sum(tensor.nbytes for key, tensor in tensors.items() if key.rpartition(".")[0] == name)


def step_bytes(config: ModelConfig, tensors: Mapping[str, np.ndarray]) -> int:
    """Returns the bytes of the layers that a decoding step reads, without the output layer, whose candidates vary."""
    names = [linear.name for linear in linears(config) if linear.name.startswith(("decoder.", "relu.", "top"))]
    return sum(stored_bytes(tensors, name) for name in names if not name.endswith(".key_value"))  # once per sentence


def stored_linear(config: ModelConfig, tensors: Mapping[str, np.ndarray], linear: Linear) -> np.ndarray:
    """Returns integers or floats [depth, columns] of a linear layer."""
    scheme, packed = config.scheme_of(linear.name), tensors[f"{linear.name}.weight"]
    if scheme in CODEBOOKS:
        found: np.ndarray = CODEBOOKS[scheme][unpack_codes(packed, linear.columns)]
    else:
        found = unpack(packed, linear.columns)
    return found


def stored_table(config: ModelConfig, tensors: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Returns integers or floats [pieces, d] of a table."""
    scheme, packed = config.scheme_of(name), tensors[f"{name}.weight"]
    if scheme in CODEBOOKS:
        return np.asarray(CODEBOOKS[scheme][np.concatenate([packed & 15, packed >> 4], axis=1)])
    return packed
