"""LINEAR records for tests, made as `model` makes them."""

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack, pack_codes, padded, panels
from cpunmt.simd import isa
from tests.support.guarded import Guards


def column_totals(weights: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Sums of the real weights of each column."""
    return scales * weights.sum(axis=0, dtype=np.int32).astype(np.float32)


def int8_record(guard: Guards, weights: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """LINEAR [1] of int8 weights [depth, columns], float32 scales [columns] and bias [columns]."""
    record = _record(guard, records.INT8, weights, bias)
    start = weights.sum(axis=0, dtype=np.int32) * np.int32(-isa.activation_offset())
    record["scales"] = guard.copy(padded(scales)).ctypes.data
    record["start"] = guard.copy(padded(start)).ctypes.data
    record["totals"] = guard.copy(padded(column_totals(weights, scales))).ctypes.data
    return record


def coded_record(guard: Guards, codes: np.ndarray, levels: np.ndarray, scales: np.ndarray, bias: np.ndarray):
    """The same of weights levels[codes] that have codes beside them."""
    record = int8_record(guard, levels[codes], scales, bias)
    record["codes"] = guard.copy(pack_codes(codes)).ctypes.data
    record["levels"] = guard.copy(levels).ctypes.data
    return record


def int16_record(guard: Guards, weights: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """LINEAR [1] of int16 weights [depth, columns], float32 scales [columns] and bias [columns]."""
    record = _record(guard, records.INT16, weights, bias)
    record["scales"] = guard.copy(padded(scales)).ctypes.data
    return record


def float_record(guard: Guards, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """LINEAR [1] of float32 weights [depth, columns] and bias [columns]."""
    return _record(guard, records.FLOAT32, weights, bias)


def _record(guard, scheme, weights, bias):
    depth, columns = weights.shape
    record = np.zeros(1, records.LINEAR)
    record["scheme"], record["depth"], record["panels"] = scheme, depth, panels(columns)
    record["weights"] = guard.copy(pack(weights)).ctypes.data
    record["bias"] = guard.copy(padded(bias)).ctypes.data
    return record
