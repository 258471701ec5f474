"""4 bits as a sign and a power of two: weight = scale * level, with levels 0, +-1, +-2, +-4, ... +-64.

Kim et al. 2019, "From Research to Production and Back" (https://aclanthology.org/D19-5632), section 6.1; Aji and
Heafield 2020, "Compressing Neural Machine Translation Models with 4-bit Precision"
(https://aclanthology.org/2020.ngt-1.4). For everything else see `schemes.codebook`.
"""

import numpy as np

# three bits of exponent and a sign; number 8, a negative zero, is not used
LEVELS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 0, -1, -2, -4, -8, -16, -32, -64], np.int8)
