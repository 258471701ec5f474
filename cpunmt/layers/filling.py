"""Fills in the records of layers from a packed model's tensors, and keeps the arrays alive.

Stored weights become the operands of compiled code: compact formats are decoded, and sums are proven to fit.

stored     int8, int16, float32    as they are: the file's own memory
           float16                 float32
           log4, code4             int8, and for few rows the file's codes: half the bytes to read; of a large model
                                   the codes alone
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import forget_pages
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import GROUP, PANEL, by_depth
from cpunmt.layers.schemes import CODEBOOKS, int8, int16
from cpunmt.layers.schemes.int8 import STATIC_OFFSET
from cpunmt.layers.schemes.int16 import activation_reach
from cpunmt.layers.stored import Linear, Storage
from cpunmt.simd import isa

LEAST = -128  # the quantized 0 of activations without negative numbers
_DECODED = 1 << 18  # codes that are decoded at a time to be added up
_WORDS = 128  # 8-bit numbers whose sum fits 16 bits


class Weights(NamedTuple):
    """One matrix as compiled code reads it; None: not of this scheme. Layouts: records.LINEAR and records.TABLE."""

    scheme: int  # FLOAT32, INT8 or INT16
    values: np.ndarray | None  # None: codes alone
    scales: np.ndarray | None = None  # float32 [columns]
    sums: np.ndarray | None = None  # int32 [columns]: of the integers; INT8 only
    codes: np.ndarray | None = None  # of 4 bits
    levels: Any = None  # int8 [16]: the level of each code

    @property
    def stored(self) -> Any:
        """The values, or the codes alone: one item for each panel of a layer, or piece of a table."""
        return self.codes if self.values is None else self.values

    def totals(self) -> np.ndarray | None:
        """Returns the sum of each column's real weights, float32 [columns]; INT8 only."""
        if self.sums is None or self.scales is None:
            return None
        found: np.ndarray = self.scales * self.sums.astype(np.float32)
        return found


def linear_weights(
    tensors: Mapping[str, np.ndarray], linear: Linear, scheme: str, codes_alone: bool = False
) -> Weights:
    """Returns the weights of a linear layer, from the tensors of `stored.linear_tensors`.

    `codes_alone`: 4-bit weights are not decoded.
    Raises ModelFileError for int16 weights whose sums could overflow, and for int8 weights that instruction sets
    could multiply differently: -128, or sums that are not those of the weights.
    """
    return _weights(tensors, linear.name, scheme, linear.depth, True, codes_alone)


def table_weights(tensors: Mapping[str, np.ndarray], name: str, scheme: str, codes_alone: bool = False) -> Weights:
    """Returns the weights of a table of pieces; only the output layer has `sums`."""
    return _weights(tensors, name, scheme, tensors[f"{name}.weight"].shape[1], False, codes_alone)


