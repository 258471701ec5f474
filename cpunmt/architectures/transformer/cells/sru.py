"""SRU, the simple recurrent unit. Its gates read the input alone, so all products are one product.

    f_t = sigmoid(W_f x_t + b_f),   c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
    r_t = sigmoid(W_r x_t + b_r),   y_t = r_t * tanh(c_t) + (1 - r_t) * x_t

Lei et al. 2018, https://arxiv.org/abs/1709.02755, equations 3 to 6. State: c.
"""

from cpunmt.architectures.reading import row_at
from cpunmt.architectures.transformer.cells.recurrent import begin_cell, end_cell, layer_states
from cpunmt.architectures.transformer.reading import memory_at, transformer_at
from cpunmt.kernels.activations import sigmoid, tanh
from cpunmt.kernels.reading import scratch_at
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import fma, load, store


@kernel
def sru_row(
    gates: address, x: address, state: address, depth: count, table: address, next_state: address, out: address
):
    """One step of one row.

    gates     float32 [3 * depth]: W x, W_f x + b_f, W_r x + b_r
    x         float32 [depth]: the cell's input
    state     float32 [depth]: c before the step; next_state: after it (may be the same)
    table     that of kernels.tables.sigmoid_table
    out       float32 [depth]: y
    """
    for k in range(0, depth, 16):
        candidate, given = load(gates, k), load(x, k)
        made = fma(sigmoid(load(gates, depth + k), table), load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, fma(sigmoid(load(gates, 2 * depth + k), table), tanh(made, table) - given, given))


@kernel
def sru_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """One step of decoder layer `number` on x, for ROW records [n]."""
    begin_cell(layer, network, memory, n)
    settings, w = transformer_at(network, 0).settings, memory_at(memory, 0)
    s, depth, first = scratch_at(address_of(w.scratch), 0), settings.model_dim, layer_states(number, memory)
    for i in range(n):
        x, out = s.input + 4 * i * depth, s.y + 4 * i * depth
        state = w.states + first + row_at(rows, i).parent * w.state_bytes
        next_state = w.next_states + first + i * w.state_bytes
        sru_row(s.wide + 12 * i * depth, x, state, depth, settings.sigmoid_table, next_state, out)
    end_cell(layer, network, memory, n)
