"""Layers below the tested ones: a real Translator, and one that copies words."""

import re

from cpunmt.alignment.aligned import Aligned
from cpunmt.sentences.engine_layer import engine_layer, forced_layer


def layers_of(translator, **options):
    """Returns the lowest layer of a Translator, and the callable that forces beginnings."""
    settings = translator.call_settings(options, None)
    return engine_layer(translator.loaded, settings), forced_layer(translator.loaded, settings)


def word_layer(translate=lambda word: word, order=lambda words: words):
    """Returns a translator of single words: a piece for each word or sign, linked to its source."""

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
