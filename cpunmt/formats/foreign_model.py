"""What reading another program's model gives, whichever program it is, and the files of vocabularies."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpunmt.files.input_files import plain_name
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.model.config import ModelConfig
from cpunmt.text.piece_vocabulary import AnyVocabulary, PieceVocabulary
from cpunmt.text.shortlist import ShortlistOptions
from cpunmt.text.vocabulary import Vocabulary
from cpunmt.text.word_vocabulary import WordVocabulary


class VocabularyFiles(NamedTuple):
    """A SentencePiece model whose ids are the model's, or one that a `table` gives other ids; or a table of words."""

    pieces: Path | None
    table: Path | None = None

    @property
    def ids_from(self) -> Path:
        """The file that says which piece an id is: two vocabularies with the same are shared."""
        found = self.table or self.pieces
        assert found
        return found


def vocabulary_files(path: str | os.PathLike) -> VocabularyFiles:
    """What a single file is by its name: a table, then one of words, or a SentencePiece model."""
    path = Path(path)
    return VocabularyFiles(None, path) if is_table(path) else VocabularyFiles(path)


def is_table(file: Path) -> bool:
    """Whether the file is called as tables are, and not as SentencePiece models."""
    return plain_name(file.name).endswith((".yml", ".yaml", ".json", ".txt"))


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


def open_vocabularies(model) -> tuple[AnyVocabulary, AnyVocabulary]:
    """The vocabularies of source and target of a ForeignModel or PackedDirectory: one object if they are the same.

    Whether they fit the model is not looked at. Raises ModelFileError as they do.
    """
    source = open_vocabulary(model.source_vocabulary, model.config.source_size)
    same = model.source_vocabulary == model.target_vocabulary
    return source, source if same else open_vocabulary(model.target_vocabulary, model.config.vocab_size)


def open_vocabulary(files: VocabularyFiles, size: int | None = None) -> AnyVocabulary:
    """The vocabulary of a model's side, whose ids are below `size`, if that is known. Raises ModelFileError."""
    if files.table is None:
        return Vocabulary(files.pieces)
    return PieceVocabulary(*files, size) if files.pieces else WordVocabulary(files.table, size)
