"""A self-test of two seconds: correctness and speed of the kernels that take most of the time.

bits      digest of sums, scales and exponentials of generated numbers; the same on every processor
int8      10^9 8-bit products a second, with their sums: 16 rows, weights that fit the L2 cache
floats    the same for float32
reading   GB a second: one row, 16 MB of weights, more than most L2 caches hold
"""

import functools
import hashlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack, padded, panels
from cpunmt.simd import isa

BITS = "3d9900ff"  # the digest on every processor
INTEGERS, AFFINE = 0, 1  # modes of simd.tile's product; importing it would compile
ROWS, DEPTH, COLUMNS = 16, 512, 512
WIDE = 32_768  # columns of a matrix larger than the L2 cache
SECONDS = 0.6  # of each measurement


class Speeds(NamedTuple):
    """The measured medians, see above."""

    int8: float
    floats: float
    reading: float
    share: float  # of the time in which this thread was running, 0 to 1
    spread: float  # the slowest tenth of the calls over the median


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Returns int64 from -127 to 127: the high bits of a linear congruential generator (Knuth, TAOCP vol. 2, section
    3.3.4), written out so that no version of NumPy changes them.
    """
    count, state, found = int(np.prod(shape)), seed, bytearray()
    for _ in range(count):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        found.append((state >> 40) % 255)
    return np.frombuffer(bytes(found), np.uint8).astype(np.int64).reshape(shape) - 127


class _Product:
    """One matrix, and rows to multiply with it."""

    def __init__(self, scheme: int, weights: np.ndarray, rows: np.ndarray):
        """`weights` [depth, columns], `rows` [rows, depth]: int8 and whole numbers, or float32."""
        depth, columns = weights.shape
        self.record, self._kept = np.zeros(1, records.LINEAR), []
        fields = {"weights": pack(weights), "bias": np.linspace(-1, 1, columns, dtype=np.float32)}
        if scheme == records.INT8:
            sums = weights.sum(axis=0, dtype=np.int32)
            fields["scales"] = np.full(columns, 2.0**-7, np.float32)
            fields["start"], fields["totals"] = sums * np.int32(-isa.activation_offset()), sums * fields["scales"]
        for name, values in fields.items():
            self._kept.append(values if name == "weights" else padded(values))
            self.record[name] = self._kept[-1].ctypes.data
        self.record["scheme"], self.record["depth"], self.record["panels"] = scheme, depth, panels(columns)
        self.rows, self.out = np.ascontiguousarray(rows), np.empty((len(rows), columns), np.float32)
        self.quantized = np.empty((len(rows), isa.activation_planes() * depth), np.uint8)
        self.row_scales = np.empty((len(rows), 2), np.float32)

    def quantize(self, program: Any) -> None:
        program.quantize_rows(self.rows, *self.rows.shape, 0.0, self.quantized, self.row_scales)

    def multiply(self, program: Any, mode: int = AFFINE) -> None:
        """Multiplies into `out`."""
        if self.record["scheme"][0] == records.INT8:
            program.int8_linear(self.record, self.quantized, self.row_scales, len(self.rows), self.out, mode, 0)
        else:
            program.float_linear(self.record, self.rows, len(self.rows), self.out, mode, 0)


def _int8(rows: int, depth: int, columns: int) -> _Product:
    weights = np.resize(numbers(1, 4099), (depth, columns)).astype(np.int8)
    return _Product(records.INT8, weights, numbers(2, rows, depth).astype(np.float32) / np.float32(64))


def digest(program: Any) -> str:
    """Returns a digest of the kernels' results on generated numbers: BITS if they are right."""
    state = hashlib.sha256()
    product = _int8(7, 64, 80)
    product.quantize(program)
    for mode in (INTEGERS, AFFINE):
        product.multiply(program, mode)
        state.update(product.out.tobytes())
    floats = _Product(records.FLOAT32, numbers(3, 64, 80).astype(np.float32) / np.float32(96), product.rows)
    floats.multiply(program)
    state.update(floats.out.tobytes())
    scores = np.ascontiguousarray(floats.out)
    sums = np.empty(len(scores), np.float32)
    program.softmax_rows(scores, *scores.shape, scores.shape[1], 0.5, sums)
    state.update(scores.tobytes() + sums.tobytes())
    return state.hexdigest()[:8]


def measure(program: Any, seconds: float = SECONDS) -> Speeds:
    """Measures a compiled program's speed on this thread's core; takes three times `seconds`."""
    small, wide = _int8(ROWS, DEPTH, COLUMNS), _int8(1, DEPTH, WIDE)
    small.quantize(program)
    wide.quantize(program)
    weights = np.resize(numbers(3, 4099), (DEPTH, COLUMNS)).astype(np.float32)
    floats = _Product(records.FLOAT32, weights, small.rows)
    before, began = time.thread_time(), time.perf_counter()
    slow, times = [], []
    for product in (small, floats, wide):
        middle, slowest = _timed(functools.partial(product.multiply, program), seconds)
        times.append(middle)
        slow.append(slowest / middle)
    share = (time.thread_time() - before) / (time.perf_counter() - began)
    work = ROWS * DEPTH * COLUMNS
    return Speeds(work / times[0] / 1e9, work / times[1] / 1e9, DEPTH * WIDE / times[2] / 1e9, share, max(slow))


def _timed(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Returns (median, ninth tenth) of the seconds of a call."""
    call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while not taken or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), sorted(taken)[len(taken) * 9 // 10]
