"""The lowest layer: turns sentences into pieces, calls the engine, and turns its pieces into text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.decoding.call_settings import Settings, aligning, settings_of
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
    """Returns a layer that translates sentences with a model.

    A sentence longer than the model takes is cut between words; with `split="none"`, between pieces.

    Parameters
    ----------
    prefixes : target ids that each translation begins with; None: no prefixes
    unspaced : whether the target's language has no spaces; None if unknown
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        chosen = aligning(settings, True) if align else settings
        forced = prefixes or [[]] * len(texts)
        results = _results(model, chosen, texts, forced, unspaced)
        return [aligned_of(text, result, align) for text, result in zip(texts, results, strict=True)]

    return translate


def aligned_of(text: str, result: Result, align: bool) -> Aligned:
    """Converts a Result to an Aligned."""
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


# (texts, required beginnings) -> aligned translations, in order; None for a beginning that cannot be forced
Forced = Callable[[Sequence[str], Sequence[str]], list[Aligned | None]]


def forced_layer(model: LoadedModel, settings: Settings, unspaced: bool | None = None) -> Forced | None:
    """Returns a callable that translates with forced beginnings; None for a right-to-left model.

    A forced piece may lie outside the shortlist, so the whole vocabulary is scored. The callable forces nothing upon a
    sentence that the model takes in parts, and no beginning that the vocabulary cannot write.
    """
    if model.config.right_to_left:
        return None
    full = settings_of(settings.options, vocabulary="full", prefix_bias_beta=0.0)
    room = settings.options.max_input_length or model.config.max_source_length - 1
    room = min(room, model.config.max_source_length - 1)
    vocabulary = model.target_vocabulary

    def forced(texts: Sequence[str], beginnings: Sequence[str]) -> list[Aligned | None]:
        prefixes = [vocabulary.encode(beginning)[:-1] for beginning in beginnings]
        sizes = [len(ids) - 1 for ids in model.source_vocabulary.encode_batch(texts)]
        able = [
            number
            for number, (size, prefix) in enumerate(zip(sizes, prefixes, strict=True))
            if size <= room and vocabulary.unk_id not in prefix
        ]
        layer = engine_layer(model, full, [prefixes[number] for number in able], unspaced)
        found: list[Aligned | None] = [None] * len(texts)
        for number, aligned in zip(able, layer([texts[number] for number in able], True), strict=True):
            found[number] = aligned
        return found

    return forced
