"""4 bits with the optimal levels for weights: weight = scale * level.

The levels are those of the best quantizer of a normal distribution with 16 of them (Max 1960,
https://doi.org/10.1109/TIT.1960.1057548, table I), the largest scaled to 127. A column's weights are close to normal:
levels that were fitted to a matrix were no better. They lose 6 decibels less than powers of two (`schemes.log4`), and
decoding costs the same. For everything else see `schemes.codebook`.
"""

import numpy as np

LEVELS = np.array([-127, -96, -75, -58, -44, -31, -18, -6, 6, 18, 31, 44, 58, 75, 96, 127], np.int8)
