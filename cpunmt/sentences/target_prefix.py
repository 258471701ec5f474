"""Translations that begin as they are told, as far as a model can be told so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings, settings_of
from cpunmt.decoding.loading import LoadedModel
from cpunmt.sentences.engine_layer import engine_layer

# (texts, how their translations are to begin) -> aligned translations, in order; None where that cannot be forced
Forced = Callable[[Sequence[str], Sequence[str]], list[Aligned | None]]


def forced_layer(model: LoadedModel, settings: Settings, unspaced: bool | None = None) -> Forced | None:
    """What translates sentences that begin with a text; None for a model that begins at the end of the sentence.

    What is forced may be none of the sentence's candidates: the whole vocabulary is scored. Nothing is forced upon a
    sentence that the model takes in parts, nor what its vocabulary cannot write.
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
