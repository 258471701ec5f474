"""Locates pieces in a text, in code points, despite characters that normalization changes, joins and drops.

A span is (begin, end). White space belongs to no piece: its span is empty, or excludes the white space around it.
"""

import re
from collections.abc import Sequence

_WORD = "\u2581"  # SentencePiece's mark at the beginning of a word
_SPACES = " " + _WORD
_BYTE = re.compile("<0x([0-9A-F]{2})>")  # a piece of a vocabulary that falls back to bytes
_UNKNOWN = " \u2047 "  # what SentencePiece writes for <unk>
_SKIPPED = 16  # characters that are searched for a misplaced piece

Span = tuple[int, int]


def source_spans(text: str, pieces: Sequence[str], normalized: str, origins: Sequence[int]) -> list[Span]:
    """Returns the span of each piece of a text. The span of a part of a character is the whole character.

    Parameters
    ----------
    pieces : of the text; joined they are `normalized`, except for bytes
    normalized : the text as SentencePiece cuts it
    origins : position in the text of the origin of each character of `normalized`, and of its end
    """
    found, last = [], len(origins) - 1
    ends = _ends(origins)
    for begin, end in _walked(pieces, normalized):
        begin, end = _trimmed(normalized, begin, end)
        begin, end = min(begin, last), min(end, last)
        found.append(_trimmed(text, origins[begin], ends[end - 1] if end > begin else origins[begin]))
    return found


def _ends(origins: Sequence[int]) -> list[int]:
    """Returns the end of the origin of each character of a normalized text."""
    ends = list(origins[1:])
    for place in range(len(ends) - 2, -1, -1):
        if ends[place] == origins[place]:  # its neighbour comes from the same character
            ends[place] = ends[place + 1]
    return ends


def target_spans(pieces: Sequence[str], text: str) -> list[Span]:
    """Returns the spans in `text` of the pieces that it was made of; the span of a missing one is empty."""
    return [_trimmed(text, begin, end) for begin, end in _walked([piece.replace(_WORD, " ") for piece in pieces], text)]


def _walked(pieces: Sequence[str], text: str) -> list[Span]:
    """Returns the span of each piece in a text that joins these pieces, exactly or nearly."""
    spans: list[Span] = []
    at = left = 0  # left: bytes of the character at `at` that are still to come
    for piece in pieces:
        byte = _BYTE.fullmatch(piece)
        if byte and not text.startswith(piece, at):
            if left == 0:
                left = len(text[at : at + 1].encode(errors="replace"))
                if left == 0 or text[at].encode(errors="replace")[0] != int(byte[1], 16):
                    left = 0
                    spans.append((at, at))
                    continue
            spans.append((at, at + 1))
            left -= 1
            at += left == 0
            continue
        begin, end = _found(piece, text, at)
        spans.append((begin, end))
        at, left = end, 0
    return spans


def _found(piece: str, text: str, at: int) -> Span:
    """Returns the span of a piece that is expected at `at`."""
    if piece == "<unk>" and not text.startswith((piece, f" {piece}"), at):
        piece = _UNKNOWN
    for form in (piece, piece.lstrip(" "), piece.rstrip(" "), piece.strip(" ")):
        if text.startswith(form, at):
            return at, at + len(form)
    begin = text.find(piece.strip(" "), at, at + len(piece) + _SKIPPED)
    return (at, at) if begin < 0 else (begin, begin + len(piece.strip(" ")))


def _trimmed(text: str, begin: int, end: int) -> Span:
    while begin < end and (text[begin] in _SPACES or text[begin].isspace()):
        begin += 1
    while begin < end and (text[end - 1] in _SPACES or text[end - 1].isspace()):
        end -= 1
    return begin, end
