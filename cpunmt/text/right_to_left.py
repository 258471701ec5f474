"""Reverses pieces for models trained on reversed sentences, which still end with </s>."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def reversed_pieces(pieces: Sequence[T], ended: bool = True) -> list[T]:
    """Reverses pieces, or values for each of them; if `ended`, the last one stays: </s>."""
    end = len(pieces) - 1 if ended else len(pieces)
    return [*pieces[:end][::-1], *pieces[end:]]
