"""Filling in of the records of layers from a packed model's tensors, whose arrays it keeps alive."""

from collections.abc import Callable, Mapping

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import by_depth, panels
from cpunmt.layers.schemes.int8 import STATIC_OFFSET
from cpunmt.layers.schemes.int16 import activation_reach
from cpunmt.layers.stored import Linear
from cpunmt.layers.weights import linear_weights, table_weights
from cpunmt.simd import isa

LEAST = -128  # the quantized 0 of activations without negative numbers


class RecordFiller:
    """Records of one model. Addresses in them are valid as long as this object."""

    def __init__(self, tensors: Mapping[str, np.ndarray], scheme_of: Callable, is_static: Callable):
        """Takes `scheme_of(name)`, the storage of a matrix, and `is_static(name)`: whether the model stores the scale
        of its input."""
        self.tensors = tensors
        self._scheme_of, self._is_static = scheme_of, is_static
        self._tables = {}  # name -> Weights
        self._kept = []  # arrays that records point to

    def keep(self, array: np.ndarray) -> int:
        """Keeps an array alive and returns its address."""
        self._kept.append(array)
        return array.ctypes.data

    def address(self, name: str) -> int:
        """Returns the address of a tensor."""
        return self.tensors[name].ctypes.data

    def linear(self, record, layer: Linear):
        """Fills in a LINEAR record."""
        scheme, static = self._scheme_of(layer.name), self._is_static(layer.name)
        weights = linear_weights(self.tensors, layer, scheme)
        record["depth"], record["panels"] = layer.depth, panels(layer.columns)
        record["weights"] = self.keep(weights.values)
        record["bias"] = self.address(f"{layer.name}.bias")
        self._multiplied(record, weights, weights.scales, static)
        if weights.codes is not None:
            record["codes"], record["levels"] = self.keep(weights.codes), self.keep(weights.levels)
        if layer.rectified and weights.scheme == records.INT8:
            rows = by_depth(weights.values)
            start = np.zeros(rows.shape[1], np.int32)
            start[: len(weights.sums)] = weights.sums * np.int32(STATIC_OFFSET if static else LEAST)
            record["by_depth"], record["sparse_start"] = self.keep(rows), self.keep(start)
        if weights.scheme == records.INT16:
            record["multiplier"] = activation_reach(layer.depth)
        elif static:
            record["multiplier"] = self.tensors[f"{layer.name}.multiplier"][0]

    def norm(self, record, prefix: str):
        """Fills in a NORM record, except for its reader."""
        record["scale"], record["bias"] = self.address(f"{prefix}.scale"), self.address(f"{prefix}.bias")

    def layer(self, record, linears: Mapping[str, Linear], norms: Mapping[str, str]):
        """Fills in the record of a whole layer, from Linears and prefixes of norms by the paths of their fields.

        If a path ends in a number, the record before it is a FEED_FORWARD, and the number counts its middle layers.
        """
        middles = {}  # path of a FEED_FORWARD -> its LINEARs, in order
        for path, linear in linears.items():
            parent, _, field = path.rpartition(".")
            if field.isdecimal():
                middles.setdefault(parent.removesuffix("middle").rstrip("."), []).append(linear)
            else:
                self.linear(_inside(record, parent)[field], linear)
        for path, found in middles.items():
            network, array = _inside(record, path), np.zeros(len(found), records.LINEAR)
            for target, linear in zip(array, found, strict=True):
                self.linear(target, linear)
            network["middles"], network["middle"] = len(found), self.keep(array)
        for path in linears:
            network, _, field = path.rpartition(".")
            if field == "inner" and f"{network}.outer".lstrip(".") in linears and network not in middles:
                inner, outer = (_inside(record, network)[name] for name in ("inner", "outer"))
                if outer["by_depth"]:
                    inner["next"], inner["next_bytes"] = outer["by_depth"], outer["depth"] * outer["panels"] * 16
        for path, prefix in norms.items():
            self.norm(_inside(record, path), prefix)

    def table(self, record, name: str):
        """Fills in a TABLE record for embeddings."""
        weights = self._table(name)
        record["rows"] = self.keep(weights.values)
        self._multiplied(record, weights._replace(sums=None), weights.scales, False)

    def output(self, record, name: str) -> np.float32:
        """Fills in a TABLE record of an output layer; returns the multiplier of its input, see LINEAR."""
        weights, static = self._table(name), self._is_static(name)
        record["rows"] = self.keep(weights.values)
        self._multiplied(record, weights, self.tensors["output.scale"] if static else weights.scales, static)
        record["bias"] = self.address("output.bias")
        if static:
            return self.tensors["output.multiplier"][0]
        return np.float32(activation_reach(weights.values.shape[1]) if weights.scheme == records.INT16 else 0)

    def _table(self, name):
        if name not in self._tables:
            self._tables[name] = table_weights(self.tensors, name, self._scheme_of(name))
        return self._tables[name]

    def _multiplied(self, record, weights, scales, static):
        """Fills in the fields for integer products that LINEAR and TABLE records share.

        Sums begin with a term that removes the storage offset of activations, and adds STATIC_OFFSET.
        """
        record["scheme"] = weights.scheme
        if weights.scales is not None:
            record["scales"] = self.keep(scales)
        if weights.sums is not None:
            offset = (STATIC_OFFSET if static else 0) - isa.activation_offset()
            record["start"] = self.keep(weights.sums * np.int32(offset))
            record["totals"] = self.keep(weights.totals())


def _inside(record, path):
    for field in path.split(".") if path else ():
        record = record[field]
    return record
