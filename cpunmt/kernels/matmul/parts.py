"""Parts of a layer: LINEAR records of some of its panels."""

import numpy as np

from cpunmt.kernels.records import LINEAR, WEIGHT_BYTES
from cpunmt.simd.intrinsics import at, lesser
from cpunmt.simd.jit import address, count, kernel

_WEIGHT_BYTES = np.array(WEIGHT_BYTES)


@kernel
def cut_panels(weights: address, first: count, panels: count, part: address) -> count:
    """Makes `part` a LINEAR record of at most `panels` panels of a layer, from `first` on; returns their number."""
    w, p = at(LINEAR, weights, 0), at(LINEAR, part, 0)
    bytes_before = 16 * first * w.depth * _WEIGHT_BYTES[w.scheme]
    p.scheme, p.depth, p.panels = w.scheme, w.depth, lesser(panels, w.panels - first)
    p.weights, p.codes, p.levels = 0, 0, w.levels
    if w.weights != 0:
        p.weights = w.weights + bytes_before
    if w.codes != 0:
        p.codes = w.codes + bytes_before // 2
    p.scales, p.start = w.scales + 64 * first, w.start + 64 * first
    p.totals, p.bias = w.totals + 64 * first, w.bias + 64 * first
    p.by_depth, p.next, p.next_bytes, p.sparse_start = 0, 0, 0, 0
    p.multiplier = w.multiplier
    return p.panels
