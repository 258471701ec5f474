"""Alignments: pairs of source and target pieces, read from an attention matrix, and their text.

An attention matrix is float32 [target pieces, source pieces]: the share of its attention that each target piece gave to
each source piece. It has no </s>, so a row may sum up to less than one. For a text translated in parts the matrix is
block-diagonal. Only its blocks, here called parts, are stored, because the whole matrix grows with the square of the
text.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float32]]
Parts = Sequence[Matrix]  # of one text, in the order of source and target


def whole_matrix(parts: Parts) -> Matrix:
    """Returns the matrix of a text, with zeros outside its parts; the matrix of a single part is that part."""
    if len(parts) == 1:
        return parts[0]
    rows, columns = (sum(part.shape[axis] for part in parts) for axis in (0, 1))
    whole = np.zeros((rows, columns), np.float32)
    for part, row, column in _placed(parts):
        whole[row : row + part.shape[0], column : column + part.shape[1]] = part
    return whole


def matrix_rows(parts: Parts) -> Iterator[list[float]]:
    """Yields the rows of that matrix, one at a time."""
    columns = sum(part.shape[1] for part in parts)
    for part, _, column in _placed(parts):
        before, after = [0.0] * column, [0.0] * (columns - column - part.shape[1])
        for row in part.tolist():
            yield [*before, *row, *after]


def _placed(parts: Parts) -> Iterator[tuple[Matrix, int, int]]:
    """Yields each part with the row and column where it begins."""
    row = column = 0
    for part in parts:
        yield part, row, column
        row, column = row + part.shape[0], column + part.shape[1]


def hard_alignment(parts: Parts) -> list[tuple[int, int]]:
    """Returns pairs (source piece, target piece), ascending: each target piece with the source piece of its part that
    got most of its attention, the first of equals."""
    pairs: list[tuple[int, int]] = []
    for part, row, column in _placed(parts):
        if part.shape[1]:
            pairs += sorted((column + source, row + target) for target, source in enumerate(part.argmax(1).tolist()))
    return pairs


def threshold_alignment(parts: Parts, threshold: float) -> list[tuple[int, int]]:
    """Returns all pairs (source piece, target piece) with more attention than `threshold` (at least 0), ascending."""
    pairs: list[tuple[int, int]] = []
    for part, row, column in _placed(parts):
        sources, targets = np.nonzero((part > threshold).T)
        pairs += zip((sources + column).tolist(), (targets + row).tolist(), strict=True)
    return pairs


def pharaoh_text(pairs: list[tuple[int, int]]) -> str:
    """Formats pairs of source and target as `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def soft_text(parts: Parts) -> Iterator[str]:
    """Yields each target piece's attention to all source pieces, `0.9,0.1 0.2,0.8`, one chunk of text for each."""
    columns = sum(part.shape[1] for part in parts)
    gap = ""
    for part, _, column in _placed(parts):
        before, after = "0," * column, ",0" * (columns - column - part.shape[1])
        for row in part.tolist():
            yield f"{gap}{before}{','.join(f'{value:g}' for value in row)}{after}"
            gap = " "


def alignment_text(parts: Parts, kind: str | float) -> Iterator[str]:
    """Formats an alignment of pieces as Marian writes it: `kind` is "hard", "soft" or a threshold."""
    if kind == "soft":
        return soft_text(parts)
    pairs = hard_alignment(parts) if isinstance(kind, str) else threshold_alignment(parts, kind)
    return iter([pharaoh_text(pairs)])


def alignment_kind(text: str) -> str | float:
    """Parses the value of --alignment: "hard", "soft" or a threshold; 1 is "hard", as in Marian."""
    if text in ("hard", "soft"):
        return text
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise ValueError(f"{text!r} is not a kind of alignment, expected 'hard', 'soft' or a number from 0 to 1")
    return "hard" if threshold == 1 else threshold
