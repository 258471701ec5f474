"""The learning rate at each update."""

import math


def learning_rate(update: int, peak: float, warmup: int, total: int | None = None, cooldown: float = 0.0) -> float:
    """Returns the rate for updates from 1: linear up to `peak` in `warmup` updates, then falling with the inverse
    square root.

    Vaswani et al. 2017, section 5.3. With `total`, the last share `cooldown` of all updates falls linearly to 0.
    """
    rate = peak * min(update / warmup, math.sqrt(warmup / update)) if warmup else peak
    if total and cooldown:
        rate *= min(1.0, max(0.0, (total + 1 - update) / (cooldown * total)))
    return rate