def _weights(
    tensors: Mapping[str, np.ndarray], name: str, scheme: str, depth: int, in_panels: bool, codes_alone: bool
) -> Weights:
    values = tensors[f"{name}.weight"]
    if scheme in ("float32", "float16"):
        return Weights(records.FLOAT32, np.asarray(values, np.float32))
    scales = tensors[f"{name}.scale"]
    if scheme == "int16":
        _prove(name, values, (1, 3) if in_panels else (1,), depth)
        return Weights(records.INT16, values, scales)
    sums_of = panel_sums if in_panels else row_sums
    if scheme == "int8":
        sums = tensors.get(f"{name}.sums")
        _prove_int8(name, values, sums, None if sums is None else sums_of(values))
        return Weights(records.INT8, values, scales, sums)
    levels, decode = CODEBOOKS[scheme], decoded_panels if in_panels else decoded_rows
    if codes_alone:
        step = max(1, _DECODED * len(values) // max(1, values.size))
        parts = []
        for i in range(0, len(values), step):
            parts.append(sums_of(decode(values[i : i + step], levels)))
            if not in_panels:  # translations read few of its rows
                forget_pages(values[i : i + step])
        return Weights(records.INT8, None, scales, np.concatenate(parts), values, levels)
    decoded = decode(values, levels)
    return Weights(records.INT8, decoded, scales, sums_of(decoded), values, levels)


def decoded_rows(codes: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Decodes 4-bit rows of a table, uint8 [rows, columns / 2]: int8 [rows, columns]."""
    return np.concatenate([levels[codes & 15], levels[codes >> 4]], axis=1)


def decoded_panels(codes: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Decodes 4-bit panels of a layer, uint8 [panels, depth / 8, 16, 4]: int8 [panels, depth / 4, 16, 4]."""
    groups = np.stack([levels[codes & 15], levels[codes >> 4]], axis=2)  # 2 j and 2 j + 1 of a panel
    return groups.reshape(len(codes), -1, PANEL, GROUP)


def panel_sums(values: np.ndarray) -> np.ndarray:
    """Adds up each column of int8 panels [panels, groups, PANEL, GROUP]: int32 [columns]."""
    count, groups, _, _ = values.shape
    lanes = values.reshape(count, groups, PANEL * GROUP)
    sums = np.zeros((count, PANEL * GROUP), np.int32)
    for first in range(0, groups, _WORDS):  # ten times as fast as one sum in int32
        sums += np.add.reduce(lanes[:, first : first + _WORDS], axis=1, dtype=np.int16)
    found: np.ndarray = sums.reshape(-1, GROUP).sum(axis=1, dtype=np.int32)
    return found


def row_sums(values: np.ndarray) -> np.ndarray:
    """Adds up each row of int8 [rows, columns]: int32 [rows]."""
    sums = np.zeros(len(values), np.int32)
    for first in range(0, values.shape[1], _WORDS):
        sums += np.add.reduce(values[:, first : first + _WORDS], axis=1, dtype=np.int16)
    return sums


def _prove_int8(name: str, values: np.ndarray, sums: np.ndarray | None, expected: np.ndarray | None) -> None:
    """Refuses int8 weights whose products could differ between instruction sets."""
    if values.size and values.min() < -int8.LARGEST:
        raise ModelFileError(
            f"{name}.weight: an 8-bit weight of -128, expected -127 to 127: its magnitude has no place in 8 bits; pack "
            "the model again"
        )
    if sums is not None and expected is not None and not np.array_equal(sums, expected):
        raise ModelFileError(f"{name}.sums: not the sums of its weights; the file is damaged, pack the model again")


def _prove(name: str, values: np.ndarray, axes: tuple[int, ...], depth: int) -> None:
    """Refuses int16 weights whose products with some activations could overflow."""
    reach = int16.activation_reach(depth)
    if not int16.overflow_free(values, reach, axes):
        raise ModelFileError(
            f"{name}.weight: 16-bit weights whose sums can overflow: a column's magnitudes may add up to "
            f"{int16.LARGEST_SUM // reach}, with activations up to {reach}; pack the model again"
        )


class RecordFiller:
    """Records of one model. Addresses in them are valid as long as this object."""

    def __init__(
        self, tensors: Mapping[str, np.ndarray], storage: Mapping[str, Storage], codes_alone: bool = False
    ) -> None:
        """`storage`: of each matrix. `codes_alone`: 4-bit weights are not stored as int8 beside their codes."""
        self.tensors, self._codes_alone = tensors, codes_alone
        self._storage, self._offset = storage, isa.activation_offset()
        self._tables: dict[str, Weights] = {}
        self._kept: list[np.ndarray] = []  # arrays that records point to

    def keep(self, array: np.ndarray) -> int:
        """Keeps an array alive and returns its address."""
        self._kept.append(array)
        return array.ctypes.data

    def address(self, name: str) -> int:
        return self.tensors[name].ctypes.data

    def linear(self, record: Any, layer: Linear) -> None:
        scheme, static = self._storage[layer.name]
        weights = linear_weights(self.tensors, layer, scheme, self._codes_alone)
        record["depth"], record["panels"] = layer.depth, len(weights.stored)
        if weights.values is not None:
            record["weights"] = self.keep(weights.values)
        record["bias"] = self.address(f"{layer.name}.bias")
        self._multiplied(record, weights, weights.scales, static)
        if layer.rectified and weights.sums is not None and weights.values is not None:
            rows = by_depth(weights.values)
            start = np.zeros(rows.shape[1], np.int32)
            start[: len(weights.sums)] = weights.sums * np.int32(STATIC_OFFSET if static else LEAST)
            record["by_depth"], record["sparse_start"] = self.keep(rows), self.keep(start)
        if weights.scheme == records.INT16:
            record["multiplier"] = activation_reach(layer.depth)
        elif static:
            record["multiplier"] = self.tensors[f"{layer.name}.multiplier"][0]

    def norm(self, record: Any, prefix: str) -> None:
        """Fills in a NORM record, except for its reader."""
        record["scale"], record["bias"] = self.address(f"{prefix}.scale"), self.address(f"{prefix}.bias")

    def layer(self, record: Any, linears: Mapping[str, Linear], norms: Mapping[str, str]) -> None:
        """Fills in the record of a whole layer, from Linears and prefixes of norms by the paths of their fields.

        If a path ends in a number, the record before it is a FEED_FORWARD, and the number counts its middle layers.
        """
        middles: dict[str, list[Linear]] = {}  # path of a FEED_FORWARD -> its LINEARs, in order
        for path, linear in linears.items():
            parent, _, field = path.rpartition(".")
            if field.isdecimal():
                middles.setdefault(parent.removesuffix("middle").rstrip("."), []).append(linear)
            else:
                self.linear(_inside(record, parent)[field], linear)
        for path, found in middles.items():
            network = _inside(record, path)
            array: Any = np.zeros(len(found), records.LINEAR)
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

    def table(self, record: Any, name: str) -> None:
        """Fills in a TABLE record for embeddings."""
        weights = self._table(name)
        if weights.values is not None:
            record["rows"] = self.keep(weights.values)
        self._multiplied(record, weights._replace(sums=None), weights.scales, False)

    def output(self, record: Any, name: str) -> tuple[float, Weights]:
        """Fills in a TABLE record of an output layer; returns the multiplier of its input, see LINEAR, and its
        weights."""
        weights, static = self._table(name), self._storage[name].static
        if weights.values is not None:
            record["rows"] = self.keep(weights.values)
        self._multiplied(record, weights, self.tensors["output.scale"] if static else weights.scales, static)
        record["bias"] = self.address("output.bias")
        if static:
            return float(self.tensors["output.multiplier"][0]), weights._replace(sums=None)
        depth = self.tensors[f"{name}.weight"].shape[1]
        return activation_reach(depth) if weights.scheme == records.INT16 else 0, weights._replace(sums=None)

    def end_tables(self) -> None:
        """Lets go of what was only for filling in the records of tables."""
        self._tables.clear()

    def _table(self, name: str) -> Weights:
        if name not in self._tables:
            self._tables[name] = table_weights(self.tensors, name, self._storage[name].scheme, self._codes_alone)
        return self._tables[name]

    def _multiplied(self, record: Any, weights: Weights, scales: np.ndarray | None, static: bool) -> None:
        """Fills in the fields that LINEAR and TABLE records share.

        Sums begin with a term that removes the storage offset of activations, and adds STATIC_OFFSET.
        """
        record["scheme"] = weights.scheme
        if weights.codes is not None and weights.levels is not None:
            record["codes"], record["levels"] = self.keep(weights.codes), self.keep(weights.levels)
        if scales is not None:
            record["scales"] = self.keep(scales)
        totals = weights.totals()
        if weights.sums is not None and totals is not None:
            offset = (STATIC_OFFSET if static else 0) - self._offset
            record["start"] = self.keep(weights.sums * np.int32(offset))
            record["totals"] = self.keep(totals)


def _inside(record: Any, path: str) -> Any:
    for field in path.split(".") if path else ():
        record = record[field]
    return record
