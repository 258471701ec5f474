"""Which source piece a target piece comes from: pairs out of an attention matrix, and their text.

An attention matrix is float32 [target pieces, source pieces]: how much of its attention each target piece gave to
each source piece. </s> is in neither, so a row may sum up to less than one. Text is that of Marian's --alignment.
"""

import numpy as np


def hard_alignment(attention: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (source piece, target piece), ascending: for each target piece the first with the most attention."""
    if attention.shape[1] == 0:
        return []
    return sorted(zip(attention.argmax(1).tolist(), range(len(attention)), strict=True))


def threshold_alignment(attention: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    """Pairs (source piece, target piece), ascending, of all with more attention than `threshold`."""
    sources, targets = np.nonzero((attention > threshold).T)
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


def pharaoh_text(pairs: list[tuple[int, int]]) -> str:
    """`0-0 1-2`: source and target of each pair."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def soft_text(attention: np.ndarray) -> str:
    """Each target piece's attention to all source pieces, as `0.9,0.1 0.2,0.8`."""
    return " ".join(",".join(f"{value:g}" for value in row) for row in attention.tolist())


def alignment_text(attention: np.ndarray, kind: str | float) -> str:
    """Text of an alignment: `kind` is "hard", "soft" or a threshold."""
    if kind == "soft":
        return soft_text(attention)
    return pharaoh_text(hard_alignment(attention) if kind == "hard" else threshold_alignment(attention, kind))


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


def joined_attention(parts: list[np.ndarray]) -> np.ndarray:
    """The matrix of a sentence from those of its parts, one after the other in source and target."""
    if len(parts) == 1:
        return parts[0]
    rows, columns = np.sum([part.shape for part in parts], axis=0)
    whole = np.zeros((rows, columns), np.float32)
    row = column = 0
    for part in parts:
        whole[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return whole
