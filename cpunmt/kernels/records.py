"""The records that Python fills in and kernels read: NumPy structured types, no code.

A field of type ADDRESS holds the address of the first byte of a C-contiguous array (0: absent); the comment beside it
states that array's type and shape. The code that fills a record keeps its arrays alive. One set of types serves every
model, so the compiled program does not depend on a model. Layers, architectures and the search have records of their
own.
"""

from typing import Any

import numpy as np

ADDRESS = np.int64
COUNT = np.int64

FLOAT32, INT8, INT16 = 0, 1, 2  # LINEAR.scheme: type of the operands
MULTIPLIED = {"float32": FLOAT32, "int8": INT8, "int16": INT16}  # by the type in config.SCHEMES
WEIGHT_BYTES = (4, 1, 2)  # of one weight of each

# Candidates of a sentence are filled up to a multiple of this, as Marian's are: its argmax is over the filled set.
CANDIDATES_MULTIPLE = 8


def record(*fields: tuple[Any, ...]) -> np.dtype:
    """Makes a structured type with C's layout."""
    return np.dtype(list(fields), align=True)


# Functions that may follow an affine map, by number.
# gelu_sigmoid: x sigmoid(1.702 x); gelu_tanh: see kernels/gates
ACTIVATIONS = ("relu", "swish", "gelu", "gelu_sigmoid", "gelu_tanh", "tanh", "sigmoid")

# y = x W + b. Layouts of `weights`: kernels/packing.
LINEAR = record(
    ("scheme", COUNT),  # FLOAT32, INT8 or INT16
    ("depth", COUNT),
    ("panels", COUNT),  # columns / 16, rounded up; y has 16 * panels columns; 0: the layer is absent
    # int8 [panels, depth / 4, 16, 4], int16 [panels, depth / 2, 16, 2] or float32 [panels, depth, 16]
    ("weights", ADDRESS),  # 0: there are only codes
    ("codes", ADDRESS),  # bytes [panels, depth / 8, 16, 4]: the int8 weights as numbers of `levels`; 0: absent
    ("levels", ADDRESS),  # int8 [16]
    ("scales", ADDRESS),  # float32 [16 * panels]: real weight = scale * integer; integers only
    ("start", ADDRESS),  # int32 [16 * panels]: initial integer sums; INT8 only
    ("totals", ADDRESS),  # float32 [16 * panels]: sum of each column's real weights, for x that have a shift; INT8 only
    ("bias", ADDRESS),  # float32 [16 * panels]
    # of a layer behind a ReLU, INT8 only; 0: absent. Both are filled up to whole blocks of 64 columns
    ("by_depth", ADDRESS),  # int8 [depth, 64 * blocks]: the weights once more, see kernels/matmul/packing
    ("next", ADDRESS),  # by_depth of the layer that reads this one's output: products of many rows prefetch it
    ("next_bytes", COUNT),
    ("sparse_start", ADDRESS),  # int32 [64 * blocks]: initial sums without the zeros
    ("multiplier", np.float32),  # INT8: for the quantization of x; 0: each row has its own; INT16: x's largest integer
)

NORM = record(
    ("scale", ADDRESS),  # float32 [model_dim]; 0: the layer is absent
    ("bias", ADDRESS),  # float32 [model_dim]
    ("scheme", COUNT),  # of the product that reads the output, as above
    ("multiplier", np.float32),
)

# The values beside a row of a table, together: for scattered pieces, four vectors would be four cache lines of each.
ENTRY = record(("scale", np.float32), ("total", np.float32), ("bias", np.float32), ("start", np.int32))

# One row per piece. Source lookup, target lookup and output layer may share one.
TABLE = record(
    ("scheme", COUNT),
    ("rows", ADDRESS),  # int8, int16 or float32 [pieces, model_dim]; 0: there are only codes
    ("codes", ADDRESS),  # bytes [pieces, model_dim / 2]: the int8 rows as numbers of `levels`, those of column i and of
    # i + model_dim / 2 in one byte, the first in its lower half; 0: absent
    ("levels", ADDRESS),  # int8 [16]
    ("scales", ADDRESS),  # float32 [pieces]; integers only
    ("start", ADDRESS),  # int32 [pieces]: see LINEAR; of the output layer, INT8 only
    ("totals", ADDRESS),  # float32 [pieces]: see LINEAR; of the output layer, INT8 only
    ("bias", ADDRESS),  # float32 [pieces]: of the output layer
    ("entries", ADDRESS),  # ENTRY [pieces]: a second copy of these four, see kernels/matmul/row_products; 0: absent
)

# A table's upper halves, which bound its scores: see kernels/high_halves.
HALVES = record(
    ("high", LINEAR),  # its products with the levels; it has only `codes`
    ("reach", ADDRESS),  # float32 [16 * panels]: scale * length of what the levels leave of each column
)

# The pieces of a row that may have its largest score.
POSSIBLE = record(
    ("count", COUNT),
    ("pieces", ADDRESS),  # int32 [count], ascending
    ("most", ADDRESS),  # float32 [count]: their upper bounds
    ("least", np.float32),  # a lower bound of the largest score
)

# The map from pieces at positions to vectors.
EMBEDDING = record(
    ("table", TABLE),
    ("depth", COUNT),  # model_dim
    ("scale", np.float32),  # of the table's rows: sqrt(model_dim), mostly
    ("positions", ADDRESS),  # float32 [positions, model_dim]
)

