"""The paper's baseline: float32 products of a library, and nothing in vectors. The search is ours, in machine code.

Some kernels of the engine are replaced by others with the same arguments:

    products      by a library's sgemm, on weights in its layout; the weighted sums of attention stay ours, which are
                  not slower
    elementwise   one number at a time, with the exponentials and tanh of the C library
"""

import ctypes
import math

import numpy as np

from bench.papers.devlin2017 import sgemm
from cpunmt.kernels.candidates import LOWEST
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import INTEGERS, RELU
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.kernels.records import FLOAT32, LINEAR, TABLE
from cpunmt.model.tensors import Model
from cpunmt.simd.intrinsics import at, lesser, load_f32, load_i32, store_f32
from cpunmt.simd.jit import Kernel, address, count, inlined, kernel
from cpunmt.simd.vector import broadcast, load, maximum, store

BY_ROWS = 1  # in LINEAR.codes: weights lie [depth, columns]; else [columns, depth]


def sgemm_products(name: str, multiply, integer) -> dict[str, Kernel]:
    """Returns replacements for `replaced.program_with`: a cblas_sgemm with integers of that type, under any `name`."""
    product = sgemm.declared(multiply, integer, *"eeeiiifpipifpi")

    def library_linear(linear: address, x: address, rows: count, out: address, mode: count):
        weights = at(LINEAR, linear, 0)
        depth, columns = weights.depth, 16 * weights.panels
        by_rows = weights.codes == BY_ROWS
        product(
            sgemm.ROW_MAJOR,
            sgemm.NOT_TRANSPOSED,
            sgemm.NOT_TRANSPOSED if by_rows else sgemm.TRANSPOSED,
            rows,
            columns,
            depth,
            np.float32(1),
            x,
            depth,
            weights.weights,
            columns if by_rows else depth,
            np.float32(0),
            out,
            columns,
        )
        if mode != INTEGERS:
            floor = broadcast(np.float32(0.0)) if mode == RELU else broadcast(np.float32(-np.inf))
            for row in range(rows):
                target = out + 4 * row * columns
                for column in range(0, columns, 16):
                    store(target, column, maximum(load(target, column) + load(weights.bias, column), floor))

    library_linear.__name__ = f"library_linear_{name}"
    return {"float_linear": kernel(library_linear), "gather_output": gather_rows}


@kernel
def gather_rows(
    table: address, pieces: address, candidates: count, depth: count, pointers: address, room: address, output: address
):
    """Gathers for a library as `gather_output`: copies the rows of float32 candidates, [columns, depth]."""
    entries, linear = at(TABLE, table, 0), at(LINEAR, output, 0)
    linear.codes = 0
    for column in range(16 * linear.panels):
        piece = lesser(column, candidates - 1)
        if pieces != 0:
            piece = load_i32(pieces, piece)
        copy_floats(entries.rows + 4 * depth * piece, depth, linear.weights + 4 * depth * column)
        store_f32(linear.bias, column, load_f32(entries.bias, piece) if column < candidates else LOWEST)


def lay_by_rows(model: Model):
    """Lays out the float32 weights of a recurrent model's layers for `sgemm_products`: [depth, columns]."""
    for layer in _layers(model):
        if layer["scheme"] == FLOAT32 and layer["panels"] and layer["codes"] == 0:
            panels, depth = int(layer["panels"]), int(layer["depth"])
            size = panels * depth * PANEL
            packed = np.frombuffer((ctypes.c_float * size).from_address(int(layer["weights"])), np.float32)
            rows = np.ascontiguousarray(packed.reshape(panels, depth, PANEL).transpose(1, 0, 2))
            layer["weights"], layer["codes"] = model.network._filler.keep(rows), BY_ROWS


def _layers(model):
    """Yields the LINEAR records of a recurrent model, wherever they are."""
    waiting = [model.network._record, *model.network._filler._kept]
    while waiting:
        array = waiting.pop()
        if array.dtype == LINEAR:
            yield from array.reshape(-1)
        elif array.dtype.names:
            waiting += [array[name] for name in array.dtype.names]


@inlined
def _sigmoid(x):
    return np.float32(1.0) / (np.float32(1.0) + np.float32(math.exp(-x)))


@kernel
def gru_numbers(
    gates: address,
    state_gates: address,
    x: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """Computes `gru_row`, one number at a time."""
    for k in range(depth):
        reset = _sigmoid(load_f32(gates, k) + load_f32(state_gates, k))
        update = _sigmoid(load_f32(gates, depth + k) + load_f32(state_gates, depth + k))
        candidate = np.float32(math.tanh(load_f32(gates, 2 * depth + k) + reset * load_f32(state_gates, 2 * depth + k)))
        made = candidate + update * (load_f32(state, k) - candidate)
        store_f32(next_state, k, made)
        store_f32(out, k, made)


@kernel
def squash_numbers(x: address, length: count, table: address):
    """Computes `squash`, one number at a time."""
    for k in range(length):
        store_f32(x, k, np.float32(math.tanh(load_f32(x, k))))


@kernel
def no_exponentials(x: address, length: count):
    """Does nothing instead of `double_exponentials`: `tanh_scores` needs the numbers themselves."""


@kernel
def tanh_scores(keys: address, query: address, weight: address, length: count, depth: count, out: address):
    """Computes `additive_scores` by the formula, one number at a time; weight is -2 score."""
    for j in range(length):
        total = np.float32(0.0)
        for k in range(depth):
            answer = np.float32(math.tanh(load_f32(keys, j * depth + k) + load_f32(query, k)))
            total += load_f32(weight, k) * np.float32(-0.5) * answer
        store_f32(out, j, total)


NUMBER_BY_NUMBER = {
    "gru_row": gru_numbers,
    "squash": squash_numbers,
    "double_exponentials": no_exponentials,
    "additive_scores": tanh_scores,
}
