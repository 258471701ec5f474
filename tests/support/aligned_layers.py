"""Layers for tests of what stands above them: a real Translator, and one that copies words."""

import re

from cpunmt.translation.texts.aligned import Aligned


def spans_in(text, pieces):
    """Where pieces stand in the text that they are of; a piece's space is not its own."""
    spans, place = [], 0
    for piece in pieces:
        bare = piece.replace("\u2581", " ").strip(" ")
        begin = text.find(bare, place) if bare else place
        if begin < 0:  # normalised, or unknown
            begin, bare = place, ""
        place = begin + len(bare)
        spans.append((begin, place))
    return spans


def aligned_of(text, result):
    source, target = spans_in(text, result.source_pieces), spans_in(result.text, result.pieces)
    links = sorted(result.alignments, key=lambda link: (link[1], link[0]))
    return Aligned(text, result.text, source, target, links)


def engine_layer(translator, **options):
    """The layer of a Translator, and the same with a beginning forced upon each translation."""

    def translated(texts, align, prefix=None):
        results = translator.translate(list(texts), prefix, return_alignments=align, **options)
        if align:
            return [aligned_of(text, result) for text, result in zip(texts, results, strict=True)]
        return [Aligned(text, result.text) for text, result in zip(texts, results, strict=True)]

    def forced(texts, prefixes):
        return translated(texts, True, list(prefixes))

    return lambda texts, align: translated(texts, align), forced


def word_layer(translate=lambda word: word, order=lambda words: words):
    """A translator of words, one by one: a piece for each word or sign, with links from each to its own."""

    def one(text, align):
        source = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        target, end, spans, links = "", 0, [], []
        for number, (begin, after) in enumerate(source):
            target += text[end:begin]
            word = translate(text[begin:after])
            spans.append((len(target), len(target) + len(word)))
            links.append((number, number))
            target, end = target + word, after
        target += text[end:]
        return Aligned(text, target, source, spans, links) if align else Aligned(text, target)

    return lambda texts, align: [one(text, align) for text in texts]