SHORTLIST = record(
    ("offsets", ADDRESS),  # int64 [source pieces + 1]; 0: no shortlist
    ("ids", ADDRESS),  # int32 [offsets[-1]]
    ("first", COUNT),  # pieces 0 .. first - 1 are always candidates
    ("words", COUNT),  # source pieces that have a list
    ("shared", COUNT),  # 1: a sentence's own pieces are candidates too
)

# The common data of all layers of a model.
SETTINGS = record(
    ("model_dim", COUNT),
    ("heads", COUNT),
    ("attention_dim", COUNT),  # of the queries, keys or values of all heads; mostly model_dim
    ("epsilon", np.float32),  # of layer norm
    ("root_mean_square", COUNT),  # 1: norms do not subtract the mean
    ("attention_scale", np.float32),  # 1 / sqrt(head_dim), mostly
    ("activation", COUNT),  # of feed-forward networks: index in ACTIVATIONS
    ("preprocess", COUNT),  # 1: a block's input is normalized
    ("postprocess", COUNT),
    ("sigmoid_table", ADDRESS),  # see kernels/activations
)

# The terms of a self-attention layer that depend on the distance of two pieces: see kernels/relative.
RELATIVE = record(
    ("reach", COUNT),  # larger distances count as this one
    ("bias", ADDRESS),  # float32 [heads, 2 * reach + 1]: divided by attention_scale; 0: absent
    ("keys", ADDRESS),  # float32 [2 * reach + 1, head_dim]; 0: absent
    ("packed_keys", ADDRESS),  # float32 [(reach + 16) / 16, head_dim, 16]: those of distances up to 0
    ("values", ADDRESS),  # float32 [2 * reach + 1, head_dim]; 0: absent
)

# The keys and values of one hypothesis, among those of all hypotheses of a sentence: see kernels/attention.
PATH = record(
    ("length", COUNT),  # of the hypothesis
    ("panels", COUNT),  # that hold one of its keys, or more
    ("keys", ADDRESS),  # int64 [panels]: bytes from the first panel to each
    ("columns", ADDRESS),  # int64 [length]: of each key, among the columns of these panels
    ("values", ADDRESS),  # int64 [length]: bytes from the first value to the first head's part of each
    ("scores", ADDRESS),  # room for float32 [heads, 16 * panels]
    ("ahead", COUNT),  # bytes from keys and values to those of the next sentence, which are prefetched
)

# The form of a row in a sparse product: see kernels/matmul/sparse_matmul. Sizes are those of the deepest and of the
# widest of all such layers, filled up to whole blocks of 64 columns.
LISTS = record(
    ("entries", ADDRESS),  # int32 [3 * depth + 32]: which weights meet
    ("values", ADDRESS),  # bytes [3 * depth + 32]: which number
    ("split", ADDRESS),  # int32 [2 * depth + 32]: where the number is too large for one entry, the rest
    ("sums", ADDRESS),  # int32 [64 * blocks]
)
LIST_DEPTHS = (("entries", np.int32, 3), ("values", np.uint8, 3), ("split", np.int32, 2))  # depths + 32 entries of each

# Memory that layers work in, of `rows` rows at most.
SCRATCH = record(
    ("x", ADDRESS),  # float32 [rows, model_dim]: the residual stream
    ("input", ADDRESS),  # float32 [rows, model_dim]: a block's input; x itself, unless blocks normalize it
    ("wide", ADDRESS),  # float32 [rows, widest]: widest of all products of a model
    ("wider", ADDRESS),  # the same; 0: no layer of the model needs two of them
    ("y", ADDRESS),  # float32 [rows, max(model_dim, attention_dim)]: a block's output
    ("context", ADDRESS),  # the same: attention's output
    ("gate", ADDRESS),  # float32 [rows, model_dim]
    ("quantized", ADDRESS),  # bytes [rows, max(2, planes) * widest]
    ("row_scales", ADDRESS),  # float32 [rows, 2]: scale and shift of each row: see kernels/matmul/quantize_rows
    ("lists", LISTS),
    ("scores", ADDRESS),  # float32 [max(source_stride, heads), max(source_stride, steps)]
    ("sums", ADDRESS),  # float32 [heads]
    ("packed", ADDRESS),  # float32 [source_stride / 16, head_dim, 16]: packed queries of one head
    ("pointers", ADDRESS),  # int64 [16]
    ("room", ADDRESS),  # bytes [packing.room_bytes]: weights of a part of a layer that is stored as codes
    # float32 [max((2 * reach + 1) * source_stride, heads * (reach + 16))], of the largest reach of vectors
    ("relative", ADDRESS),
)

BLOCK = 256  # scores that are added up at a time: see kernels/softmax

# The state of the scores of a row that have been read.
POWERS = record(
    ("sums", np.float32, 16),  # of e^(score - peak), in 16 lanes
    ("peak", np.float32),  # the largest
)

# The search in a row of scores, and its results.
WANTED = record(
    ("normalized", COUNT),  # 1: the log-sum-exp is wanted
    ("k", COUNT),  # best scores that are wanted; 0: none is
    ("only", COUNT),  # column whose score is wanted in any case; -1: none
    ("barred", COUNT),  # column that is never chosen, though the log-sum-exp counts it; -1: none
    ("also_barred", COUNT),
    ("found", COUNT),
    ("columns", ADDRESS),  # int64 [k]
    ("scores", ADDRESS),  # float32 [k]
    ("powers", POWERS),
)
