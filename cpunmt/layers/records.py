"""The records of layers: their weights."""

from cpunmt.kernels.records import ADDRESS, COUNT, LINEAR, NORM, record

# The operations on a block's output, in this order, as the digits of a number to the base 4: a adds the block's input,
# n normalizes, h is a highway connection to the input.
POSTPROCESS = {"a": 1, "n": 2, "h": 3}

# The operations around a block: see layers/residual.
RESIDUAL = record(("before", NORM), ("after", NORM), ("highway", LINEAR))

FEED_FORWARD = record(
    ("inner", LINEAR),  # if gated, columns: those of the activation, then those of the gate
    ("gated", COUNT),  # 1: the function of the first half of `inner` is multiplied by the second half
    ("middles", COUNT),  # affine maps between the first and the last
    ("middle", ADDRESS),  # LINEAR [middles]
    ("outer", LINEAR),
    ("residual", RESIDUAL),
)

SELF_ATTENTION = record(
    ("query_key_value", LINEAR),  # three products of one input in one: columns q, k, v
    ("relative", ADDRESS),  # RELATIVE; 0: absent
    ("output", LINEAR),
    ("residual", RESIDUAL),
)
