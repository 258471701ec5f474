"""Reads a directory of CTranslate2, of an encoder-decoder Transformer.

model.bin                       variables (`model_bin`)
config.json                     special pieces and settings; before version 6 of model.bin they are variables
shared_vocabulary.json          the pieces in the order of their ids, or .txt; or one of source_vocabulary and one of
                                target_vocabulary
source.spm, target.spm          SentencePiece models, which CTranslate2 leaves to its callers: here or, as in Argos'
                                packages, in the folder above; or one model of both languages, see `PIECES`, or
                                the tokenizer.json that transformers 5 makes of one
vmap.txt                        optional: a vocabulary map, used if a call asks for it (`vocabulary_map`)

A vocabulary that ends with the names of languages is one of M2M-100, NLLB-200 or mBART-50 (`language_families`). Where
their pieces stand is not in these files; tokenizer_config.json tells it if that of transformers lies beside them.

Converters write whether CTranslate2 adds </s> to a source, not whether a source has it. Models whose decoder starts
with <s> are OpenNMT's, whose sources have none; for all others the tokenizer adds it.
"""

import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import ENDINGS, METADATA, optional_json, read_json
from cpunmt.formats.ctranslate2.model_bin import ModelBin, read_model_bin
from cpunmt.formats.ctranslate2.source_pieces import with_ids
from cpunmt.formats.ctranslate2.transformer import NetworkSettings, Vocabularies, check_specification, network_of
from cpunmt.formats.foreign_model import ForeignModel, FoundModel, StoredIntegers, VocabularyFiles, Weight
from cpunmt.formats.language_families import (
    M2M,
    Family,
    family_of,
    is_small,
    language_metadata,
    with_languages,
)
from cpunmt.formats.packed.safetensors_file import Bfloat16
from cpunmt.text.shortlists.vocabulary_map import NAME, MapFile
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.table_vocabulary import special_ids
from cpunmt.text.vocabularies.tokenizer_json import NAME as TOKENIZER
from cpunmt.text.vocabularies.vocabulary import WORD, load_processor

WEIGHTS = "model.bin"
# Names of SentencePiece models, the preferred ones first: of source and target
PIECES = (
    ("source.spm", "target.spm"),
    ("source.model", "target.model"),
    *(
        (name, name)
        for name in (
            "sentencepiece.model",
            "sentencepiece.bpe.model",
            "spm.model",
            "spiece.model",
            "vocabulary.spm",
            "vocab.spm",
            "flores200_sacrebleu_tokenizer_spm.model",
        )
    ),
)
_TABLES = (("shared_vocabulary", "shared_vocabulary"), ("source_vocabulary", "target_vocabulary"))
_TABLE_ENDINGS = (".json", ".txt")
_BPE = "bpe.model"  # of subword-nmt, in packages of Argos
_MAX_JSON = 4 << 20  # bytes
_NAMING = 1000  # pieces at the end of a vocabulary that may name languages
_BOS, _EOS, _UNK = "<s>", "</s>", "<unk>"
_OLD_SETTINGS = {"with_source_bos": "add_source_bos", "with_source_eos": "add_source_eos"}
_MAX_TOKEN = 256  # bytes
_SAMPLE = 1000  # pieces of a SentencePiece model that are looked up in the vocabulary
_LEAST_KNOWN = 0.5  # share of them that must be there


def read_directory(found: FoundModel, codes: Path | None = None) -> ForeignModel:
    """Reads a directory. Raises ModelFileError: a file is missing, damaged or not supported.

    `codes`: of subword-nmt, which cut texts in place of SentencePiece models.
    """
    folder = found.folder
    weights = _file(folder, WEIGHTS)
    if weights is None:
        raise ModelFileError(
            f"{folder}: {WEIGHTS} is missing; expected the directory that CTranslate2's converter made"
        )
    model = read_model_bin(weights)
    check_specification(model, str(weights))
    fields = _settings(folder, model)
    tables = _tables(folder)
    opened = {table: read_table(table, repeats=True) for table in dict.fromkeys(tables)}
    stored, target = (opened[table] for table in tables)
    eos_id, unk_id = special_ids(target, tables[1])
    start = fields["decoder_start_token"]
    source_end = fields["add_source_eos"] or start != _BOS
    if _UNK not in stored or (source_end and _EOS not in stored):
        special_ids(stored, tables[0])  # raises
    source, rows = with_ids(stored, {_EOS: eos_id, _UNK: unk_id})
    config, tensors = network_of(
        model,
        Vocabularies(rows, len(target), tables[0] == tables[1], eos_id, unk_id),
        NetworkSettings(
            source_end=source_end,
            start=start,
            start_id=None if start is None else target.get(start),
            epsilon=fields["layer_norm_epsilon"],
        ),
        str(weights),
    )
    pieces = (codes, codes) if codes else _pieces(folder, tables, (source, target))
    contents = zip(pieces, tables, (source, target), strict=True)
    files = [VocabularyFiles(file, table, ids) for file, table, ids in contents]
    metadata = {}
    if (named := _languages(tables, stored)) is not None:
        config = with_languages(config, *named, _tokenizer(folder))
        metadata = language_metadata(*named, config.source_tag == "target")
    listed = _file(folder, NAME)
    bos_id = target.get(fields["bos_token"], unk_id)
    shortlist = None if listed is None else MapFile(listed, (bos_id,))
    return ForeignModel(
        config, tensors, None, weights, files[0], files[1], shortlist, metadata, _stored(model, tensors)
    )


