"""The shapes of the register tiles: for each instruction set, the sums fill the registers that operands leave free.

A new instruction set needs a row here, with measured shapes.
"""

from typing import NamedTuple

import numpy as np

from cpunmt.simd import isa
from cpunmt.simd.isa import Isa


class Shapes(NamedTuple):
    """The tiles of one kind of product.

    panels       {rows of a tile: panels at a time}
    tile_rows    most rows of a tile, with the panels of that number, if there are more rows than `panels` lists
    """

    panels: dict[int, int]
    tile_rows: int

    @property
    def alone(self) -> np.ndarray:
        """Returns the panels at a time if one tile holds all rows, by the number of rows, from 1 on."""
        return np.array([self.panels[rows] for rows in sorted(self.panels)])

    @property
    def most_sums(self) -> int:
        """The largest number of sums of a tile, each a vector of 16 columns."""
        return max(rows * panels for rows, panels in self.panels.items())

    def every(self) -> list[tuple[int, int]]:
        """Returns all (rows, panels) that a product needs: each shape, the shape with one panel, and for rows up to
        `tile_rows` the shape with its panels."""
        found = {(rows, width) for rows, panels in self.panels.items() for width in (panels, 1)}
        return sorted(found | {(rows, self.panels[self.tile_rows]) for rows in range(1, self.tile_rows + 1)})


SLOTS = 16  # sentences that are decoded in parallel


class _Row(NamedTuple):
    int8: Shapes
    int16: Shapes
    float32: Shapes
    # 4-bit weights are for few rows, one panel at a time: decoding them costs instructions and saves half of the
    # reading. Without vpdpbusd even one row is bound by its instructions, and with sdot nearly. The second number is
    # for weights too large for a core's own cache (CODED_FAR): reading them takes four times as long.
    coded_rows: tuple[int, int]
    # Up to this many rows read the weights of one panel as a stream, see simd/tile.
    stream_rows: int
    # Attention heads whose single rows are multiplied side by side, {panels of each: heads}: enough chains to hide a
    # fma's latency. If a head's panels are neighbours, all of them are taken at once, so the weights are one stream.
    heads: dict[int, int]
    # Panels that a sparse row (simd/sparse_tile) multiplies in one walk down its list; a power of two.
    sparse_panels: int
    # A product is sparse if at most this share of the activations is positive: of one row, of two, ..., the last for
    # all larger numbers; from bench/sparse_product.
    sparse_shares: tuple[float, ...]
    # From this many rows on int8 products use matrix registers (simd/matrix_tile); 0: never.
    matrix_rows: int = 0
    # Up to this many hypotheses each, parallel sentences share an output layer (search/output/layer). With more, those
    # of one sentence are enough rows for its own layer, and picking logits costs more than sharing saves.
    together: int = 0
    # It is over the candidates that more than this share of the sentences has; 0: over all of them. There a column
    # costs the work of all rows. In a sentence's own layer it costs the work of one, which is bound by reading. Only
    # measured with AVX512-VNNI.
    common_share: float = 0.4
    # Whether weights that are there as codes alone are decoded in registers for any number of rows. With AVX512-VNNI
    # that costs 4 to 8 % of a bulk translation, decoding panels first 8 to 12 %; matrix registers need panels.
    codes_in_registers: bool = False
    # Sentences that are decoded side by side by int8 products: with more their keys and values leave the L2 cache, with
    # fewer each reads a larger share of the weights. Other schemes lack matrix registers: see SLOTS.
    int8_slots: int = SLOTS
    # The same of a model whose weights leave the caches at each step (model.tensors.LARGE). On AVX2, whose products are
    # bound by instructions even so, it makes no difference.
    large_slots: int = SLOTS


