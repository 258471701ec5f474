"""Recovers the float32 checkpoint of a packed float32 model."""

import numpy as np

from cpunmt.formats.packed.packed_directory import PackedDirectory
from cpunmt.kernels.matmul.packing import unpack
from cpunmt.model.tensors import linears, norms, others, table_sizes


def checkpoint_of(packed: PackedDirectory) -> dict[str, np.ndarray]:
    """Returns the tensors that `model.tensors.checkpoint_tensors` lists: inverts `conversion.packed_tensors` with
    "float32".
    """
    config, tensors = packed.config, packed.tensors
    if config.scheme != "float32":
        raise ValueError(f"the model is {config.scheme}, expected float32: other weights are rounded")
    found = {name: tensors[f"{name}.weight"] for name in table_sizes(config)}
    found |= {name: tensors[name] for name in ("output.bias", *others(config))}
    for linear in linears(config):
        weights = linear.split(unpack(tensors[f"{linear.name}.weight"], linear.columns))
        biases = linear.split(tensors[f"{linear.name}.bias"][: linear.columns])
        for (weight, bias), values, offsets in zip(linear.parts, weights, biases, strict=True):
            found[weight] = np.ascontiguousarray(values)
            if bias:
                found[bias] = offsets
    for norm in norms(config):
        found |= {name: tensors[name] for name in (f"{norm}.scale", f"{norm}.bias")}
    return found
