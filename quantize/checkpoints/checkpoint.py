"""All parts of a model before it is quantized: weights, vocabularies, shortlist, metadata.

A checkpoint is a Marian file with vocabularies beside it, or a loadable directory of any kind whose weights are floats
(or Marian's integers, used as they are).
"""

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cpunmt.decoding.loading import check_vocabulary, fitting_vocabularies, open_parts, packed_shortlist
from cpunmt.files.input_files import map_bytes
from cpunmt.formats.any_directory import kind_of, read_checkpoint
from cpunmt.formats.foreign_model import (
    ForeignModel,
    StoredIntegers,
    VocabularyFiles,
    open_vocabulary,
    vocabulary_files,
)
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.packed.packed_directory import WEIGHTS, PackedDirectory, kept_metadata, read_directory
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.vocabulary_map import AnyShortlist
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from quantize.checkpoints.float_checkpoint import read_float_checkpoint

OURS = ("made_by", "checkpoint", "quantization")  # keys of metadata.json that packing writes


class Checkpoint(NamedTuple):
    """A model with all its parts, checked against each other."""

    config: ModelConfig
    tensors: dict[str, "np.ndarray | StoredIntegers"]  # those of model.tensors.checkpoint_tensors
    alphas: dict[str, float] | None  # the file's scales of activations: see conversion.packed_tensors
    files: tuple[VocabularyFiles, VocabularyFiles]  # of source and target
    vocabularies: tuple[AnyVocabulary, AnyVocabulary]
    shortlist: AnyShortlist | None
    metadata: dict[str, Any]
    described: dict[str, Any]  # name and sha256 of the file of weights


def open_file(path: str | os.PathLike[str], vocabularies: list[str]) -> Checkpoint:
    """Opens a Marian file (`.npz` or `.bin`), and one vocabulary of both languages, or one of each.

    Raises ModelFileError for a part that is missing, broken or of another model.
    """
    config, tensors, alphas = read_marian(path)
    config = config.changed(shared_vocabulary=len(vocabularies) == 1)
    files = [vocabulary_files(vocabulary) for vocabulary in vocabularies]
    sizes = [config.source_size, config.vocab_size][-len(files) :]
    opened = [open_vocabulary(file, size) for file, size in zip(files, sizes, strict=True)]
    check_vocabulary(opened[0], config, config.source_size)
    check_vocabulary(opened[-1], config, config.vocab_size)
    pairs = (files[0], files[-1]), (opened[0], opened[-1])
    return Checkpoint(config, tensors, alphas, *pairs, None, {}, _described(path))


def open_directory(path: str | os.PathLike[str]) -> Checkpoint:
    """Opens a directory of another program's model, or a packed float32 model.

    Raises ModelFileError as loading it would, and for a packed model that is not float32.
    """
    path = Path(path)
    found: ForeignModel | PackedDirectory
    if kind_of(path) == "packed":
        config, floats = read_float_checkpoint(path)
        tensors: dict[str, np.ndarray | StoredIntegers] = {**floats}
        found = packed = read_directory(path)
        source, target = fitting_vocabularies(packed)
        shortlist = packed_shortlist(packed, source, target)
        alphas, described = None, packed.metadata.get("checkpoint") or _described(path / WEIGHTS)
    else:
        found = foreign = read_checkpoint(path)
        source, target, shortlist = open_parts(foreign)
        config, tensors, alphas = foreign.config, dict(foreign.tensors), foreign.alphas
        described = _described(foreign.weights)
    files = found.source_vocabulary, found.target_vocabulary
    metadata = kept_metadata(found.metadata, (*OURS, "converted_from"))
    return Checkpoint(config, tensors, alphas, files, (source, target), shortlist, metadata, described)


def _described(path: Any) -> dict[str, Any]:
    path = Path(path)
    return {"name": path.name, "sha256": sha256_of(path, "checkpoint")}


def sha256_of(path: str | os.PathLike[str], kind: str) -> str:
    """Returns the hexadecimal digest of a file. Raises ModelFileError, which names its `kind`, if it cannot be read."""
    return hashlib.sha256(map_bytes(path, kind, 1 << 40).data).hexdigest()
