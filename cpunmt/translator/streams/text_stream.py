"""Streams a text's translation: increments that together equal the output of `translate`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from cpunmt.decoding.batching import target_limit
from cpunmt.decoding.call_settings import Settings
from cpunmt.decoding.joining import Source, make_result
from cpunmt.decoding.loading import LoadedModel
from cpunmt.decoding.piece_stream import one_hypothesis
from cpunmt.engine.engine import Hypothesis
from cpunmt.results.results import Result
from cpunmt.sentences.cut_text import CutText, gap_before, without_line_breaks
from cpunmt.sentences.sentence_layer import sentences_of

_DIGITS = re.compile(r"\d")
_OPEN_END = " \ufffd"  # half a character of a byte vocabulary; a space goes with the word behind it


def joined_increments(
    cut: CutText, unspaced: bool | None, translated: Callable[[str, bool], Iterator[str]]
) -> Iterator[str]:
    """Yields the translation of a text with sentences.

    Parameters
    ----------
    unspaced : whether the target's language has no space between sentences; None: guess from the neighbouring text
    translated : yields the increments of a sentence; takes whether it is the text's first one
    """
    before, last = "", cut.begin
    for number, (part, (begin, end)) in enumerate(zip(sentences_of(cut), cut.spans, strict=True)):
        increments, given, target = translated(part, number == 0), cut.text[begin:end], ""
        if (flat := without_line_breaks(given)) != given:  # a sentence that comes back unchanged keeps its line breaks
            whole = "".join(increments)
            increments = iter([given if whole == flat else whole])
        for increment in filter(None, increments):
            if not target:  # the gap depends on it
                yield gap_before(cut, number, last, before, increment, unspaced)
            target += increment
            yield increment
        if not target:
            yield gap_before(cut, number, last, before, "", unspaced)
        before, last = target, end
    yield cut.text[last:]


def sentence_increments(
    model: LoadedModel,
    settings: Settings,
    given: tuple[str, list[int], Sequence[int]],
    finished: Callable[[Result], str],
) -> Iterator[str]:
    """Yields the translation, piece by piece, of a sentence that no layer changes beforehand.

    Parameters
    ----------
    given : the sentence, its ids with </s>, and the ids that its translation begins with
    finished : returns the final text of a Result, in which layers may have replaced digits
    """
    text, ids, prefix = given
    options, vocabulary = settings.options, model.target_vocabulary
    search = one_hypothesis(settings.search, False)
    limit = target_limit(len(ids), len(prefix), options, model.config)
    waits = options.copy_numbers and not prefix and _DIGITS.search(text)  # for its numbers, which a layer may replace
    said: list[int] = []
    told, truncated = "", True
    for piece, _ in model.engine.pieces(ids, limit, search, list(prefix)):
        said.append(piece)
        if piece == vocabulary.eos_id or (len(said) > len(prefix) and piece in search.end_pieces):
            truncated = False
            break
        sure = vocabulary.decode(said)
        if waits and (digit := _DIGITS.search(sure)):
            sure = sure[: digit.start()]
        sure = sure.rstrip(_OPEN_END)
        if len(sure) > len(told):
            yield sure[len(told) :]
            told = sure
    hypothesis = Hypothesis(said, 0.0, 0.0, truncated, None, None)
    result = make_result([[hypothesis]], [len(ids) - 1], vocabulary, Source(len(text)), options)
    whole = finished(result) if waits else result.text
    assert whole.startswith(told), (told, whole)
    if whole != told:
        yield whole[len(told) :]


def tells_pieces(settings: Settings) -> bool:
    """Returns whether the pieces of a search are known before it ends."""
    options, search = settings.options, settings.search
    alone = options.beam_size == options.num_hypotheses == 1 and search.prefix_bias_beta == 0
    return alone and not (search.patience and search.most_ended > 1)
