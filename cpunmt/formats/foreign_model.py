"""The contract of a reader: another program's model with our names, everything beside the weights in our form.

Weights that come as integers already, with one scale or one for each output column, stay integers.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import plain_name
from cpunmt.model.config import ModelConfig
from cpunmt.process.first_use import LOCK
from cpunmt.text.shortlists.shortlist import ShortlistOptions
from cpunmt.text.shortlists.vocabulary_map import MapFile
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary, PieceVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from cpunmt.text.vocabularies.word_vocabulary import WordVocabulary

Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]


class StoredIntegers(NamedTuple):
    """A weight matrix stored as integers: the weight times its multiplier, rounded.

    Marian's intgemm has one multiplier for a matrix; CTranslate2's int8 has one for each output column, or for each row
    of a table.
    """

    values: Array  # int8 or int16, in the shape of the weight; a view of the file, whatever its order there
    multiplier: float | Array  # finite and positive; an array is float32, [columns], or [rows, 1] for a table

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the weight."""
        return self.values.shape

    def weights(self) -> Array:
        """Returns the weight in float32, computed as Marian does: the integer times the rounded 1 / multiplier."""
        scale: Array = np.float32(1) / np.asarray(self.multiplier, np.float32)
        return np.ascontiguousarray(scale * self.values.astype(np.float32))

    def multipliers(self, count: int) -> Array:
        """Returns the multiplier of each of `count` columns, or rows of a table, as float32 [count]."""
        found: Array = np.broadcast_to(np.asarray(self.multiplier, np.float32).ravel(), count).copy()
        return found


Weight = Array | StoredIntegers


class VocabularyFiles(NamedTuple):
    """A SentencePiece model whose ids are the model's, or one that a table gives other ids; or a table of words, or one
    of subwords: then `pieces` is the file of their codes.

    `ids`: the content of the table, if no file has it as it is, or it was read before.
    """

    pieces: Path | None
    table: Path | None = None
    ids: Mapping[str, int] | None = None

    @property
    def ids_from(self) -> Path:
        """Returns the file that defines the ids: two vocabularies with the same one are shared."""
        file = self.table or self.pieces
        assert file
        return file


class FoundModel(NamedTuple):
    """A directory and its kind, for the reader of that kind."""

    kind: str
    folder: Path
    names: Sequence[str] = ()  # of its files, each packed or not; empty if config.json identifies the kind
    chosen: str | None = None  # the file that selects one of several models in it


class ForeignModel(NamedTuple):
    """Another program's model: canonical tensors, and everything else in our form."""

    config: ModelConfig
    tensors: Mapping[str, Weight]  # listed by tensors.checkpoint_tensors
    alphas: dict[str, float] | None  # the file's scales of activations: see packed_tensors
    weights: Path  # the file that holds all these
    source_vocabulary: VocabularyFiles
    target_vocabulary: VocabularyFiles
    shortlist: ShortlistOptions | MapFile | None
    metadata: dict[str, Any]
    stored: str  # the stored type of the weights: "int8", "int16", "float32", "float16", "bfloat16" or "float64"


def vocabulary_files(path: str | os.PathLike[str]) -> VocabularyFiles:
    """Decides by its name whether a single file is a table, then one of words, or a SentencePiece model."""
    path = Path(path)
    return VocabularyFiles(None, path) if is_table(path) else VocabularyFiles(path)


def is_table(file: Path) -> bool:
    """Returns whether the file has a table's name, and not a SentencePiece model's."""
    return plain_name(file.name).endswith((".yml", ".yaml", ".json", ".txt"))


def open_vocabularies(model: Any) -> tuple[AnyVocabulary, AnyVocabulary]:
    """Opens the vocabularies of source and target of a ForeignModel or PackedDirectory: one object if they are the
    same. Raises ModelFileError as they do; whether they fit the model is not checked."""
    languages, moses = model.config.languages, model.config.moses_languages or (None, None)
    source = open_vocabulary(model.source_vocabulary, model.config.source_size, languages, moses[0])
    unknown = [piece for piece, id_ in zip(languages, source.ids(languages), strict=True) if id_ == source.unk_id]
    if unknown:
        raise ModelFileError(
            f"{model.source_vocabulary.ids_from}: lacks the piece {unknown[0][:80]!r}, which names a language by "
            "config.json; fetch or convert the model again"
        )
    if model.source_vocabulary == model.target_vocabulary and moses[0] == moses[1]:
        return source, source
    return source, open_vocabulary(model.target_vocabulary, model.config.vocab_size, languages, moses[1])


def open_vocabulary(
    files: VocabularyFiles, size: int | None = None, languages: Collection[str] = (), moses: str | None = None
) -> AnyVocabulary:
    """Opens the vocabulary of a model's side, whose ids are below `size`, if that is known.

    `languages`: the pieces that name them; `moses`: the language of one of subwords. Raises ModelFileError.
    """
    pieces, table, ids = files
    if pieces and moses:
        with LOCK:  # few models need it
            from cpunmt.text.vocabularies.subword_vocabulary import SubwordVocabulary
        return SubwordVocabulary(pieces, files.ids_from, size, ids, moses)
    if table is None and ids is None:
        return Vocabulary(files.ids_from)
    return (
        PieceVocabulary(pieces, files.ids_from, size, ids, languages)
        if pieces
        else WordVocabulary(files.ids_from, size, ids)
    )
