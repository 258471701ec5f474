"""Where a sentence's past lies: its items by step, and what each of them attended to."""

from cpunmt.search.records import WORKSPACE
from cpunmt.simd.intrinsics import at
from cpunmt.simd.jit import address, count, kernel


@kernel
def item_place(workspace: address, slot: count, step: count, item: count) -> count:
    """Which of [slots, steps, beam] an item of a step is: its index in `history`, and among rows of `attention`."""
    w = at(WORKSPACE, workspace, 0)
    return (slot * w.steps + step) * w.beam + item


@kernel
def attention_address(workspace: address, slot: count, step: count, item: count) -> count:
    """Of float32 [source_stride]: what an item attended to when it was decoded; 0: that is not kept."""
    w = at(WORKSPACE, workspace, 0)
    if w.attention == 0:
        return 0
    return w.attention + 4 * w.source_stride * item_place(workspace, slot, step, item)
