"""Defines a packed model in NumPy: the network of `reference` on stored weights of any scheme.

    int8, log4, code4   activations in 8 bits, each row with a scale and a zero point, or static ones (Marian's)
    int16               activations in 16 bits, each row with a scale
    float16, float32    no rounding but that of the weights

Sums of integers are exact, here and in the runtime.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from cpunmt.layers.schemes.int8 import STATIC_OFFSET
from cpunmt.layers.schemes.int16 import activation_reach
from cpunmt.model.config import SCHEMES, ModelConfig
from cpunmt.model.tensors import is_static, linears, norms, others, output_table, table_sizes
from quantize.checkpoints.stored_weights import stored_linear, stored_table
from quantize.reference.network import Reference
from tests.definitions.matmul import quantize_rows16_reference, quantize_rows_reference


class PackedReference(Reference):
    """A `Reference` on the tensors that `architecture.expected_tensors` lists."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, np.ndarray]):
        kept = {name: tensors[name] for name in ("output.bias", *others(config))}
        kept |= {f"{norm}.{part}": tensors[f"{norm}.{part}"] for norm in norms(config) for part in ("scale", "bias")}
        self.weights, self.scales, self.schemes, self.multipliers, self.added = {}, {}, {}, {}, {}
        for name in table_sizes(config):
            self._note(config, name, name, stored_table(config, tensors, name), tensors)
        if is_static(config, output_table(config)):
            self.multipliers[output_table(config)] = tensors["output.multiplier"][0]
        for linear in linears(config):
            matrix, end = stored_linear(config, tensors, linear), 0
            for (weight, bias), width in zip(linear.parts, linear.widths, strict=True):
                columns, end = slice(end, end + width), end + width
                self._note(config, linear.name, weight, matrix[:, columns], tensors, columns)
                if is_static(config, linear.name):
                    self.multipliers[weight] = tensors[f"{linear.name}.multiplier"][0]
                added = tensors[f"{linear.name}.bias"][columns]
                if bias:
                    kept[bias] = added
                else:
                    self.added[weight] = added  # zeros, or the offset of static activations
        self._output_scale = tensors.get("output.scale")
        super().__init__(config, kept)

    def _note(self, config, name, weight, matrix, tensors, columns=slice(None)):
        self.weights[weight], self.schemes[weight] = matrix, SCHEMES[config.scheme_of(name)]
        if self.schemes[weight] != "float32":
            self.scales[weight] = tensors[f"{name}.scale"][columns]

    def product(self, name: str, x: np.ndarray) -> np.ndarray:
        """Computes x W with the weight's integers; adds the offset that the stored bias of a static one subtracts."""
        x, weights, scheme = np.asarray(x, np.float32), self.weights[name], self.schemes[name]
        output = name == self.tables["output"]
        weights = weights.T if output else weights
        if scheme == "float32":
            return x @ weights.astype(np.float32)
        scales, integers = self.scales[name], weights.astype(np.int64)
        if name in self.multipliers:
            q, _, _ = quantize_rows_reference(x, self.multipliers[name])
            scales = self._output_scale if output else scales
            made = ((q.astype(np.int64) + STATIC_OFFSET) @ integers).astype(np.float32) * scales
        elif scheme == "int8":
            q, row_scales, shifts = quantize_rows_reference(x)
            made = (q.astype(np.int64) @ integers).astype(np.float32) * scales * row_scales[:, None]
            made += shifts[:, None] * (scales * integers.sum(axis=0).astype(np.float32))
        else:
            q, row_scales = quantize_rows16_reference(x, activation_reach(x.shape[1]))
            made = (q.astype(np.int64) @ integers).astype(np.float32) * scales * row_scales[:, None]
        return made + self.added.get(name, np.float32(0))

    def embed(self, table: str, ids: Sequence[int]) -> np.ndarray:
        """Returns rows of a table, as they are stored."""
        rows = self.weights[table][np.asarray(ids, np.int64)].astype(np.float32)
        return rows * self.scales[table][np.asarray(ids, np.int64), None] if table in self.scales else rows
