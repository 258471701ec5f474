"""Cuts texts into sentences and joins their translations; all text between sentences stays."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from cpunmt.alignment.aligned import Aligned, Layer, Span
from cpunmt.process.stopping import check
from cpunmt.registry.store import Languages
from cpunmt.results.results import Result
from cpunmt.results.sentence import shifted
from cpunmt.sentences.cut_text import CutText, joined, moved_spans, without_line_breaks
from cpunmt.sentences.engine_layer import aligned_of
from cpunmt.text.languages.codes import is_unspaced
from cpunmt.text.units import Splitter, is_one, units
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

V = TypeVar("V")


class Cutter:
    """A cutter of one call's texts."""

    def __init__(self, split: str | Splitter, languages: Languages, vocabulary: AnyVocabulary):
        """Takes the source's `vocabulary`, which recognizes the target language's name at the beginning of a text."""
        self._split, self._languages, self._vocabulary = split, languages, vocabulary

    def is_one(self, text: str) -> bool:
        """Returns whether a text is one sentence, which goes to the layer below unchanged."""
        if isinstance(self._split, str) and is_one(text):
            return True
        return self.cut(text).parts == [text]

    def spans(self, text: str) -> list[Span]:
        """Finds the sentences of a text; skips those without letters, which stay.

        Raises ValueError if a caller's splitting function returns invalid spans.
        """
        found = units(text, self._split, self._languages.source)
        return [span for span in found if any(map(str.isalpha, text[slice(*span)]))]

    def cut(self, text: str, forced: bool = False) -> CutText:
        """Returns a text and its sentences; at least one sentence if the translation has a `forced` beginning.

        For a text without sentences, the layer below receives `text` itself, which is empty.
        """
        check()  # there may be many texts
        begin = self._vocabulary.language_end(text)
        spans = [(b + begin, e + begin) for b, e in self.spans(text[begin:])]
        if forced and not spans and (size := len(text[begin:].strip())):
            end = len(text.rstrip())
            spans = [(end - size, end)]
        return CutText(text, spans, begin)

    def unspaced(self, text: str) -> bool | None:
        """Returns whether a text's target language has no space between sentences; None if unknown."""
        end = self._vocabulary.language_end(text)
        return is_unspaced(text[:end].strip(" <>").removeprefix("2") if end else self._languages.target)


def sentences_of(cut: CutText) -> list[str]:
    """Returns the texts that the layer below translates: at least one, so that there is a result."""
    return cut.parts or [""]


def put_together(cut: CutText, below: Sequence[Aligned], cutter: Cutter, align: bool) -> Aligned:
    """Returns the translation of a text, from the layer below's translations of `sentences_of(cut)`."""
    if cut.spans:
        below = [_with_its_lines(one, cut.text[b:e]) for one, (b, e) in zip(below, cut.spans, strict=True)]
    results = [found_of(aligned) for aligned in below]
    if cut.is_whole:
        return below[0]._replace(source=cut.text)
    if not cut.spans:
        return aligned_of(cut.text, _without_sentences(cut, results[0]), align)
    found = joined(cut, results, cutter.unspaced(cut.text))
    made = Aligned(cut.text, found.text, found=found)
    return _with_alignment(made, cut, below) if align else made


def _with_its_lines(aligned: Aligned, given: str) -> Aligned:
    """Restores the line breaks of a sentence that came back unchanged: the layer below did not see them."""
    found = aligned.found
    if found is None or given.isprintable() or aligned.target != without_line_breaks(given):
        return aligned
    best = replace(found.hypotheses[0], text=given)
    return aligned._replace(target=given, found=replace(found, hypotheses=(best, *found.hypotheses[1:])))


def _with_alignment(made: Aligned, cut: CutText, below: Sequence[Aligned]) -> Aligned:
    """Joins the alignments of all sentences; they may cover more than the engine's result, such as restored parts."""
    sources: list[Span] = []
    targets: list[Span] = []
    links: list[tuple[int, int]] = []
    kept: list[tuple[Span, Span]] = []
    places = [part.target for part in found_of(made).hypotheses[0]._parts]
    last = (cut.begin, 0)  # ends of the last sentence in both texts
    for part, (begin, end), (place, place_end) in zip(below, cut.spans, places, strict=True):
        kept += _between(made, last, (begin, place))
        last = (end, place_end)
        links += [(s + len(sources), t + len(targets)) for s, t in part.links]
        by = begin - cut.begin
        sources += moved_spans(part.source_spans, begin, by)
        targets += [shifted(span, place) for span in part.target_spans]
        kept += [(shifted(source, by), shifted(target, place)) for source, target in part.kept]
    kept += _between(made, last, (len(made.source), len(made.target)))
    return made._replace(source_spans=sources, target_spans=targets, links=links, kept=kept)


def _between(made: Aligned, last: Span, following: Span) -> list[tuple[Span, Span]]:
    """Returns the spans between two sentences, if both texts have the same characters there, and not only white space.

    Parameters
    ----------
    last : end of the first sentence in source and target
    following : begin of the second one in both
    """
    source, target = (last[0], following[0]), (last[1], following[1])
    text = made.source[slice(*source)]
    return [(source, target)] if text == made.target[slice(*target)] and not (text.isspace() or not text) else []


def found_of(aligned: Aligned) -> Result:
    """Returns the engine's result, as the layers have changed it."""
    if aligned.found is None:
        raise TypeError("a layer below the sentences dropped what the engine found")
    return aligned.found


def _without_sentences(cut: CutText, blank: Result) -> Result:
    """Makes the result of a text without letters: the text itself, unless a beginning was forced."""
    best = blank.hypotheses[0]
    kept = replace(best, text=best.text or cut.text[cut.begin :])
    return replace(blank, hypotheses=(kept,), num_source_characters=len(cut.text))


# Yields sentences with their forced target ids; receives their translations; returns the translations of the texts
Steps = Generator[tuple[Sequence[str], Sequence[list[int]]], list[Aligned], list[V]]


def cut_steps(texts: Sequence[str], forced: Sequence[list[int]], cutter: Cutter, align: bool) -> Steps[Aligned]:
    """Translates whole texts in two steps: before and after the translation of their sentences.

    `forced` : target ids that each translation begins with
    """
    cuts = [cutter.cut(text, bool(prefix)) for text, prefix in zip(texts, forced, strict=True)]
    wanted = [sentences_of(cut) for cut in cuts]
    prefixes: list[list[int]] = []
    for sentences, prefix in zip(wanted, forced, strict=True):
        prefixes += [prefix, *[[]] * (len(sentences) - 1)]
    found = iter((yield [sentence for sentences in wanted for sentence in sentences], prefixes))
    return [
        put_together(cut, list(islice(found, len(sentences))), cutter, align)
        for cut, sentences in zip(cuts, wanted, strict=True)
    ]


def after(steps: Steps[V], made: list[Aligned]) -> list[V]:
    """Sends the sentences' translations to `steps`, and returns their result."""
    try:
        steps.send(made)
    except StopIteration as end:
        found: list[V] = end.value
        return found
    raise AssertionError("the sentences of a text are asked for once")


def sentence_layer(cutter: Cutter, below: Layer) -> Layer:
    """Returns a layer that translates whole texts; `below` translates sentences."""

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        steps = cut_steps(texts, [[]] * len(texts), cutter, align)
        return after(steps, below(next(steps)[0], align))

    return translate
