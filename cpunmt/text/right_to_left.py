"""What a model that was trained on reversed sentences reads and says, which has its </s> at the end all the same."""

from collections.abc import Sequence


def reversed_pieces(pieces: Sequence, ended: bool = True) -> list:
    """Pieces, or what belongs to each of them, the other way round; if `ended`, the last one stays: </s>."""
    end = len(pieces) - 1 if ended else len(pieces)
    return [*pieces[:end][::-1], *pieces[end:]]
