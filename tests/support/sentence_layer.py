"""The lowest layer for tests of those above it: single sentences through a real model, with spans by character."""

import sentencepiece

from cpunmt.translation.texts.aligned import Aligned


def sentence_layer(translator):
    """A Layer around `translator`, a Translator."""
    source = sentencepiece.SentencePieceProcessor(model_file=str(translator.source_vocabulary.path))
    vocabulary = translator.target_vocabulary

    def translate(texts, align):
        results = translator.translate(list(texts), return_alignments=align)
        if not align:
            return [Aligned(text, result.text) for text, result in zip(texts, results, strict=True)]
        return [aligned(text, result) for text, result in zip(texts, results, strict=True)]

    def aligned(text, result):
        found = source.encode(text, return_type="offset_mapping")
        spans = [tuple(span) for span in found["offsets"]]
        assert len(spans) == len(result.source_pieces)
        ids = vocabulary.ids(result.pieces)
        ends = [len(vocabulary.decode(ids[:count])) for count in range(len(ids) + 1)]
        links = sorted(result.alignments, key=lambda pair: pair[1])
        return Aligned(text, result.text, spans, list(zip(ends, ends[1:], strict=False)), links)

    return translate
