"""Gives </s> and <unk> of a source vocabulary the ids that the target's have: a model has one of each.

In OpenNMT's models of two vocabularies <unk> may be the last piece of each, and sources may lack </s>. The rows of the
source's embeddings move with their pieces; those of pieces that are added are zero, and never read.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight


def with_ids(pieces: Mapping[str, int], wanted: Mapping[str, int]) -> tuple[Mapping[str, int], Sequence[int]]:
    """Returns the ids of `pieces`, in which those of `wanted` have their ids there and others took theirs; and for each
    id its row in the stored embedding, -1 for an added piece."""
    rows: Sequence[int] = range(len(pieces))
    if all(pieces.get(piece) == id_ for piece, id_ in wanted.items()):
        return pieces, rows
    rows, found = list(rows), dict(pieces)
    for piece, id_ in wanted.items():
        if piece not in found:
            found[piece] = len(rows)
            rows.append(-1)
        rows += [-1] * (id_ + 1 - len(rows))
        old = found[piece]
        if old != id_:
            other = next((name for name, its in found.items() if its == id_), None)
            if other is not None:
                found[other] = old
            found[piece] = id_
            rows[old], rows[id_] = rows[id_], rows[old]
    return found, rows


def moved(table: Weight, rows: Sequence[int]) -> Weight:
    """Returns an embedding with these rows of it, as `with_ids` returns them."""
    order = np.array(rows)
    if not isinstance(table, StoredIntegers):
        return _chosen(table, order)
    values = _chosen(table.values, order)
    if isinstance(table.multiplier, float):
        return StoredIntegers(values, table.multiplier)
    return StoredIntegers(values, np.ascontiguousarray(table.multiplier[order]))


def _chosen(table: Array, order: Array) -> Array:
    made: Array = table[order]
    made[order < 0] = 0
    return made
