"""The languages of texts for a model of many: the pieces that name them around sources, and before translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from cpunmt.decoding.call_settings import settings_of
from cpunmt.errors import CpunmtError
from cpunmt.model.config import ModelConfig
from cpunmt.options.languages import refuse_unnamed, with_tags
from cpunmt.options.options import Options, make_options
from cpunmt.registry.store import Languages
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

NOT_OF_MANY = "--from and --to are of models of many languages, which this one is not; leave them out"


def named_options(
    options: Options, config: ModelConfig, vocabulary: AnyVocabulary, languages: Languages | None = None
) -> Options:
    """Returns options with the ids of their languages. Raises CpunmtError for wrong ones, and if they are missing.

    Parameters
    ----------
    vocabulary : of the source
    languages : in the model's metadata, for a model of one direction
    """
    try:
        if options.source_lang or options.target_lang or config.prompt:
            options = cast(Options, with_tags(options, config, vocabulary, languages or Languages()))
        refuse_unnamed(options, config)
    except ValueError as error:
        raise CpunmtError(str(error)) from None
    return options


def direction(config: ModelConfig, vocabulary: AnyVocabulary, source: str | None, target: str | None) -> Search:
    """Returns the search that adds the pieces of two languages. Raises CpunmtError as `named_options`."""
    try:
        options = make_options({"source_lang": source, "target_lang": target})
    except ValueError as error:
        raise CpunmtError(str(error)) from None
    return settings_of(named_options(options, config, vocabulary)).search


class Tagged:
    """A source vocabulary whose texts are in one direction of a model of many languages."""

    def __init__(self, vocabulary: AnyVocabulary, search: Search) -> None:
        self._vocabulary, self._search = vocabulary, search

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes as the vocabulary does, with the pieces of the languages around each text that is not blank."""
        return [around(ids, self._search) for ids in self._vocabulary.encode_batch(texts)]


def around(ids: list[int], search: Search) -> list[int]:
    """Returns a source with the pieces of its languages; without any if it is blank."""
    return [*search.source_begin, *ids, *search.source_finish] if len(ids) > 1 else ids
