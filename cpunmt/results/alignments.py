"""Which source piece a target piece comes from: pairs out of an attention matrix, and their text.

An attention matrix is float32 [target pieces, source pieces]: how much of its attention each target piece gave to
each source piece. </s> is in neither, so a row may sum up to less than one. Of a text that was translated in parts it
is block-diagonal, and is kept as its blocks, here called parts: a whole matrix grows with the square of the text.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float32]]
Parts = Sequence[Matrix]  # of one text, in the order of source and target


def whole_matrix(parts: Parts) -> Matrix:
    """The matrix of a text: zeros, but where a part is; of one part that part itself."""
    if len(parts) == 1:
        return parts[0]
    rows, columns = (sum(part.shape[axis] for part in parts) for axis in (0, 1))
    whole = np.zeros((rows, columns), np.float32)
    for part, row, column in _placed(parts):
        whole[row : row + part.shape[0], column : column + part.shape[1]] = part
    return whole


def matrix_rows(parts: Parts) -> Iterator[list[float]]:
    """The rows of that matrix, one at a time."""
    columns = sum(part.shape[1] for part in parts)
    for part, _, column in _placed(parts):
        before, after = [0.0] * column, [0.0] * (columns - column - part.shape[1])
        for row in part.tolist():
            yield [*before, *row, *after]


def _placed(parts: Parts) -> Iterator[tuple[Matrix, int, int]]:
    """Each part, and the row and column where it begins."""
    row = column = 0
    for part in parts:
        yield part, row, column
        row, column = row + part.shape[0], column + part.shape[1]


def hard_alignment(parts: Parts) -> list[tuple[int, int]]:
    """Pairs (source piece, target piece), ascending: for each target piece that of its part with most attention.

    Of equals it is the first.
    """
    pairs: list[tuple[int, int]] = []
    for part, row, column in _placed(parts):
        if part.shape[1]:
            pairs += sorted((column + source, row + target) for target, source in enumerate(part.argmax(1).tolist()))
    return pairs


def threshold_alignment(parts: Parts, threshold: float) -> list[tuple[int, int]]:
    """Pairs (source piece, target piece), ascending, of all with more attention than `threshold`, at least 0."""
    pairs: list[tuple[int, int]] = []
    for part, row, column in _placed(parts):
        sources, targets = np.nonzero((part > threshold).T)
        pairs += zip((sources + column).tolist(), (targets + row).tolist(), strict=True)
    return pairs


def pharaoh_text(pairs: list[tuple[int, int]]) -> str:
    """`0-0 1-2`: source and target of each pair."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def soft_text(parts: Parts) -> Iterator[str]:
    """Each target piece's attention to all source pieces, as `0.9,0.1 0.2,0.8`, a piece of text for each."""
    columns = sum(part.shape[1] for part in parts)
    gap = ""
    for part, _, column in _placed(parts):
        before, after = "0," * column, ",0" * (columns - column - part.shape[1])
        for row in part.tolist():
            yield f"{gap}{before}{','.join(f'{value:g}' for value in row)}{after}"
            gap = " "


def alignment_text(parts: Parts, kind: str | float) -> Iterator[str]:
    """Text of an alignment, in pieces, as Marian writes it: `kind` is "hard", "soft" or a threshold."""
    if kind == "soft":
        return soft_text(parts)
    pairs = hard_alignment(parts) if isinstance(kind, str) else threshold_alignment(parts, kind)
    return iter([pharaoh_text(pairs)])


def alignment_kind(text: str) -> str | float:
    """What --alignment is followed by: "hard", "soft" or a threshold; 1 is "hard", as in Marian."""
    if text in ("hard", "soft"):
        return text
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise ValueError(f"{text!r} is no kind of alignment, expected 'hard', 'soft' or a number from 0 to 1")
    return "hard" if threshold == 1 else threshold
