"""The past of a sentence: its items by step, and the attention of each."""

from cpunmt.search.records import WORKSPACE
from cpunmt.simd.intrinsics import at
from cpunmt.simd.jit import address, count, kernel


@kernel
def item_place(workspace: address, slot: count, step: count, item: count) -> count:
    """Returns the index of an item of a step in [slots, steps, beam]: in `history`, and among rows of `attention`."""
    w = at(WORKSPACE, workspace, 0)
    return (slot * w.steps + step) * w.beam + item


@kernel
def attention_address(workspace: address, slot: count, step: count, item: count) -> count:
    """Returns the address of float32 [source_stride]: an item's attention when it was decoded; 0 if not stored."""
    w = at(WORKSPACE, workspace, 0)
    if w.attention == 0:
        return 0
    return w.attention + 4 * w.source_stride * item_place(workspace, slot, step, item)
