"""The operations around every block, which make its input and add its output to the residual stream.

before    the block reads x, or norm(x) in models with "pre-norm" (Marian's preprocess n)
after     x becomes norm(x + y) in most models (Marian's postprocess "an"), or follows the letters in their order:
a adds the block's input, n normalizes, h is a highway connection to the block's input

x is quantized as soon as it is computed: by `after`, or by `before` if that computes the block's input.
"""

from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.gates import highway
from cpunmt.kernels.layer_norm import residual_layer_norm
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.quantize_rows import quantize_as
from cpunmt.kernels.records import NORM, SCRATCH, SETTINGS
from cpunmt.layers.linear import linear_of
from cpunmt.layers.records import POSTPROCESS, RESIDUAL
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import load, store

ADD, NORMALIZE, HIGHWAY = POSTPROCESS["a"], POSTPROCESS["n"], POSTPROCESS["h"]
ADD_AND_NORMALIZE = ADD + 4 * NORMALIZE


@kernel
def finish(norm: address, settings: address, scratch: address, rows: count):
    """Finishes the embeddings or the last layer: x = norm(x), if there is a norm; quantizes x."""
    s, w, n = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0), at(NORM, norm, 0)
    if n.scale != 0:
        residual_layer_norm(settings, norm, w.x, 0, rows, w.x, w.quantized, w.row_scales)
    else:
        quantize_as(n.scheme, n.multiplier, w.x, rows, s.model_dim, w.quantized, w.row_scales)


@kernel
def before_block(residual: address, settings: address, scratch: address, rows: count):
    """Makes the scratch memory's `input` from x, quantized too, unless they are the same."""
    w = at(SCRATCH, scratch, 0)
    if at(SETTINGS, settings, 0).preprocess:
        norm = address_of(at(RESIDUAL, residual, 0).before)
        residual_layer_norm(settings, norm, w.x, 0, rows, w.input, w.quantized, w.row_scales)


@kernel
def after_block(residual: address, settings: address, scratch: address, rows: count):
    """Makes x from the block's input x and output y, quantized too, unless the next block reads something else."""
    s, w, r = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0), at(RESIDUAL, residual, 0)
    norm = address_of(r.after)
    quantized = w.quantized if s.preprocess == 0 else 0
    if s.postprocess == ADD_AND_NORMALIZE:
        residual_layer_norm(settings, norm, w.x, w.y, rows, w.x, quantized, w.row_scales)
        return
    size, letters = rows * s.model_dim, s.postprocess
    while letters:
        letter = letters % 4
        if letter == ADD:
            for k in range(0, size, 16):
                store(w.y, k, load(w.x, k) + load(w.y, k))
        elif letter == NORMALIZE:
            residual_layer_norm(settings, norm, w.y, 0, rows, w.y, 0, w.row_scales)
        else:
            gate = address_of(r.highway)
            linear_of(gate, w.x, rows, scratch, w.gate, AFFINE)
            highway(w.gate, w.y, w.x, size, s.sigmoid_table)
        letters //= 4
    copy_floats(w.y, size, w.x)
    if quantized != 0:
        quantize_as(r.after.scheme, r.after.multiplier, w.x, rows, s.model_dim, quantized, w.row_scales)
