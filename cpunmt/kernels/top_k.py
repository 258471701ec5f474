"""The top k of a row of scores: the continuations that a beam search looks at.

The search takes one pass; a vector of scores without a number above the k-th so far costs one comparison. Equal scores
are ordered by index, so the result is always the same. ("Faster Neural Machine Translation Inference", an anonymous
submission, section 3.1, also fuses this with the softmax, since only the chosen scores need log-probabilities.)
"""

from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd.intrinsics import load_f32, load_i64, store_f32, store_i64
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, largest, load, maximum


@kernel
def top_k(scores: address, length: count, k: count, indices: address, values: address) -> count:
    """Writes the k largest of float32 scores [length], a multiple of 16, in descending order; returns their number.

    indices, values    int64 [k], float32 [k]

    Skips scores that are LOWEST or NaN. Without any others, it returns index 0.
    """
    found, least = 0, LOWEST
    if k == 1:
        peak = broadcast(LOWEST)
        for j in range(0, length, 16):
            peak = maximum(peak, load(scores, j))
        least = largest(peak)
    for j in range(0, length, 16):
        top = largest(load(scores, j))
        if top > least or (k == 1 and top == least):
            for i in range(j, j + 16):
                value = load_f32(scores, i)
                if k == 1:
                    if value == least:
                        store_i64(indices, 0, i)
                        store_f32(values, 0, value)
                        return 1
                elif value > least:
                    place = found if found < k else k - 1
                    while place > 0 and load_f32(values, place - 1) < value:
                        store_f32(values, place, load_f32(values, place - 1))
                        store_i64(indices, place, load_i64(indices, place - 1))
                        place -= 1
                    store_f32(values, place, value)
                    store_i64(indices, place, i)
                    if found < k:
                        found += 1
                    if found == k:
                        least = load_f32(values, k - 1)
    if found == 0:
        store_i64(indices, 0, 0)
        store_f32(values, 0, load_f32(scores, 0))
        found = 1
    return found
