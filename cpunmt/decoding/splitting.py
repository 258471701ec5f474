"""Splits sentences longer than the model takes, at the best places, so that no text is lost silently.

Works on pieces, not on text: the model's limit counts pieces, and no piece changes.
"""

_SENTENCE_ENDS = tuple(".!?\u2026\u3002\uff01\uff1f\u061f\u0964")
_CLAUSE_ENDS = tuple(",;:\u2013\u2014)\u3001\uff0c\uff1b\uff1a\u060c")
_UNSPACED = tuple("\u3002\uff01\uff1f\u3001\uff0c")  # no space follows these
_JOINT = "@@"  # ends a subword that is not the last one of its word, where no mark begins words
_INSIDE_WORD, _BETWEEN_WORDS, _CLAUSE, _SENTENCE = range(4)


def split_pieces(pieces: list[str], limit: int, mark: str) -> list[int]:
    """Finds where to cut `pieces` so that no part has more than `limit` of them.

    Returns the beginnings of the parts after the first, ascending. Each cut takes the best place in the second half of
    the longest possible part: the last end of a sentence, else of a clause; else between words, else anywhere, as near
    as possible to an even division, so that no short rest remains. A word begins where a piece begins with `mark`.
    """
    cuts, begin = [], 0
    while len(pieces) - begin > limit:
        remaining = len(pieces) - begin
        parts = -(-remaining // limit)
        even = begin + -(-remaining // parts)
        cut = max(
            range(begin + (limit + 1) // 2, begin + limit + 1),
            key=lambda place: _preference(_quality(pieces, place, mark), place, even),
        )
        cuts.append(cut)
        begin = cut
    return cuts


def _preference(quality: int, place: int, even: int) -> tuple[int, int]:
    return quality, place if quality >= _CLAUSE else -abs(place - even)


def _quality(pieces: list[str], place: int, mark: str) -> int:
    """Rates a cut before piece `place`."""
    before, after = pieces[place - 1], pieces[place]
    if not (after.startswith(mark) or before.endswith(_UNSPACED)) or (not mark and before.endswith(_JOINT)):
        return _INSIDE_WORD
    if before.endswith(_SENTENCE_ENDS):
        return _SENTENCE
    return _CLAUSE if before.endswith(_CLAUSE_ENDS) else _BETWEEN_WORDS


def joined(texts: list[str]) -> str:
    """Joins the translations of the parts to one sentence."""
    return " ".join(text for text in texts if text)
