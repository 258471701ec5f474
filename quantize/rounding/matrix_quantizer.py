"""The scheme of each matrix, and the rounding of its float32 weights."""

import fnmatch
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from cpunmt.errors import CpunmtError
from cpunmt.layers.schemes import CODEBOOKS, codebook, int8
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import matrices, tables
from quantize.rounding.calibration import InputStatistics
from quantize.rounding.ranges import Range, quantize
from quantize.rounding.rounding import DAMPING, damped, descend, fitted_scales, round_with_feedback

# An error in a table that also embeds pieces reaches the encoder and the decoder directly, whatever the output layer's
# input: see `rounding.damped`.
LOOKED_UP = 1.0
_ROUNDS = 2  # of fitting scales to integers and integers to scales; 4 bits. A third would gain one percent


def exceptions(config: ModelConfig, kept: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns name of a matrix -> its scheme, from (pattern, scheme); the last match counts.

    Patterns are those of the shell: "output", "decoder.*", "*.feed_forward.*". Raises CpunmtError for one without a
    match.
    """
    names = matrices(config)
    found: dict[str, str] = {}
    for pattern, scheme in kept:
        matching = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not matching:
            raise CpunmtError(f"--keep {pattern}={scheme}: no matrix is called so; there are {', '.join(names)}")
        found |= dict.fromkeys(matching, scheme)
    return found


def matrix_quantizer(
    config: ModelConfig, chosen: Range, statistics: Mapping[str, InputStatistics] | None = None
) -> Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]]:
    """Returns the `quantizer` of `conversion.packed_tensors`.

    With `statistics` int8 and 4-bit matrices are rounded so that their products with such inputs change least. int16
    loses so little that it is rounded plainly, which keeps the sums that prove the absence of overflow.
    """
    roles = tables(config)
    looked_up = {roles["source"], roles["target"]}

    def quantizer(name: str, weights: Any, scheme: str) -> Any:
        q, scales = quantize(weights, scheme, chosen)
        known = (statistics or {}).get(name)
        if known is None or scheme == "int16":
            return q, scales
        h = damped(known.moments, LOOKED_UP if name in looked_up else DAMPING)
        nearest = int8.nearest
        if scheme in CODEBOOKS:
            levels = CODEBOOKS[scheme]
            nearest = lambda x: codebook.nearest(x, levels)  # noqa: E731
        q = round_with_feedback(weights, scales, h, nearest)
        for _ in range(_ROUNDS if scheme in CODEBOOKS else 1):
            if scheme in CODEBOOKS and not chosen.per_tensor:
                scales = fitted_scales(weights, q, scales, h)
            q = descend(weights, q, scales, h, nearest)
        return q, scales

    return quantizer