_VNNI512 = Shapes({8: 3, 7: 3, 6: 4, 5: 4, 4: 4, 3: 4, 2: 1, 1: 1}, tile_rows=6)
_WORDS512 = Shapes({8: 3, 7: 2, 6: 3, 5: 4, 4: 4, 3: 4, 2: 1, 1: 1}, tile_rows=5)  # 6 x 4 and 7 x 3: half the speed
_FLOAT512 = Shapes({**dict.fromkeys(range(12, 6, -1), 2), **dict.fromkeys(range(6, 0, -1), 4)}, tile_rows=12)
_SIX_ROWS = Shapes({6: 1, 5: 1, 4: 1, 3: 1, 2: 2, 1: 1}, tile_rows=6)
_FOUR_ROWS = Shapes({4: 1, 3: 1, 2: 2, 1: 1}, tile_rows=4)
_FLOAT256 = Shapes({6: 1, 5: 1, 4: 1, 3: 1, 2: 2, 1: 4}, tile_rows=6)
_TWO_ROWS = Shapes({2: 1, 1: 2}, tile_rows=2)
# 32 registers of 16 bytes, of which 24 are sums: the rest holds six rows and two registers of weights. Unzipped
# words need two more; bytes that are added up in 16 bits need two sums for each column.
_ARM = Shapes({6: 1, 5: 1, 4: 1, 3: 2, 2: 1, 1: 1}, tile_rows=6)
_ARM_WORDS = Shapes({5: 1, 4: 1, 3: 1, 2: 1, 1: 1}, tile_rows=5)
_ARM_BYTES = Shapes({2: 1, 1: 1}, tile_rows=2)
_ARM_FLOAT = Shapes({6: 1, 5: 1, 4: 1, 3: 1, 2: 2, 1: 4}, tile_rows=6)

_HEADS512, _HEADS256 = {1: 8, 2: 8, 4: 4}, {1: 4, 2: 2, 4: 1}
_SPARSE512 = {"sparse_panels": 16, "sparse_shares": (0.6, 0.4, 0.3, 0.25, 0.2)}
_SPARSE256 = {"sparse_panels": 4, "sparse_shares": (0.5, 0.4)}
_SPARSE_VNNI = {"sparse_panels": 4, "sparse_shares": (0.6, 0.4, 0.25)}

# By counting instructions: of 16 columns by 4 depths a sparse row takes 12, a dense one 4.
_SPARSE_ARM = {"sparse_panels": 4, "sparse_shares": (0.4, 0.3, 0.25)}

# With matrix registers dense products of many rows are several times as fast.
_SPARSE_AMX = {
    "sparse_panels": 16,
    "sparse_shares": (0.6, 0.4, 0.3, 0.25, *[0.25] * 4, *[0.2] * 4, *[0.15] * 8, *[0.1] * 20, 0.07),
}

_ROWS = {
    Isa.AMX_INT8: _Row(
        _VNNI512,
        _WORDS512,
        _FLOAT512,
        (4, 6),
        2,
        _HEADS512,
        **_SPARSE_AMX,
        matrix_rows=5,
        together=64,
        common_share=0.0,
        int8_slots=32,
        large_slots=32,
    ),
    Isa.AVX512_VNNI: _Row(
        _VNNI512,
        _WORDS512,
        _FLOAT512,
        (4, 6),
        2,
        _HEADS512,
        **_SPARSE512,
        together=3,
        codes_in_registers=True,
        large_slots=32,
    ),
    Isa.AVX_VNNI: _Row(_SIX_ROWS, _SIX_ROWS, _FLOAT256, (1, 1), 1, _HEADS256, **_SPARSE_VNNI, together=1),
    Isa.AVX2: _Row(_FOUR_ROWS, _SIX_ROWS, _FLOAT256, (0, 0), 1, _HEADS256, **_SPARSE256),
    Isa.I8MM: _Row(_ARM, _ARM_WORDS, _ARM_FLOAT, (0, 1), 2, _HEADS256, **_SPARSE_ARM, together=1),
    Isa.DOTPROD: _Row(_ARM, _ARM_WORDS, _ARM_FLOAT, (0, 1), 2, _HEADS256, **_SPARSE_ARM, together=1),
    Isa.NEON: _Row(_ARM_BYTES, _ARM_WORDS, _ARM_FLOAT, (0, 0), 2, _HEADS256, **_SPARSE256),
    Isa.GENERIC: _Row(_FOUR_ROWS, _FOUR_ROWS, _TWO_ROWS, (0, 0), 1, _HEADS256, **_SPARSE256),
}

_row = _ROWS[isa.current()]
INT8, INT16, FLOAT32, (CODED_ROWS, CODED_ROWS_FAR), STREAM_ROWS, HEADS = _row[:6]
SPARSE_PANELS, SPARSE_SHARES, MATRIX_ROWS, TOGETHER, COMMON_SHARE, CODES_IN_REGISTERS = _row[6:12]
INT8_SLOTS, LARGE_SLOTS = _row[12:]

CODED_FAR = 1 << 20  # int8 weights of a product, from which on CODED_ROWS_FAR holds
CODED_SHAPES = [(rows, 1) for rows in range(1, CODED_ROWS_FAR + 1)]
# (heads, panels): powers of two up to HEADS
HEAD_SHAPES = [(heads, panels) for panels, most in HEADS.items() for heads in (1, 2, 4, 8) if heads <= most]
