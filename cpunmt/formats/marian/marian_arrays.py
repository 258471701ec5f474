"""Marian's arrays -> ours: under canonical names, checked, and put together where one of ours is made of several.

An output layer that is not tied is a table `NAME_Wt`, or in older files its transpose `NAME_W`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_file import StoredIntegers


class Piece(NamedTuple):
    """Columns of a vector: the sum of Marian's vectors of these names; of none, zeros."""

    names: tuple[str, ...]
    width: int


Sources = Mapping[str, "str | tuple[Piece, ...]"]  # canonical name -> Marian's array, or pieces side by side


def canonical_tensors(
    wanted: Mapping[str, tuple[int, ...]], arrays: Mapping, sources: Sources, where: str
) -> dict[str, "np.ndarray | StoredIntegers"]:
    """Marian's arrays under canonical names: float32, C order, vectors 1-D ([1, n] in Marian's older files), or
    integers as they are stored. `wanted`: the shape of each.

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped, non-float and non-finite array.
    """
    arrays = dict(arrays)
    output = sources.get("output", "")
    if output and output not in arrays and output.removesuffix("t") in arrays:
        arrays[output] = _transposed(arrays.pop(output.removesuffix("t")))
    shapes = dict(_shapes(sources, wanted, arrays))
    problems = [f"{name} is missing" for name in sorted(set(shapes) - set(arrays))]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - set(shapes))]
    found = {}
    for name, shape in shapes.items():
        if name not in arrays:
            continue
        array = arrays[name]
        if array.shape != shape and not (len(shape) == 1 and array.shape == (1, *shape)):
            problems.append(f"{name} has shape {array.shape}, expected {shape}")
        elif isinstance(array, StoredIntegers):
            found[name] = array
        elif array.dtype.kind != "f":
            problems.append(f"{name} has dtype {array.dtype}, expected a float")
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # too large a float64 becomes inf, caught below
                found[name] = np.array(array.reshape(shape), np.float32, order="C")
            if not np.isfinite(found[name]).all():
                problems.append(f"{name} holds NaN or infinity")
    if problems:
        raise ModelFileError(f"{where}: does not hold the parameters that its options ask for: {'; '.join(problems)}")
    tensors = {ours: _made(source, found) for ours, source in sources.items()}
    return tensors | {name: tensors[name].reshape(-1) for name in _COLUMNS if name in tensors}


_COLUMNS = ("attention.score",)  # vectors that are [n, 1] in Marian


def _shapes(sources, shapes, arrays) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(Marian's name, shape) of every array that is needed."""
    for ours, source in sources.items():
        if not isinstance(source, str):
            yield from ((name, (piece.width,)) for piece in source for name in piece.names)
        elif ours in _COLUMNS:
            yield source, (*shapes[ours], 1)
        elif ours == "positions" and source in arrays and len(arrays[source].shape) == 2:
            yield source, (max(1, arrays[source].shape[0]), shapes[ours][1])
        else:
            yield source, shapes[ours]


def _made(source, found):
    if isinstance(source, str):
        return found[source]
    columns = [sum((found[name] for name in piece.names), np.zeros(piece.width, np.float32)) for piece in source]
    return np.concatenate(columns)


def _transposed(array):
    if isinstance(array, StoredIntegers):
        return array._replace(transposed=not array.transposed)
    return np.ascontiguousarray(array.T)
