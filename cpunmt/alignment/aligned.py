"""What the layers of a text hand to one another: a text, its translation, and which part of it became which.

A layer takes texts and gives an `Aligned` for each, whose `source` is the text as it was given. It may change what the
layer below is given (cut it into sentences, put a stand-in for an URL) and maps the offsets back. The lowest layer
translates single sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpunmt.text.piece_spans import Span as Span  # begin and end, in code points

if TYPE_CHECKING:
    from cpunmt.results.results import Result


class Aligned(NamedTuple):
    """A translation. Without alignment `source_spans`, `target_spans` and `links` are empty.

    source        the text that was given
    target        its translation
    source_spans  where each source piece stands in `source`, ascending; a piece may have no characters
    target_spans  the same of each target piece in `target`
    links         (source piece, target piece), ascending by target piece: what each comes from, most of all
    found         what the engine found, with its scores; a layer that changes the texts hands it on as it is
    kept          (span of the source, span of the target) of parts that were not translated, ascending in the target;
                  both spans have the same characters
    """

    source: str
    target: str
    source_spans: Sequence[Span] = ()
    target_spans: Sequence[Span] = ()
    links: Sequence[tuple[int, int]] = ()
    found: Result | None = None
    kept: Sequence[tuple[Span, Span]] = ()


# (texts, whether their alignment is wanted) -> as many translations, in order
Layer = Callable[[Sequence[str], bool], list[Aligned]]
