"""Elementwise functions on float rows: activations after an affine map, and gates between two inputs.

swish         x sigmoid(x); Ramachandran et al. 2017, https://arxiv.org/abs/1710.05941
gelu          x Phi(x), Phi the normal distribution function; Hendrycks and Gimpel 2016,
              https://arxiv.org/abs/1606.08415
gelu_sigmoid  x sigmoid(1.702 x), its approximation in the same paper
gelu_tanh     x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), the other one: x sigmoid(2 u)
gate          g a + (1 - g) b, or g a + h b, for gates g = sigmoid(...)
gated         f(a) b, for the two halves a, b of a row; Shazeer 2020, https://arxiv.org/abs/2002.05202
"""

import numpy as np

from cpunmt.kernels.activations import exp, sigmoid, tanh
from cpunmt.kernels.records import ACTIVATIONS
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import absolute, broadcast, fma, load, maximum, minimum, store

RELU, SWISH, GELU, GELU_SIGMOID, GELU_TANH, TANH, SIGMOID = range(len(ACTIVATIONS))
_f = np.float32
# erf(x) = 1 - (a1 t + ... + a5 t^5) exp(-x^2), t = 1 / (1 + p x), for x >= 0, to 1.5e-7:
# Abramowitz and Stegun 1964, formula 7.1.26
_P, _A1, _A2, _A3 = _f(0.3275911), _f(0.254829592), _f(-0.284496736), _f(1.421413741)
_A4, _A5 = _f(-1.453152027), _f(1.061405429)
_ROOT_HALF = _f(0.7071067811865476)
_LINE, _CUBE = _f(1.5957691216057308), _f(0.0713548162726)  # 2 u = x (_LINE + _CUBE x^2)


@kernel
def squash(x: address, length: count, table: address):
    """Computes x = tanh(x), float32 [length], a multiple of 16; `table` is that of
    kernels.tables.sigmoid_table."""
    for k in range(0, length, 16):
        store(x, k, tanh(load(x, k), table))


@kernel
def activate(x: address, length: count, function: count, table: address):
    """Applies one of records.ACTIVATIONS to float32 x [length], a multiple of 16, in place. `table` as above."""
    zero, one = broadcast(_f(0.0)), broadcast(_f(1.0))
    if function == RELU:
        for k in range(0, length, 16):
            store(x, k, maximum(load(x, k), zero))
    elif function == GELU:
        for k in range(0, length, 16):
            value = load(x, k)
            size = absolute(value) * broadcast(_ROOT_HALF)
            t = one / fma(size, broadcast(_P), one)
            series = fma(t, broadcast(_A5), broadcast(_A4))
            series = fma(t, series, broadcast(_A3))
            series = fma(t, series, broadcast(_A2))
            series = fma(t, series, broadcast(_A1))
            upper = fma(zero - series * t, exp(zero - size * size), one)  # erf of |x| / sqrt 2
            store(x, k, broadcast(_f(0.5)) * fma(absolute(value), upper, value))
    elif function == GELU_TANH:
        for k in range(0, length, 16):
            value = load(x, k)
            inner = value * fma(value * value, broadcast(_CUBE), broadcast(_LINE))
            store(x, k, value * sigmoid(inner, table))
    elif function == TANH:
        squash(x, length, table)
    elif function == SIGMOID:
        for k in range(0, length, 16):
            store(x, k, sigmoid(load(x, k), table))
    else:
        factor = broadcast(_f(1.0) if function == SWISH else _f(1.702))
        for k in range(0, length, 16):
            value = load(x, k)
            store(x, k, value * sigmoid(value * factor, table))


@kernel
def gate_rows(x: address, rows: count, width: count, function: count, table: address):
    """Computes function(a) b for each row (a, b) of float32 x [rows, 2 * width], width a multiple of 16.

    The results, float32 [rows, width], begin where x begins: each row is read before one is written over it.
    """
    for row in range(rows):
        given, out = x + 8 * row * width, x + 4 * row * width
        activate(given, width, function, table)
        for k in range(0, width, 16):
            store(out, k, load(given, k) * load(given, width + k))


@kernel
def clip(x: address, length: count, limit: real):
    """Computes x = min(x, limit), float32 [length], a multiple of 16."""
    for k in range(0, length, 16):
        store(x, k, minimum(load(x, k), broadcast(limit)))


@kernel
def add_rows(x: address, y: address, length: count, out: address):
    """Computes out = x + y, float32 [length] each, a multiple of 16."""
    for k in range(0, length, 16):
        store(out, k, load(x, k) + load(y, k))


@kernel
def highway(gates: address, y: address, x: address, length: count, table: address):
    """Computes y = g y + (1 - g) x with g = sigmoid(gates), float32 [length] each, a multiple of 16."""
    for k in range(0, length, 16):
        other = load(x, k)
        store(y, k, fma(sigmoid(load(gates, k), table), load(y, k) - other, other))


@kernel
def weigh(kept: address, x: address, renewed: address, y: address, length: count, table: address):
    """Computes y = sigmoid(kept) x + sigmoid(renewed) y, float32 [length] each, a multiple of 16."""
    for k in range(0, length, 16):
        share = sigmoid(load(kept, k), table) * load(x, k)
        store(y, k, fma(sigmoid(load(renewed, k), table), load(y, k), share))


@kernel
def average(x: address, cell: address, share: real, length: count, next_cell: address, out: address):
    """Computes next_cell = cell + x and out = share * next_cell, float32 [length] each, a multiple of 16."""
    for k in range(0, length, 16):
        state = load(cell, k) + load(x, k)
        store(next_cell, k, state)
        store(out, k, state * broadcast(share))
