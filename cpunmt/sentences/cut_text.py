"""A text cut to parts that are translated one by one, and its translation put together again of theirs.

What stands between the parts stays as it is. Where the target's language writes no space between sentences, a gap that
is one space is left out; where the source's writes none, one is put in.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cpunmt.alignment.aligned import Span
from cpunmt.results.results import Hypothesis, Result
from cpunmt.results.sentence import Part, shifted
from cpunmt.text.scripts import EAST_ASIAN, EAST_ASIAN_MARKS

if TYPE_CHECKING:
    from cpunmt.results.glossary_use import GlossaryUse

T = TypeVar("T")

_UNSPACED = f"[{EAST_ASIAN}{EAST_ASIAN_MARKS}]"  # sentences follow one another without a space
_LINE_ENDS = dict.fromkeys(
    map(ord, "\n\r\f\u2028\u2029"), " "
)  # others are left to the vocabulary, which may drop them


class Cut(NamedTuple):
    """A text and its parts.

    text    the text
    spans   where the parts stand, ascending
    begin   where the text begins: what is before that names the language to translate into
    """

    text: str
    spans: Sequence[Span]
    begin: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the text is its only part."""
        return len(self.spans) == 1 and self.spans[0] == (0, len(self.text)) and not self.begin

    @property
    def parts(self) -> list[str]:
        """What is translated: the parts, each after the name of the language, without line breaks."""
        language = self.text[: self.begin]
        found = [language + self.text[begin:end] for begin, end in self.spans]
        return list(map(without_line_breaks, found))


def without_line_breaks(text: str) -> str:
    """Puts a blank in the place of each line break."""
    return text if text.isprintable() else text.translate(_LINE_ENDS)  # a tenth of the time: no line break is printable


def assembled(cut: Cut, targets: Sequence[str], unspaced: bool | None) -> tuple[str, list[Span]]:
    """The translation of the text, and where those of its parts stand in it.

    Parameters
    ----------
    targets : the translation of each part
    unspaced : whether the target's language has no space between sentences; None: as what is beside it looks
    """
    made, spans, length, last = [], [], 0, cut.begin
    for number, ((_, end), target) in enumerate(zip(cut.spans, targets, strict=True)):
        gap = gap_before(cut, number, last, targets[number - 1] if number else "", target, unspaced)
        made += [gap, target]
        spans.append((length + len(gap), length + len(gap) + len(target)))
        length, last = spans[-1][1], end
    made.append(cut.text[last:])
    return "".join(made), spans


def gap_before(cut: Cut, number: int, last: int, before: str, target: str, unspaced: bool | None) -> str:
    """What stands before the translation of part `number`, which begins as `target` does, if it is not empty.

    Parameters
    ----------
    last : where the part before it ends, or the text begins
    before : the translation of that part
    """
    gap = cut.text[last : cut.spans[number][0]]
    return _seam(gap, cut.text[last - 1], before, target, unspaced) if number and gap in ("", " ") else gap


@functools.cache
def _unspaced() -> Callable[[str], re.Match[str] | None]:
    """What tells whether a text begins with such a character; compiled when it is needed, which takes 2 ms."""
    return re.compile(_UNSPACED).match


def _seam(gap: str, before: str, target: str, following: str, unspaced: bool | None) -> str:
    """What stands between two translations, where `gap`, nothing or a space, stands between their sources."""
    if unspaced is None:
        unspaced = bool(_unspaced()(target[-1:]) and _unspaced()(following))
    if gap:
        return "" if unspaced else gap
    return " " if _unspaced()(before) and not unspaced and target and following else gap


def joined(cut: Cut, results: Sequence[Result], unspaced: bool | None, one: bool = False) -> Result:
    """The Result of a text, from those of its parts. Its k-th translation has the k-th of each, or its last.

    A mean of scores whose weights are the same for each rank keeps them sorted.

    Parameters
    ----------
    unspaced : as of `assembled`
    one : the text is one sentence, whatever its parts are
    """
    best = results[0]
    weights = [result.num_source_pieces for result in results]
    sources = None if best.source_spans is None else _moved(cut, results)
    hypotheses = []
    for rank in range(max(len(result.hypotheses) for result in results)):
        parts = [result.hypotheses[min(rank, len(result.hypotheses) - 1)] for result in results]
        text, spans = assembled(cut, [part.text for part in parts], unspaced)
        given = parts[0]
        hypotheses.append(
            Hypothesis(
                text,
                _mean([part.score for part in parts], weights),
                math.fsum(part.log_prob for part in parts),
                any(part.truncated for part in parts),
                _chained(part.pieces for part in parts),
                None if given.token_log_probs is None else _chained(part.token_log_probs or () for part in parts),
                None if given.attention_parts is None else _chained(part.attention_parts or () for part in parts),
                None
                if given.spans is None
                else _chained(
                    [shifted(piece, begin) for piece in part.spans or ()]
                    for part, (begin, _) in zip(parts, spans, strict=True)
                ),
                () if one else _parts(cut, spans, parts, sources),
            )
        )
    return Result(
        tuple(hypotheses),
        None if best.source_pieces is None else _chained(result.source_pieces or () for result in results),
        None if sources is None else _chained(sources),
        sum(weights),
        len(cut.text),
        uses_together(results),
    )


def uses_together(results: Iterable[Result]) -> GlossaryUse | None:
    """What became of the terms in all of them; None: there was no glossary."""
    uses = [result.glossary for result in results if result.glossary is not None]
    return functools.reduce(operator.add, uses) if uses else None


def _moved(cut: Cut, results: Sequence[Result]) -> list[list[Span]]:
    """The spans of each part's source pieces, in the text; that of the name of the language is empty."""
    moved = []
    for (begin, _), result in zip(cut.spans, results, strict=True):
        by = begin - cut.begin
        found = [shifted(span, by) for span in result.source_spans or ()]
        moved.append([(max(b, begin), max(e, begin)) for b, e in found])
    return moved


def _parts(
    cut: Cut, spans: Sequence[Span], parts: Sequence[Hypothesis], sources: Sequence[Sequence[Span]] | None
) -> tuple[Part, ...]:
    found = []
    for number, (source, target, part) in enumerate(zip(cut.spans, spans, parts, strict=True)):
        own = None if sources is None else tuple(shifted(span, -source[0]) for span in sources[number])
        found.append(Part(source, target, part, own))
    return tuple(found)


def _mean(scores: Sequence[float], weights: Sequence[int]) -> float:
    if -math.inf in scores or not any(weights):
        return min(scores)
    return math.fsum(score * weight for score, weight in zip(scores, weights, strict=True)) / sum(weights)


def _chained(tuples: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(tuples))
