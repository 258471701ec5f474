"""Reads a directory of Hugging Face: of MarianMT, as OPUS-MT publishes its models, of many languages, or of T5.

Of MarianMT; for the others see `many_languages` and `t5`:

config.json
model.safetensors, ...          weights, see weight_files
generation_config.json          settings of the search; may be absent
source.spm, target.spm          segment text into pieces
vocab.json                      piece -> id; with target_vocab.json beside it, of the source only
tokenizer_config.json           languages; may be absent
"""

import os
import reprlib
from collections.abc import Collection
from pathlib import Path

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import optional_json
from cpunmt.formats.foreign_model import ForeignModel, FoundModel, VocabularyFiles
from cpunmt.formats.huggingface import many_languages, t5
from cpunmt.formats.huggingface.huggingface import read_huggingface_config, start_id
from cpunmt.formats.huggingface.stored_tensors import stored_tensors
from cpunmt.formats.huggingface.weight_files import WEIGHTS, find_weights, read_weights, stored_type
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.table_vocabulary import special_ids

_TYPES = ("marian", *many_languages.MODEL_TYPES, *t5.MODEL_TYPES)
_OTHER_WEIGHTS = ("tf_model.h5", "flax_model.msgpack", "rust_model.ot")
_NEEDED = ("config.json", "source.spm", "target.spm", "vocab.json")
_MAX_JSON = 1 << 20  # bytes


def read_directory(found: FoundModel) -> ForeignModel:
    """Reads a directory. Raises ModelFileError: a file is missing, damaged or not supported."""
    folder = found.folder
    fields = optional_json(folder / "config.json", "config", _MAX_JSON)
    if (kind := fields.get("model_type", _TYPES[0])) not in _TYPES:
        raise ModelFileError(
            f"{folder}: config.json: not supported: model_type is {reprlib.repr(kind)}, expected {', '.join(_TYPES)}"
        )
    if fields.get("model_type") in many_languages.MODEL_TYPES:
        weights = _checked_weights(folder, found.chosen, ())
        return many_languages.read_directory(folder, weights, fields)
    if fields.get("model_type") in t5.MODEL_TYPES:
        return t5.read_directory(folder, _checked_weights(folder, found.chosen, ()), fields)
    weights = _checked_weights(folder, found.chosen, _NEEDED)
    generation, tokenizer = (
        optional_json(folder / f"{name}_config.json", "config", _MAX_JSON) for name in ("generation", "tokenizer")
    )
    tables = [folder / "vocab.json"] * 2
    if tokenizer.get("separate_vocabs") is True:
        tables[1] = folder / "target_vocab.json"
    ids = {table: read_table(table) for table in dict.fromkeys(tables)}
    special = {special_ids(pieces, table) for table, pieces in ids.items()}
    if len(special) > 1:
        raise ModelFileError(f"{folder}: </s> and <unk> have other ids in vocab.json than in target_vocab.json")
    eos_id, unk_id = special.pop()
    config = read_huggingface_config(
        fields, generation, unk_id, tables[0] == tables[1], os.fspath(folder), ids[tables[1]]
    )
    if config.eos_id != eos_id:
        raise ModelFileError(f"{folder}: config.json: eos_token_id is {config.eos_id}, but </s> has id {eos_id}")
    arrays = read_weights(weights)
    left_out = (fields.get("decoder_vocab_size") or fields["vocab_size"]) - config.vocab_size
    config, tensors = stored_tensors(config, arrays, os.fspath(weights), start_id(fields, generation), left_out)
    metadata = {
        name: tokenizer[key]
        for name, key in (("source_language", "source_lang"), ("target_language", "target_lang"))
        if isinstance(tokenizer.get(key), str) and len(tokenizer[key]) < 100
    }
    source, target = (
        VocabularyFiles(folder / f"{side}.spm", table) for side, table in zip(("source", "target"), tables, strict=True)
    )
    return ForeignModel(config, tensors, None, weights, source, target, None, metadata, stored_type(arrays))


def read_metadata(found: FoundModel) -> dict[str, str]:
    """Returns the languages of a model of many; of others nothing. Raises ModelFileError."""
    fields = optional_json(found.folder / "config.json", "config", _MAX_JSON)
    is_of_many = fields.get("model_type") in many_languages.MODEL_TYPES
    return many_languages.read_metadata(found.folder, fields) if is_of_many else {}


def _checked_weights(folder: Path, chosen: str | None, needed: Collection[str]) -> Path:
    """Returns the file of the weights. Raises ModelFileError with a list of all missing files, `needed` included."""
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: no such directory; expected one with config.json and {WEIGHTS[0]}")
    problems = [f"{name} is missing" for name in needed if not (folder / name).exists()]
    weights = find_weights(folder, chosen)
    if weights is None:
        others = [name for name in _OTHER_WEIGHTS if (folder / name).exists()]
        found = f" ({', '.join(others)} cannot be read)" if others else ""
        problems.append(f"{' or '.join(WEIGHTS[::2])} is missing{found}")
    if problems or weights is None:
        raise ModelFileError(f"{folder}: {'; '.join(problems)}")
    return weights
