"""Memory layout of packed weights, defined only here. NumPy only.

A weight matrix [depth, columns] is cut into panels of 16 columns, one vector register of sums. For 8-bit
products four consecutive depths of a column lie side by side, as the instructions take them:

    letter = column, digit = depth           int8 [panels, depth / 4, 16, 4], memory order left to right

          columns                            panel 0, group 0 (64 bytes)
          a   b   c  ..  p | q  ..           a0 a1 a2 a3  b0 b1 b2 b3  ..  p0 p1 p2 p3
    d 0   a0  b0  c0     p0| q0              panel 0, group 1
    e 1   a1  b1  c1     p1| q1              a4 a5 a6 a7  b4 b5 b6 b7  ..  p4 p5 p6 p7
    p 2   a2  b2  c2     p2| q2              ..
    t 3   a3  b3  c3     p3| q3              panel 1, group 0
    h 4   a4  b4  c4     p4| q4              q0 q1 q2 q3  ..

16-bit products take two depths: int16 [panels, depth / 2, 16, 2]. Float weights have no groups: float32
[panels, depth, 16].

4-bit weights are codes from 0 to 15, two in a byte: that of group 2 j in its lower half, that of group 2 j + 1 in its
upper half. So a block of 64 bytes is two groups, in the order that the 8-bit product wants: bytes [panels,
depth / 8, 16, 4].

If only some rows of a matrix are read (sparse_matmul), each row is contiguous: int8 [depth, 64 * blocks]. A block is 64
columns, four panels, in the order that the shuffles of `simd/sparse_tile` turn into the order of columns: 16 bytes are
four columns of each panel.

    row                                      a0 b0 c0 d0  q0 r0 s0 t0  4 columns of panel 2, of panel 3  e0 f0 g0 h0  ..

Columns are padded with zeros to whole panels; depths are multiples of 16 in every model (`config` checks).
The layout is the same for every instruction set, so a packed model runs everywhere.
"""

import numpy as np

PANEL = 16  # columns
LINE = 64  # bytes of a cache line
BLOCK = 4  # panels in 64 columns of a contiguous row
HALF_LEVELS = (16 * np.arange(16) - 120).astype(np.int8)  # of the upper halves of int8: see kernels/high_halves
GROUP, PAIR = 4, 2  # depths that lie side by side in panels of int8, of int16
ROOM = 1 << 17  # bytes of weights that are decoded at a time: most of them fit the L2 cache beside the rows,
ROOM_PANELS = 4  # but at least this many panels


def panels(columns: int) -> int:
    """Returns the number of panels that hold `columns` columns."""
    return -(-columns // PANEL)


def room_bytes(depth: int) -> int:
    """Returns the bytes for decoded weights of layers of at most this depth."""
    return max(ROOM, ROOM_PANELS * PANEL * depth)


def padded(vector: np.ndarray) -> np.ndarray:
    """Pads `vector` [columns] with zeros to whole panels."""
    return np.pad(vector, (0, panels(len(vector)) * PANEL - len(vector)))


def pack(weights: np.ndarray) -> np.ndarray:
    """Packs int8, int16 or float32 [depth, columns] as above. `depth` must be a multiple of a group's.

    A group is four bytes of any type.
    """
    (depth, columns), group = weights.shape, 4 // weights.dtype.itemsize
    full = np.zeros((depth, panels(columns) * PANEL), weights.dtype)
    full[:, :columns] = weights
    packed: np.ndarray = np.ascontiguousarray(full.reshape(depth // group, group, -1, PANEL).transpose(2, 0, 3, 1))
    return packed if group > 1 else packed[..., 0]


def unpack(packed: np.ndarray, columns: int) -> np.ndarray:
    """Inverts `pack`; returns [depth, columns]."""
    grouped = packed if packed.ndim == 4 else packed[..., None]
    count, groups, _, group = grouped.shape
    found: np.ndarray = grouped.transpose(1, 3, 0, 2).reshape(groups * group, count * PANEL)[:, :columns]
    return found


def by_depth(packed: np.ndarray) -> np.ndarray:
    """Lays out int8 panels, as returned by `pack`, by depth: [depth, 64 * blocks]."""
    count, groups, _, _ = packed.shape
    blocks = -(-count // BLOCK)
    if count % BLOCK:
        packed = np.concatenate([packed, np.zeros((blocks * BLOCK - count, *packed.shape[1:]), np.int8)])
    columns: np.ndarray = packed.view(np.int32).reshape(blocks, BLOCK, groups, 4, 4)  # of panels four by four
    columns = np.ascontiguousarray(columns.transpose(2, 0, 3, 1, 4)).view(np.int8).reshape(groups, -1, GROUP)
    found = _aligned((groups, GROUP, columns.shape[1]))
    for depth in range(GROUP):
        found[:, depth] = columns[:, :, depth]
    return found.reshape(groups * GROUP, -1)


def _aligned(shape: tuple[int, ...]) -> np.ndarray:
    """Makes an int8 array aligned to a cache line: one across two lines is read at half the speed."""
    memory = np.empty(int(np.prod(shape)) + LINE, np.int8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : memory.size - LINE + begin].reshape(shape)


def pack_codes(codes: np.ndarray) -> np.ndarray:
    """Packs codes from 0 to 15, uint8 [depth, columns], as uint8 [panels, depth / 8, 16, 4]; depth a multiple of 8."""
    groups = pack(codes)
    found: np.ndarray = groups[:, 0::2] | groups[:, 1::2] << 4
    return found


def unpack_codes(packed: np.ndarray, columns: int) -> np.ndarray:
    """Inverts `pack_codes`; returns uint8 [depth, columns]."""
    count, blocks, _, _ = packed.shape
    return unpack(np.stack([packed & 15, packed >> 4], axis=2).reshape(count, 2 * blocks, PANEL, GROUP), columns)
