"""The tensors of a linear layer or a table in a packed file: their names, types and shapes.

A packed linear layer is some tensors (C = columns, padded to whole panels of 16; layouts: kernels/matmul/packing):

    NAME.weight      int8      int8 [C / 16, depth / 4, 16, 4]
                     int16     int16 [C / 16, depth / 2, 16, 2]
                     log4, code4    uint8 [C / 16, depth / 8, 16, 4]
                     float16, float32    float [C / 16, depth, 16]
    NAME.scale       float32 [C]       only for integers
    NAME.sums        int32 [C]         int8 only: sum of each column's integers
    NAME.bias        float32 [C]
    NAME.multiplier  float32 [1]       int8 and 4 bits, if activation_scales is "static": the factor of x before
                     rounding; scale and bias are those of schemes.int8.static_scales

A table has a row for each piece: it looks pieces up, and as the output layer it also has "output.bias" (float32).

    NAME.weight      int8, int16 or float [pieces, d], or uint8 [pieces, d / 2]: byte i holds columns i and i + d / 2
    NAME.scale       float32 [pieces]  of integers
    NAME.sums        int32 [pieces]    int8, output layer only
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.kernels.matmul.packing import BLOCK, GROUP, PAIR, PANEL, panels
from cpunmt.layers.schemes import CODEBOOKS, SCHEMES

_FLOAT32, _INT32 = np.dtype(np.float32), np.dtype(np.int32)
_STORED: dict[str, np.dtype] = {
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    **dict.fromkeys(CODEBOOKS, np.dtype(np.uint8)),
    "float16": np.dtype(np.float16),
    "float32": _FLOAT32,
}
Tensors = dict[str, tuple[np.dtype, tuple[int, ...]]]  # name -> dtype and shape


class Storage(NamedTuple):
    """How a matrix is stored: its scheme, and whether the model stores the scale of its input."""

    scheme: str
    static: bool


class Linear(NamedTuple):
    """y = x W + b, made of `parts`: (weight, bias or None) tensors of the checkpoint, side by side."""

    name: str
    parts: tuple[tuple[str, str | None], ...]
    depth: int
    widths: tuple[int, ...]  # columns of each part
    rectified: bool = False  # x is the output of a ReLU: not negative, and often 0

    @property
    def by_depth_bytes(self) -> int:
        """Returns the memory of the weights in the layout of 8-bit products that skip zeros: see packing.by_depth."""
        return self.depth * PANEL * BLOCK * -(-panels(self.columns) // BLOCK) if self.rectified else 0

    @property
    def columns(self) -> int:
        return sum(self.widths)

    def split(self, columns: np.ndarray) -> list[np.ndarray]:
        """Splits an array, whose last axis is `columns`, into an array for each part."""
        return np.split(columns, np.cumsum(self.widths)[:-1], axis=-1)


def linear(
    block: str, depth: int, parts: Mapping[str, int], name: str | None = None, without_bias: Collection[str] = ()
) -> Linear:
    """Makes the Linear `name` of a block from parts (name -> columns) side by side, with a bias unless in
    `without_bias`."""
    tensors = tuple(
        (f"{block}.{part}.weight", None if part in without_bias else f"{block}.{part}.bias") for part in parts
    )
    return Linear(f"{block}.{name or '_'.join(parts)}", tensors, depth, tuple(parts.values()))


def feed_forward_linears(
    block: str, d: int, width: int, depth: int, activation: str, last: bool = True, gated: bool = False
) -> dict[str, Linear]:
    """Makes `depth` affine maps from d to `width`, within `width`, and back: fields of FEED_FORWARD -> Linear.

    An activation, such as "relu", stands between two maps. `last` False leaves out the map back to d. `gated` adds a
    gate beside the first map.
    """
    first_parts = {"inner": width, "gate": width} if gated else {"inner": width}
    found = {"inner": linear(block, d, first_parts)} if depth > 1 else {}
    found |= {f"middle.{i}": linear(block, width, {f"middle.{i}": width}) for i in range(depth - 2)}
    if last:
        found["outer"] = linear(block, width if depth > 1 else d, {"outer": d})
    first = next(iter(found), None)  # reads the block's input
    rectified = activation == "relu" and not gated
    return {name: layer._replace(rectified=rectified and name != first) for name, layer in found.items()}


def linear_tensors(layers: Sequence[Linear], storage: Mapping[str, Storage]) -> Tensors:
    """Returns the tensors of packed linear layers, of which `storage` has each by its name."""
    counts = [panels(layer.columns) for layer in layers]
    found: Tensors = {}
    for layer, count in zip(layers, counts, strict=True):
        scheme, static = storage[layer.name]
        inside: tuple[int, ...] = {
            "int8": (layer.depth // GROUP, PANEL, GROUP),
            "int16": (layer.depth // PAIR, PANEL, PAIR),
            **dict.fromkeys(CODEBOOKS, (layer.depth // (2 * GROUP), PANEL, GROUP)),
        }.get(scheme, (layer.depth, PANEL))
        found[f"{layer.name}.weight"] = (_STORED[scheme], (count, *inside))
        found |= _beside(layer.name, scheme, count * PANEL, True)
        found[f"{layer.name}.bias"] = (_FLOAT32, (count * PANEL,))
        if static:
            found[f"{layer.name}.multiplier"] = (_FLOAT32, (1,))
    return found


def table_tensors(name: str, size: int, width: int, scheme: str, output: bool) -> Tensors:
    """Returns the tensors of a packed table of `size` rows; `output`: it is the output layer."""
    per_byte = 2 if scheme in CODEBOOKS else 1
    found: Tensors = {f"{name}.weight": (_STORED[scheme], (size, width // per_byte))}
    return found | _beside(name, scheme, size, output)


def _beside(name: str, scheme: str, size: int, sums: bool) -> Tensors:
    """Returns the additional tensors of integers."""
    found: Tensors = {f"{name}.scale": (_FLOAT32, (size,))} if SCHEMES[scheme] != "float32" else {}
    return found | ({f"{name}.sums": (_INT32, (size,))} if scheme == "int8" and sums else {})
