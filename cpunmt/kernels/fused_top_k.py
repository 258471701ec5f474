"""The log-sum-exp and the top k of a row of scores in one pass, block by block, without storing a row.

Fused output: algorithms 2 and 3 of "Faster Neural Machine Translation Inference" (paper A of docs/papers.md), and Hoang
et al. 2018. (A prints the old sum times the difference of the maxima; the correct factor is e to the power of it.)

    begin_row      before the first score
    take_scores    for a block of scores, while it is in the nearest cache
    end_row        after the last one: the log-sum-exp

The bits are those of `softmax.log_sum_exp` and `top_k.top_k` of the whole row, which are the definition.
"""

from cpunmt.kernels.records import BLOCK, WANTED
from cpunmt.kernels.softmax import LOWEST, add_powers, log_of_powers, no_powers
from cpunmt.simd.intrinsics import (
    address_of,
    at,
    lesser,
    load_f32,
    load_i64,
    store_f32,
    store_i64,
    trailing_zeros,
)
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import broadcast, lanes_above, largest, load, maximum


@kernel
def begin_row(wanted: address):
    """Clears the results."""
    w = at(WANTED, wanted, 0)
    w.found = 0
    no_powers(address_of(w.powers))
    store_i64(w.columns, 0, w.only if w.only >= 0 else 0)
    store_f32(w.scores, 0, LOWEST)


@kernel
def insert_above(wanted: address, scores: address, first: count, length: count):
    """Inserts the scores among the k best so far; float32 scores [length] are of the columns from `first` on."""
    w = at(WANTED, wanted, 0)
    found, k, j = w.found, w.k, 0
    least = load_f32(w.scores, k - 1) if found == k else LOWEST
    while j < length:
        if j + 64 <= length:  # mostly none of four vectors has such a score
            pair = maximum(load(scores, j), load(scores, j + 16))
            if lanes_above(maximum(pair, maximum(load(scores, j + 32), load(scores, j + 48))), broadcast(least)) == 0:
                j += 64
                continue
        end = lesser(j + 64, length)
        while j < end:
            above = lanes_above(load(scores, j), broadcast(least))
            while above != 0:
                i = j + trailing_zeros(above)
                above &= above - 1
                value = load_f32(scores, i)
                if value > least and first + i != w.barred and first + i != w.also_barred:
                    place = lesser(found, k - 1)
                    while place > 0 and load_f32(w.scores, place - 1) < value:
                        store_f32(w.scores, place, load_f32(w.scores, place - 1))
                        store_i64(w.columns, place, load_i64(w.columns, place - 1))
                        place -= 1
                    store_f32(w.scores, place, value)
                    store_i64(w.columns, place, first + i)
                    found = lesser(found + 1, k)
                    if found == k:
                        least = load_f32(w.scores, k - 1)
            j += 16
    w.found = found


@kernel
def take_scores(wanted: address, scores: address, first: count, length: count):
    """Reads float32 scores [length], a multiple of 16, of the columns from `first` on, a multiple of BLOCK.

    Blocks come in ascending order; each but the last one has a multiple of BLOCK.
    """
    w = at(WANTED, wanted, 0)
    for begin in range(0, length, BLOCK):
        block, size = scores + 4 * begin, lesser(BLOCK, length - begin)
        if w.normalized:
            top = add_powers(address_of(w.powers), block, size)
        else:
            peak = load(block, 0)
            for j in range(16, size, 16):
                peak = maximum(peak, load(block, j))
            top = largest(peak)
        if w.k > 0 and (w.found < w.k or top > load_f32(w.scores, w.k - 1)):
            insert_above(wanted, block, first + begin, size)
    if first <= w.only and w.only < first + length:
        store_f32(w.scores, 0, load_f32(scores, w.only - first))
    if first == 0 and w.found == 0 and w.only < 0 and w.barred != 0 and w.also_barred != 0:
        store_f32(w.scores, 0, load_f32(scores, 0))  # no score is a number


@kernel
def end_row(wanted: address) -> real:
    """Returns the log-sum-exp of the row if it is wanted, otherwise the best score.

    If no score is above LOWEST, the result is column 0.
    """
    w = at(WANTED, wanted, 0)
    if w.found == 0:
        w.found = 1
    return log_of_powers(address_of(w.powers)) if w.normalized else load_f32(w.scores, 0)
