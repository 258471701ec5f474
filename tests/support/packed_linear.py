"""LINEAR records for tests, made like those of `model`."""

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import by_depth, pack, pack_codes, padded, panels
from cpunmt.layers.schemes.int8 import STATIC_OFFSET
from cpunmt.simd import isa
from tests.support.guarded import Guards


def column_totals(weights: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Returns sums of the real weights of each column."""
    return scales * weights.sum(axis=0, dtype=np.int32).astype(np.float32)


def int8_record(guard: Guards, weights: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Makes LINEAR [1] from int8 weights [depth, columns], float32 scales [columns] and bias [columns]."""
    record = _record(guard, records.INT8, weights, bias)
    start = weights.sum(axis=0, dtype=np.int32) * np.int32(-isa.activation_offset())
    record["scales"] = guard.copy(padded(scales)).ctypes.data
    record["start"] = guard.copy(padded(start)).ctypes.data
    record["totals"] = guard.copy(padded(column_totals(weights, scales))).ctypes.data
    return record


def coded_record(guard: Guards, codes: np.ndarray, levels: np.ndarray, scales: np.ndarray, bias: np.ndarray):
    """The same for weights levels[codes], stored as codes too."""
    record = int8_record(guard, levels[codes], scales, bias)
    record["codes"] = guard.copy(pack_codes(codes)).ctypes.data
    record["levels"] = guard.copy(levels).ctypes.data
    return record


def rectified_record(guard: Guards, weights, scales, bias, multiplier: float = 0.0) -> np.ndarray:
    """The same for a layer after a ReLU, with an optional multiplier for its input."""
    record = int8_record(guard, weights, scales, bias)
    rows = by_depth(pack(weights))
    sums, start = weights.sum(axis=0, dtype=np.int32), np.zeros(rows.shape[1], np.int32)
    start[: len(sums)] = sums * (STATIC_OFFSET if multiplier else -128)
    record["by_depth"], record["sparse_start"] = guard.copy(rows).ctypes.data, guard.copy(start).ctypes.data
    if multiplier:
        record["multiplier"] = multiplier
        record["start"] = guard.copy(padded(sums * (STATIC_OFFSET - isa.activation_offset()))).ctypes.data
    return record


def lists_record(guard: Guards, depth: int, columns: int) -> np.ndarray:
    """Makes LISTS [1] for a product of that size."""
    record = np.zeros(1, records.LISTS)
    for name, dtype, length in records.LIST_DEPTHS:
        record[name] = guard.empty(length * depth + 32, dtype).ctypes.data
    record["sums"] = guard.empty(-(-columns // 64) * 64, np.int32).ctypes.data
    return record


def int16_record(guard: Guards, weights: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Makes LINEAR [1] from int16 weights [depth, columns], float32 scales [columns] and bias [columns]."""
    record = _record(guard, records.INT16, weights, bias)
    record["scales"] = guard.copy(padded(scales)).ctypes.data
    return record


def float_record(guard: Guards, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Makes LINEAR [1] from float32 weights [depth, columns] and bias [columns]."""
    return _record(guard, records.FLOAT32, weights, bias)


def _record(guard, scheme, weights, bias):
    depth, columns = weights.shape
    record = np.zeros(1, records.LINEAR)
    record["scheme"], record["depth"], record["panels"] = scheme, depth, panels(columns)
    record["weights"] = guard.copy(pack(weights)).ctypes.data
    record["bias"] = guard.copy(padded(bias)).ctypes.data
    return record
