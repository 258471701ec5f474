"""What reading another program's model gives, whichever program it is, and the files of vocabularies."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.model.config import ModelConfig
from cpunmt.text.piece_vocabulary import PieceVocabulary
from cpunmt.text.shortlist import ShortlistOptions
from cpunmt.text.vocabulary import Vocabulary


class VocabularyFiles(NamedTuple):
    """A SentencePiece model whose ids are the model's, or one that a `table` gives other ids."""

    pieces: Path
    table: Path | None = None

    @property
    def ids_from(self) -> Path:
        """The file that says which piece an id is: two vocabularies with the same are shared."""
        return self.table or self.pieces


class ForeignModel(NamedTuple):
    """A model of another program, with everything beside its weights in our form."""

    config: ModelConfig
    tensors: dict[str, np.ndarray | StoredIntegers]  # what tensors.checkpoint_tensors lists
    alphas: dict[str, float] | None  # scales of activations that the file has: see conversion.packed_tensors
    weights: Path  # the file that holds all these
    source_vocabulary: VocabularyFiles
    target_vocabulary: VocabularyFiles
    shortlist: ShortlistOptions | None
    metadata: dict
    stored: str  # what the weights are on disk: "int8", "float32", "float16" or "bfloat16"


def open_vocabularies(model) -> tuple[Vocabulary | PieceVocabulary, Vocabulary | PieceVocabulary]:
    """The vocabularies of source and target of a ForeignModel or PackedDirectory: one object if they are the same.

    Whether they fit the model is not looked at. Raises ModelFileError as they do.
    """
    source = _opened(model.source_vocabulary, model.config.source_size)
    same = model.source_vocabulary == model.target_vocabulary
    return source, source if same else _opened(model.target_vocabulary, model.config.vocab_size)


def _opened(files, size):
    return Vocabulary(files.pieces) if files.table is None else PieceVocabulary(*files, size)
