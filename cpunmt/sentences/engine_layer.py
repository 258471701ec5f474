"""The lowest layer: sentences to pieces, pieces through the engine, and back."""

from __future__ import annotations

from collections.abc import Sequence

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.decoding.call_settings import Settings, aligning
from cpunmt.decoding.joining import translate_sentences
from cpunmt.decoding.loading import LoadedModel
from cpunmt.process.stopping import check
from cpunmt.results.results import Result
from cpunmt.sentences.cut_text import CutText, joined
from cpunmt.sentences.long_sentences import cut_long


def engine_layer(
    model: LoadedModel,
    settings: Settings,
    prefixes: Sequence[list[int]] | None = None,
    unspaced: bool | None = None,
) -> Layer:
    """A layer that translates sentences with a model.

    A sentence longer than the model takes is cut between words, unless `split` is "none": then between pieces.

    Parameters
    ----------
    prefixes : for each text the target ids that its translation begins with; None: none of them does
    unspaced : whether the target's language has no spaces; None: not known
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        chosen = aligning(settings, True) if align else settings
        forced = prefixes or [[]] * len(texts)
        results = _results(model, chosen, texts, forced, unspaced)
        return [aligned_of(text, result, align) for text, result in zip(texts, results, strict=True)]

    return translate


def aligned_of(text: str, result: Result, align: bool) -> Aligned:
    """A Result as a layer gives it."""
    best = result.hypotheses[0]
    if not align:
        return Aligned(text, best.text, found=result)
    links = sorted(best.alignments or (), key=lambda link: link[::-1])
    return Aligned(text, best.text, result.source_spans or (), best.spans or (), links, result)


def _results(
    model: LoadedModel, settings: Settings, texts: Sequence[str], prefixes: Sequence[list[int]], unspaced: bool | None
) -> list[Result]:
    vocabulary, options = model.source_vocabulary, settings.options
    ids = vocabulary.encode_batch(texts)
    check()
    room = model.config.max_source_length - 1
    cuts = {}
    if options.split != "none":
        most = options.max_input_length or len(max(ids, key=len, default=[]))
        cuts = {
            n: _cut(model, texts[n], len(found) - 1) for n, found in enumerate(ids) if room < len(found) - 1 <= most
        }
    if not cuts:
        return translate_sentences(model, settings, ids, prefixes, texts)
    parts, part_ids, part_prefixes = [], [], []
    for number, text in enumerate(texts):
        check()
        some = cuts[number].parts if number in cuts else [text]
        parts += some
        part_ids += vocabulary.encode_batch(some) if number in cuts else [ids[number]]
        part_prefixes += [prefixes[number], *[[]] * (len(some) - 1)]
    found = iter(translate_sentences(model, settings, part_ids, part_prefixes, parts))
    results = []
    for number in range(len(texts)):
        cut = cuts.get(number)
        results.append(
            next(found) if cut is None else joined(cut, [next(found) for _ in cut.spans], unspaced, one=True)
        )
    return results


def _cut(model: LoadedModel, text: str, total: int) -> CutText:
    vocabulary = model.source_vocabulary
    begin = vocabulary.language_end(text)
    room = model.config.max_source_length - 1 - (begin > 0)
    spans = cut_long(text[begin:], lambda word: len(vocabulary.encode(word)) - 1, total, room)
    return CutText(text, [(b + begin, e + begin) for b, e in spans if b < e], begin)
