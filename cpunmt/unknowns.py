"""Pieces that are in no vocabulary, as text: SentencePiece keeps them where ids cannot."""

import numpy as np

from cpunmt.vocabulary import Vocabulary, _clean

_WORD = "\u2581"  # SentencePiece's mark at the beginning of a word


def surfaces(vocabulary: Vocabulary, text: str) -> list[str]:
    """The pieces of `text`, without </s>; an unknown one as it stands in the text."""
    return vocabulary._processor.encode(_clean(text), out_type=str)[:-1]


def text_of(vocabulary: Vocabulary, pieces: list[str]) -> str:
    """The text of pieces, whether the vocabulary has them or not."""
    unknown = [id_ == vocabulary.unk_id for id_ in vocabulary.ids(pieces)]
    # SentencePiece takes an unknown piece for text, in which there is no mark
    spaced = [_clean(p).replace(_WORD, " ") if u else p for p, u in zip(pieces, unknown, strict=True)]
    text = vocabulary._processor.decode(spaced)
    return text.removeprefix(" ") if unknown[:1] == [True] else text


def replaced(pieces, ids, unk_id: int, attention: np.ndarray, source_pieces) -> list[str]:
    """`pieces`, with the source piece that got most attention for each that is unknown."""
    best = attention.argmax(1)
    return [
        source_pieces[best[place]] if id_ == unk_id else piece
        for place, (id_, piece) in enumerate(zip(ids, pieces, strict=True))
    ]
