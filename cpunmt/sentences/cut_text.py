"""Cuts a text into parts to translate, and joins their translations.

Text between the parts stays. If the target's language writes no space between sentences, a gap of one space is dropped;
if the source's writes none, a space is inserted.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpunmt.alignment.aligned import Span
from cpunmt.decoding.joining import chained, joined_hypothesis
from cpunmt.results.results import Hypothesis, Result
from cpunmt.results.sentence import SentencePart, shifted
from cpunmt.text.scripts import EAST_ASIAN, EAST_ASIAN_MARKS

if TYPE_CHECKING:
    from cpunmt.results.glossary_use import GlossaryUse

_UNSPACED = f"[{EAST_ASIAN}{EAST_ASIAN_MARKS}]"  # sentences without a space between them
_LINE_ENDS = dict.fromkeys(
    map(ord, "\n\r\f\u2028\u2029"), " "
)  # other breaks are left to the vocabulary, which may drop them


class CutText(NamedTuple):
    """A text and its parts.

    text    the text
    spans   spans of the parts, ascending
    begin   offset of the text itself, behind the name of the target language
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
        """The parts to translate, each after the name of the language, without line breaks."""
        language = self.text[: self.begin]
        found = [language + self.text[begin:end] for begin, end in self.spans]
        return list(map(without_line_breaks, found))


def without_line_breaks(text: str) -> str:
    """Replaces each line break by a blank."""
    return text if text.isprintable() else text.translate(_LINE_ENDS)  # ten times faster: no line break is printable


def assembled(cut: CutText, targets: Sequence[str], unspaced: bool | None) -> tuple[str, list[Span]]:
    """Returns the translation of the text, and the spans of its parts' translations.

    Parameters
    ----------
    targets : the translation of each part
    unspaced : whether the target's language has no space between sentences; None: guess from the neighbouring text
    """
    made, spans, length, last = [], [], 0, cut.begin
    for number, ((_, end), target) in enumerate(zip(cut.spans, targets, strict=True)):
        gap = gap_before(cut, number, last, targets[number - 1] if number else "", target, unspaced)
        made += [gap, target]
        spans.append((length + len(gap), length + len(gap) + len(target)))
        length, last = spans[-1][1], end
    made.append(cut.text[last:])
    return "".join(made), spans


def gap_before(cut: CutText, number: int, last: int, before: str, target: str, unspaced: bool | None) -> str:
    """Returns the text before the translation of part `number`, which begins like `target`, unless that is empty.

    Parameters
    ----------
    last : end of the previous part, or begin of the text
    before : translation of the previous part
    """
    gap = cut.text[last : cut.spans[number][0]]
    return _seam(gap, cut.text[last - 1], before, target, unspaced) if number and gap in ("", " ") else gap


@functools.cache
def _unspaced() -> Callable[[str], re.Match[str] | None]:
    """Returns a function that matches a character of an unspaced script; compiled on first use, which takes 2 ms."""
    return re.compile(_UNSPACED).match


def _seam(gap: str, before: str, target: str, following: str, unspaced: bool | None) -> str:
    """Returns the text between two translations whose sources have `gap`, nothing or a space, between them."""
    if unspaced is None:
        unspaced = bool(_unspaced()(target[-1:]) and _unspaced()(following))
    if gap:
        return "" if unspaced else gap
    return " " if _unspaced()(before) and not unspaced and target and following else gap


def joined(cut: CutText, results: Sequence[Result], unspaced: bool | None, one: bool = False) -> Result:
    """Joins the Results of parts: the k-th translation joins the k-th of each part, or its last.

    Parameters
    ----------
    unspaced : as in `assembled`
    one : whether the parts form one sentence
    """
    best = results[0]
    weights = [result.num_source_pieces for result in results]
    sources = None
    if best.source_spans is not None:
        places = [begin for begin, _ in cut.spans]
        sources = [moved_spans(r.source_spans or (), b, b - cut.begin) for r, b in zip(results, places, strict=True)]
    hypotheses = []
    for rank in range(max(len(result.hypotheses) for result in results)):
        parts = [result.hypotheses[min(rank, len(result.hypotheses) - 1)] for result in results]
        text, spans = assembled(cut, [part.text for part in parts], unspaced)
        sentences = () if one else _sentences(cut, spans, parts, sources)
        hypotheses.append(joined_hypothesis(parts, text, [begin for begin, _ in spans], weights, sentences))
    return Result(
        tuple(hypotheses),
        None if best.source_pieces is None else chained(result.source_pieces or () for result in results),
        None if sources is None else chained(sources),
        sum(weights),
        len(cut.text),
        uses_together(results),
    )


def uses_together(results: Iterable[Result]) -> GlossaryUse | None:
    """Joins the use of terms in all results; None without a glossary."""
    uses = [result.glossary for result in results if result.glossary is not None]
    return functools.reduce(operator.add, uses) if uses else None


def moved_spans(spans: Iterable[Span], begin: int, by: int) -> list[Span]:
    """Moves the piece spans of a sentence that begins at `begin`; the language's name becomes empty."""
    return [(max(b + by, begin), max(e + by, begin)) for b, e in spans]


def _sentences(
    cut: CutText, spans: Sequence[Span], parts: Sequence[Hypothesis], sources: Sequence[Sequence[Span]] | None
) -> tuple[SentencePart, ...]:
    found = []
    for number, (source, target, part) in enumerate(zip(cut.spans, spans, parts, strict=True)):
        own = None if sources is None else tuple(shifted(span, -source[0]) for span in sources[number])
        found.append(SentencePart(source, target, part, own))
    return tuple(found)
