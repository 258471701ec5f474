"""Unknown pieces of a translation, replaced by what they stand for."""

import numpy as np


def replaced(pieces, ids, unk_id: int, attention: np.ndarray, source_pieces) -> list[str]:
    """`pieces`, with the source piece that got most attention for each that is unknown."""
    best = attention.argmax(1)
    return [
        source_pieces[best[place]] if id_ == unk_id else piece
        for place, (id_, piece) in enumerate(zip(ids, pieces, strict=True))
    ]
