"""Ways from the decoder's output to the best continuations, as kernels: each multiplies, and searches all rows.

product     the output layer alone, with the number of rows at a time of the stepwise ways
blocks      the output layer alone, as the fused way multiplies it
steps       product, bias, log-softmax and search, one after the other, as in toolkits of layers (the baseline of
            the papers of bench/papers/gpu2018): each pass over the logits is vectorized
biased      the first two of these steps
normalized  the first three
defined     product and bias, log-sum-exp, top k: our stepwise way, see search.fused_output
fused       search.fused_output; for one continuation without a log-probability, a search for the largest
"""

import numpy as np

from cpunmt.kernels.fused_top_k import begin_row, end_row
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.parts import cut_panels
from cpunmt.kernels.records import BLOCK, LINEAR, WANTED
from cpunmt.kernels.softmax import log_sum_exp
from cpunmt.kernels.top_k import top_k
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.output.blocks import new_linear, take_layer
from cpunmt.search.records import FUSED_ROWS, LOGITS
from cpunmt.simd.intrinsics import address_of, at, lesser
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, load, store

TOGETHER = 16  # rows of the stepwise ways: engine.workspace.LOGIT_ROWS
_BYTES = WANTED.itemsize
WAYS = ("product", "blocks", "steps", "defined", "fused", "biased", "normalized")


@kernel
def output_step(logits: address, bias: address, columns: count, wanted: address, way: count):
    """Computes bias, log-softmax and top k of one row, float32 logits [columns], each a pass of its own, in place."""
    for j in range(0, columns, 16):
        store(logits, j, load(logits, j) + load(bias, j))
    if way != 5:
        normalizer = broadcast(log_sum_exp(logits, columns))
        for j in range(0, columns, 16):
            store(logits, j, load(logits, j) - normalizer)
    if way == 2:
        w = at(WANTED, wanted, 0)
        top_k(logits, columns, w.k, w.columns, w.scores)


@kernel
def output_way(
    times: count,
    way: count,
    layer: address,
    quantized: address,
    scales: address,
    rows: count,
    wanted: address,
    bias: address,
    logits: address,
):
    """Runs one of WAYS `times` times.

    layer     LINEAR of integers, without a bias
    wanted    WANTED [rows]
    bias      float32 [columns], of `steps`
    logits    float32 [max(FUSED_ROWS * BLOCK, LOGITS, TOGETHER * columns)]
    """
    w, part = at(LINEAR, layer, 0), address_of(new_linear())
    columns, size = 16 * w.panels, row_bytes(w.scheme, w.depth)
    for _ in range(times):
        if way == 1 or way == 4:
            for first in range(0, rows, FUSED_ROWS):
                together = lesser(FUSED_ROWS, rows - first)
                x, row_scales = quantized + first * size, scales + 8 * first
                if way == 4:
                    for row in range(first, first + together):
                        begin_row(wanted + _BYTES * row)
                    take_layer(layer, 0, x, row_scales, together, wanted + _BYTES * first, logits, 0, 0, 0)
                    for row in range(first, first + together):
                        end_row(wanted + _BYTES * row)
                else:
                    blocks = LOGITS // BLOCK // together
                    step = BLOCK // 16 * (blocks if blocks > 1 else 1)
                    for panel in range(0, w.panels, step):
                        cut_panels(layer, panel, step, part)
                        linear(part, 0, x, row_scales, together, logits, AFFINE, 0)
        else:
            for first in range(0, rows, TOGETHER):
                together = lesser(TOGETHER, rows - first)
                linear(layer, 0, quantized + first * size, scales + 8 * first, together, logits, AFFINE, 0)
                for i in range(together):
                    row, sought = logits + 4 * i * columns, wanted + _BYTES * (first + i)
                    if way == 2 or way > 4:
                        output_step(row, bias, columns, sought, way)
                    elif way == 3:
                        s = at(WANTED, sought, 0)
                        s.found = np.int64(log_sum_exp(row, columns))
                        s.found = top_k(row, columns, s.k, s.columns, s.scores)