def read_metadata(found: FoundModel) -> dict[str, str]:
    """Returns the languages of a model of many; of others nothing. Raises ModelFileError."""
    tables = _tables(found.folder)
    named = _languages(tables, read_table(tables[0], repeats=True)) if tables[0] == tables[1] else None
    if named is None:
        return {}
    return language_metadata(*named, named[0] is M2M and is_small(_tokenizer(found.folder)))


def _languages(tables: Sequence[Path], pieces: Mapping[str, int]) -> tuple[Family, tuple[str, ...]] | None:
    """Returns the family and the pieces of the languages of a shared vocabulary; None if it names none."""
    is_cut = tables[0] == tables[1] and any(piece.startswith(WORD) for piece in pieces)  # by SentencePiece
    last = list(pieces)[-_NAMING:] if is_cut else []
    return family_of(last)


def _tokenizer(folder: Path) -> dict[str, Any]:
    """Returns the settings of transformers' tokenizer, if its file lies in the directory."""
    return optional_json(folder / "tokenizer_config.json", "config", _MAX_JSON)


def _file(folder: Path, name: str) -> Path | None:
    """Returns the file of a name, or a packed form of it; None without one."""
    return next((path for ending in ("", *ENDINGS) if (path := folder / f"{name}{ending}").is_file()), None)


def _settings(folder: Path, model: ModelBin) -> dict[str, Any]:
    """Returns the settings of config.json, or those among the variables of an older model. Removes these variables.

    Raises ModelFileError for another type or a value that is not supported.
    """
    fields: dict[str, Any] = {}
    where = folder / "config.json"
    if model.version < 6:
        where = folder / WEIGHTS
        fields = _old_settings(model, str(where))
    elif where.exists():
        fields = read_json(where, "config", _MAX_JSON)
    problems = []
    found: dict[str, Any] = {}
    for name, default, kinds, expected in (
        ("add_source_bos", False, bool, "true or false"),
        ("add_source_eos", False, bool, "true or false"),
        ("bos_token", _BOS, (str, NoneType), "a piece"),
        ("eos_token", _EOS, str, "a piece"),
        ("unk_token", _UNK, str, "a piece"),
        ("decoder_start_token", _BOS, (str, NoneType), "a piece or null"),
        ("layer_norm_epsilon", None, (float, int, NoneType), "a number or null"),
        ("quantization_type", 0, (int, NoneType), "a number"),
    ):
        value = found[name] = fields.get(name, default)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            problems.append(f"{name} is {reprlib.repr(value)}, expected {expected}")
    if found["add_source_bos"] is True:
        problems.append("not supported: <s> before each source (add_source_bos)")
    if found["quantization_type"]:
        problems.append("not supported: AWQ weights, which are for GPUs (quantization_type)")
    problems += [
        f"not supported: another {name} than {expected} ({reprlib.repr(found[name])})"
        for name, expected in (("eos_token", _EOS), ("unk_token", _UNK))
        if isinstance(found[name], str) and found[name] != expected
    ]
    if problems:
        raise ModelFileError(f"{where}: {'; '.join(problems)}")
    return found


