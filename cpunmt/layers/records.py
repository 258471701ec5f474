"""The records of layers: their weights, what all layers of a model share, and the memory that they work in."""

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, LINEAR, NORM, record

# What is done to a block's output, in this order, as the digits of a number to the base 4: a adds the block's input,
# n normalizes, h is a highway connection to the input.
POSTPROCESS = {"a": 1, "n": 2, "h": 3}

# What stands around a block: see layers/residual.
RESIDUAL = record(("before", NORM), ("after", NORM), ("highway", LINEAR))

FEED_FORWARD = record(
    ("inner", LINEAR),
    ("middles", COUNT),  # affine maps between the first and the last
    ("middle", ADDRESS),  # LINEAR [middles]
    ("outer", LINEAR),
    ("residual", RESIDUAL),
)

SELF_ATTENTION = record(
    ("query_key_value", LINEAR),  # three products of one input in one: columns q, k, v
    ("output", LINEAR),
    ("residual", RESIDUAL),
)

# What all layers of a model share.
SETTINGS = record(
    ("model_dim", COUNT),
    ("heads", COUNT),
    ("epsilon", np.float32),  # of layer norm
    ("attention_scale", np.float32),  # 1 / sqrt(head_dim)
    ("activation", COUNT),  # of feed-forward networks: index in ACTIVATIONS
    ("preprocess", COUNT),  # 1: a block's input is normalized
    ("postprocess", COUNT),
    ("sigmoid_table", ADDRESS),  # see kernels/activations
)

# Memory that layers work in, of `rows` rows at most.
SCRATCH = record(
    ("x", ADDRESS),  # float32 [rows, model_dim]: the residual stream
    ("input", ADDRESS),  # float32 [rows, model_dim]: what a block reads; x itself, where blocks do not normalize it
    ("wide", ADDRESS),  # float32 [rows, widest]: widest of all products of a model
    ("wider", ADDRESS),  # the same; 0: no layer of the model needs two of them
    ("y", ADDRESS),  # float32 [rows, model_dim]: what a block adds to x
    ("context", ADDRESS),  # float32 [rows, model_dim]: what attention read
    ("gate", ADDRESS),  # float32 [rows, model_dim]
    ("quantized", ADDRESS),  # bytes [rows, max(2, planes) * widest]
    ("row_scales", ADDRESS),  # float32 [rows, 2]: scale and shift of each row: see kernels/matmul/quantize_rows
    ("scores", ADDRESS),  # float32 [max(source_stride, heads), max(source_stride, steps)]
    ("sums", ADDRESS),  # float32 [heads]
    ("packed", ADDRESS),  # float32 [source_stride / 16, head_dim, 16]: packed queries of one head
    ("pointers", ADDRESS),  # int64 [16]
)
