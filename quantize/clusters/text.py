"""Unlabelled text in the model's form: for a model of several target languages, each sentence names one."""

import os
from collections.abc import Sequence
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from quantize.rounding.calibration import calibration_sources

KIND = "text"


class Directed:
    """A source vocabulary whose texts begin with the piece of a target language, unless that is ""."""

    def __init__(self, vocabulary: AnyVocabulary, piece: str) -> None:
        """Raises ModelFileError if the vocabulary lacks the piece."""
        id_ = vocabulary.ids([piece])[0] if piece else vocabulary.eos_id
        if piece and (id_ == vocabulary.unk_id or id_ not in vocabulary.encode(f"{piece} a")[:2]):
            raise ModelFileError(
                f"{vocabulary.path}: {piece!r} is not a piece that a text can begin with; expected one that names a "
                "target language, such as '>>de<<'; a model of one language needs none"
            )
        self._vocabulary, self._piece = vocabulary, piece

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes as the vocabulary does; a text that already begins with the piece stays unchanged."""
        if self._piece:
            texts = [self._directed(text) for text in texts]
        return self._vocabulary.encode_batch(texts)

    def _directed(self, text: str) -> Any:
        if not text.strip() or text.lstrip().startswith(self._piece):
            return text
        return f"{self._piece} {text}"


def read_texts(
    paths: Sequence[str | os.PathLike[str]], vocabulary: Directed, config: ModelConfig, most: int
) -> list[list[int]]:
    """Returns source ids of the sentences in all files, of each at most `most` lines, evenly spaced.

    Raises ModelFileError for a file that is missing, not text, or without a sentence.
    """
    return [ids for path in paths for ids in calibration_sources(path, vocabulary, config, most, KIND)[0]]
