"""All that a model is made of, before it is quantized: weights, vocabularies, shortlist, what is told of it.

A checkpoint is a Marian file with vocabularies beside it, or a directory of any kind that can be loaded, if its weights
are there as floats (or, of Marian, as integers that can be used as they are).
"""

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import map_bytes
from cpunmt.formats.any_directory import kind_of, read_model
from cpunmt.formats.foreign_model import VocabularyFiles, open_vocabularies
from cpunmt.formats.huggingface.huggingface_directory import WEIGHTS as HUGGINGFACE_WEIGHTS
from cpunmt.formats.marian.bergamot_directory import find_files
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.formats.packed.packed_directory import WEIGHTS, read_directory
from cpunmt.model.config import ModelConfig
from cpunmt.text.piece_vocabulary import PieceVocabulary
from cpunmt.text.shortlist import Shortlist
from cpunmt.text.vocabulary import Vocabulary
from cpunmt.translation.loading import check_vocabulary, open_parts
from quantize.checkpoints.float_checkpoint import read_float_checkpoint

OURS = ("made_by", "checkpoint", "quantization")  # keys of metadata.json that packing writes
_RESERVED = (*OURS, "format_version", "files", "converted_from")


class Checkpoint(NamedTuple):
    """A model with all its parts; they fit each other."""

    config: ModelConfig
    tensors: dict[str, "np.ndarray | StoredIntegers"]  # what model.tensors.checkpoint_tensors lists
    alphas: dict[str, float] | None  # scales of activations that the file has: see conversion.packed_tensors
    files: tuple[VocabularyFiles, VocabularyFiles]  # of source and target
    vocabularies: tuple[Vocabulary | PieceVocabulary, Vocabulary | PieceVocabulary]
    shortlist: Shortlist | None
    metadata: dict
    described: dict  # name and sha256 of the file that holds the weights


def open_file(path: str | os.PathLike, vocabularies: list[str]) -> Checkpoint:
    """A Marian file (`.npz` or `.bin`), and one vocabulary of both languages, or that of each.

    Raises ModelFileError for what is missing, broken or of another model.
    """
    config, tensors, alphas = read_marian(path)
    config = config.changed(shared_vocabulary=len(vocabularies) == 1)
    opened = [Vocabulary(vocabulary) for vocabulary in vocabularies]
    _check_vocabularies(opened, config)
    files = [VocabularyFiles(Path(vocabulary)) for vocabulary in vocabularies]
    pairs = (files[0], files[-1]), (opened[0], opened[-1])
    return Checkpoint(config, tensors, alphas, *pairs, None, {}, _described(path))


def _check_vocabularies(opened, config):
    check_vocabulary(opened[0], config, config.source_size)
    check_vocabulary(opened[-1], config, config.vocab_size)


def open_directory(path: str | os.PathLike) -> Checkpoint:
    """A directory of Marian, Bergamot, OPUS-MT or Hugging Face, or one that was packed as float32.

    Raises ModelFileError as loading it would, and for a packed one that is not float32.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == "packed":
        return _open_packed(path)
    found = read_model(path, "float32")
    source, target, shortlist = open_parts(found)
    weights, alphas = path / HUGGINGFACE_WEIGHTS, None
    if kind == "marian":
        weights = find_files(path).model
        _, tensors, alphas = read_marian(weights)
    else:
        _, tensors = read_float_checkpoint(path)
    files = found.source_vocabulary, found.target_vocabulary
    described = _described(weights)
    return Checkpoint(
        found.config, tensors, alphas, files, (source, target), shortlist, _kept(found.metadata), described
    )


def _open_packed(path):
    config, tensors = read_float_checkpoint(path)
    packed = read_directory(path)
    files = (
        VocabularyFiles(packed.source_vocabulary, packed.source_table),
        VocabularyFiles(packed.target_vocabulary, packed.target_table),
    )
    opened = open_vocabularies(packed._replace(source_vocabulary=files[0], target_vocabulary=files[1]))
    _check_vocabularies(opened, config)
    shortlist = packed.shortlist and Shortlist.load(packed.shortlist, *opened)
    described = packed.metadata.get("checkpoint") or _described(path / WEIGHTS)
    return Checkpoint(config, tensors, None, files, opened, shortlist, _kept(packed.metadata), described)


def directory_vocabularies(checkpoint: Checkpoint) -> dict:
    """The arguments `vocabulary` and `tables` of `packed_directory.write_directory`.

    Raises ModelFileError for a pair that a packed model cannot have.
    """
    source, target = checkpoint.files
    tabled = [vocabulary for vocabulary in checkpoint.vocabularies if isinstance(vocabulary, PieceVocabulary)]
    if len(tabled) == 1:
        raise ModelFileError(
            f"{source.pieces}: one vocabulary is a table and the other is not, which a packed model cannot have"
        )
    tables = [vocabulary.to_json() for vocabulary in tabled]
    if tables and source.ids_from == target.ids_from:
        tables = tables[:1]
    paths = [source.pieces, target.pieces]
    one = checkpoint.config.shared_vocabulary and not tables
    return {"vocabulary": paths[0] if one else paths, "tables": tables}


def _kept(metadata) -> dict:
    """What the packed model's metadata says too: all that JSON can hold, but for what packing says itself."""
    found = {}
    for key, value in metadata.items():
        try:
            json.dumps({key: value}, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:  # not a number, infinity, half a letter
            continue
        if key not in _RESERVED:
            found[key] = value
    return found


def _described(path) -> dict:
    path = Path(path)
    return {"name": path.name, "sha256": sha256_of(path, "checkpoint")}


def sha256_of(path: str | os.PathLike, kind: str) -> str:
    """Of a file, hexadecimal. Raises ModelFileError if it cannot be read; `kind` says what it should be."""
    return hashlib.sha256(map_bytes(path, kind, 1 << 40)).hexdigest()
