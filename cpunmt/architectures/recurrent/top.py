"""The layers above the recurrent ones: fully connected layers, and the input of the output layer."""

from cpunmt.architectures.recurrent.maps import mapped
from cpunmt.architectures.recurrent.records import MEMORY, RECURRENT, TOPS
from cpunmt.architectures.recurrent.recurrence import recurrent_layer
from cpunmt.kernels.gates import RELU as RECTIFY
from cpunmt.kernels.gates import activate, add_rows, clip, squash
from cpunmt.kernels.matmul.int8_matmul import AFFINE, RELU
from cpunmt.kernels.records import LINEAR, SCRATCH
from cpunmt.layers.linear import linear_of
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel

LINEAR_BYTES = LINEAR.itemsize
DEEP, RECURRENT_TOP = TOPS.index("deep"), TOPS.index("recurrent")


@kernel
def stack(network: address, memory: address, x: address, n: count) -> count:
    """Runs the fully connected layers on float32 x [n, decoder_dim], one of the `levels`; returns the last one's
    output."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    below = x
    for i in range(net.stack_layers):
        weights = net.stack + i * LINEAR_BYTES
        columns = 16 * at(LINEAR, weights, 0).panels
        out = w.levels
        while (out - x) * (out - below) == 0:  # one of three is free
            out += w.level_bytes
        added = i > 0 and i % 2 == 0
        linear_of(weights, x, n, address_of(w.scratch), out, AFFINE if added else RELU)
        if added:
            add_rows(out, below, n * columns, out)
            activate(out, n * columns, RECTIFY, net.settings.sigmoid_table)
        if net.relu_limit > 0:
            clip(out, n * columns, net.relu_limit)
        below = x
        x = out
    return x


@kernel
def top(network: address, memory: address, rows: address, parents: count, said: address, n: count):
    """Computes the scratch memory's x from the lower layers' output for ROW [n], float32 [n, width]."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, scratch, dim = address_of(net.settings), address_of(w.scratch), net.settings.model_dim
    x = at(SCRATCH, scratch, 0).x
    if net.top == RECURRENT_TOP:
        cell = address_of(net.top_cell)
        mapped(address_of(net.top_cell.input), settings, said, n, scratch, w.product)
        recurrent_layer(cell, net.decoder_layers, network, memory, rows, parents, n, x)
        return
    mapped(address_of(net.top_map), settings, said, n, scratch, x)
    if net.top == DEEP:
        given = 4 * (net.decoder_input.map.columns - dim)
        context = 4 * (net.context.columns - dim)
        for i in range(n):
            place = x + 4 * i * dim
            query = i if net.conditional else load_i64(w.shared, i)
            add_rows(load_i64(w.places, i) + given, place, dim, place)
            add_rows(place, w.contexts + 4 * query * net.context.columns + context, dim, place)
    squash(x, n * dim, net.settings.sigmoid_table)