def _old_settings(model: ModelBin, where: str) -> dict[str, Any]:
    """Takes the settings out of the variables of a model of version 2 to 5."""
    variables, fields = model.variables, dict[str, Any]()
    for name in ("unk_token", "bos_token", "eos_token"):
        array = variables.pop(name, None)
        if array is not None:
            if isinstance(array, Bfloat16) or array.dtype != np.int8 or array.size > _MAX_TOKEN:
                raise ModelFileError(f"{where}: {name} is not the text of a piece; convert the model again")
            fields[name] = array.tobytes().decode("utf-8", "replace")
    flags = {}
    for name in ("with_source_bos", "with_source_eos", "with_target_bos", "user_decoder_start_tokens"):
        array = variables.pop(name, None)
        if array is not None:
            if isinstance(array, Bfloat16) or array.size != 1:
                raise ModelFileError(f"{where}: {name} has shape {list(array.shape)}, expected one integer")
            flags[name] = bool(array.reshape(-1)[0])
    fields |= {new: flags.get(old, False) for old, new in _OLD_SETTINGS.items()}
    start = "bos_token" if flags.get("with_target_bos", True) else "eos_token"
    default = _BOS if start == "bos_token" else _EOS
    fields["decoder_start_token"] = None if flags.get("user_decoder_start_tokens") else fields.get(start, default)
    return fields


def _tables(folder: Path) -> list[Path]:
    """Returns the files of the source's and the target's pieces, the same for a shared vocabulary."""
    for names in _TABLES:
        files = [
            next((file for ending in _TABLE_ENDINGS if (file := _file(folder, f"{name}{ending}"))), None)
            for name in names
        ]
        if files[0] and files[1]:
            return [files[0], files[1]]
        if any(files):
            missing = names[0] if files[0] is None else names[1]
            raise ModelFileError(f"{folder}: {missing}.json is missing, or {missing}.txt; convert the model again")
    several = next((file.name for file in folder.glob("source_1_vocabulary.*")), None)
    if several:
        raise ModelFileError(f"{folder}: not supported: features of source words ({several})")
    raise ModelFileError(
        f"{folder}: no vocabulary; expected shared_vocabulary.json, or source_vocabulary.json and "
        "target_vocabulary.json, or .txt"
    )


def _pieces(
    folder: Path, tables: Sequence[Path], opened: Sequence[Mapping[str, int]]
) -> tuple[Path, Path] | tuple[None, None]:
    """Returns the SentencePiece models of source and target, or None for vocabularies of words.

    Raises ModelFileError if there is none, or one of another vocabulary.
    """
    places = (folder, folder.absolute().parent)
    for place in places:
        for names in PIECES:
            files = [_file(place, name) for name in names]
            if files[0] and files[1]:
                pair = files[0], files[1]
                for file, path, table in zip(pair, tables, opened, strict=True):
                    _check_pieces(file, path, table)
                return pair
    if not any(piece.startswith(WORD) for table in opened for piece in table):
        for codes in filter(None, (_file(place, _BPE) for place in places)):
            raise ModelFileError(
                f"{codes}: subwords of subword-nmt are only read in packages of Argos, whose {METADATA} names the "
                "languages; name the package's folder, or, to translate text that was cut before, move the file away"
            )
        return None, None
    for tokenizer in filter(None, (_file(place, TOKENIZER) for place in places)):
        for path, table in zip(tables, opened, strict=True):
            _check_pieces(tokenizer, path, table)
        return tokenizer, tokenizer
    singles = ", ".join(source for source, target in PIECES if source == target)
    raise ModelFileError(
        f"{folder}: no SentencePiece model, which CTranslate2 leaves to its callers; put source.spm and target.spm "
        "there, or in the folder above, as the converted checkpoint has them; or one model of both languages with one "
        f"of the names {singles}"
    )


def _check_pieces(file: Path, table_path: Path, table: Mapping[str, int]) -> None:
    """Raises ModelFileError unless the vocabulary has most pieces of the SentencePiece model."""
    processor = load_processor(file)
    size = processor.get_piece_size()
    ids = range(0, size, max(1, size // _SAMPLE))
    pieces = [processor.id_to_piece(id_) for id_ in ids if not (processor.is_control(id_) or processor.is_unknown(id_))]
    known = sum(piece in table for piece in pieces)
    if known < _LEAST_KNOWN * len(pieces):
        raise ModelFileError(
            f"{file}: of {len(pieces)} pieces {known} are in {table_path.name}; expected the SentencePiece model that "
            "the vocabulary was made with, put it into the model's directory"
        )


def _stored(model: ModelBin, tensors: Mapping[str, Weight]) -> str:
    """Returns the narrowest type of the weights."""
    types = {tensor.values.dtype.name for tensor in tensors.values() if isinstance(tensor, StoredIntegers)}
    for variable in model.variables.values():
        if isinstance(variable, Bfloat16):
            types.add("bfloat16")
        elif len(variable.shape) == 2:
            types.add(variable.dtype.name)
    return next((name for name in ("int8", "int16", "bfloat16", "float16") if name in types), "float32")
