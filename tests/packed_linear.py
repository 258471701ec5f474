"""LINEAR records for tests, made as `model` makes them."""

import numpy as np

from cpunmt import records
from cpunmt.kernels.packing import pack_float32, pack_int8, padded, panels
from cpunmt.simd import isa
from tests.guarded import Guards


def int8_record(guard: Guards, weights: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """LINEAR [1] of int8 weights [depth, columns], float32 scales [columns] and bias [columns]."""
    depth, columns = weights.shape
    start = weights.sum(axis=0, dtype=np.int32) * np.int32(-isa.activation_offset())
    record = np.zeros(1, records.LINEAR)
    record["scheme"], record["depth"], record["panels"] = records.INT8, depth, panels(columns)
    record["weights"] = guard.copy(pack_int8(weights)).ctypes.data
    record["scales"] = guard.copy(padded(scales)).ctypes.data
    record["start"] = guard.copy(padded(start)).ctypes.data
    record["bias"] = guard.copy(padded(bias)).ctypes.data
    return record


def float_record(guard: Guards, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """LINEAR [1] of float32 weights [depth, columns] and bias [columns]."""
    depth, columns = weights.shape
    record = np.zeros(1, records.LINEAR)
    record["scheme"], record["depth"], record["panels"] = records.FLOAT32, depth, panels(columns)
    record["weights"] = guard.copy(pack_float32(weights)).ctypes.data
    record["bias"] = guard.copy(padded(bias)).ctypes.data
    return record
