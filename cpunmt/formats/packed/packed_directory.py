"""Our packed model directory: the only format that loads without conversion.

    config.json            ModelConfig
    weights.safetensors    packed tensors, memory-mapped (`safetensors_file`)
    vocabulary.spm         or source.spm and target.spm, if the languages have different ones
    vocabulary.json        optional: the ids of the pieces, where they are not those of the SentencePiece models; or
                           source.json and target.json. Without SentencePiece models they are tables of words
    vocabulary.bpe         or the codes of subword-nmt, with tables, in place of SentencePiece models
    shortlist.bin          optional, Marian's binary format; or vmap.txt, CTranslate2's vocabulary map
    clusters.safetensors   optional, made for this packed model (`clusters_file`)
    metadata.json          languages, source, licence, ...; size and SHA-256 of each file above

The writer makes the whole directory under another name and renames it: an existing directory is complete.
"""

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA, AnyPath, describe, read_json
from cpunmt.files.output_files import replacing_directory, sync
from cpunmt.formats.foreign_model import VocabularyFiles
from cpunmt.formats.packed.safetensors_file import Array, read_safetensors, write_safetensors
from cpunmt.model.config import FORMAT_VERSION, ModelConfig
from cpunmt.text.shortlists.vocabulary_map import NAME as MAP
from cpunmt.text.shortlists.vocabulary_map import AnyShortlist, VocabularyMap
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.text.vocabularies.table_vocabulary import TableVocabulary
from cpunmt.text.vocabularies.vocabulary import model_bytes

CONFIG = "config.json"
WEIGHTS = "weights.safetensors"
SHORTLIST = "shortlist.bin"
CLUSTERS = "clusters.safetensors"
SHARED_VOCABULARY = ("vocabulary.spm",)
SPLIT_VOCABULARY = ("source.spm", "target.spm")
CODES = ("vocabulary.bpe",)
SHARED_TABLE = ("vocabulary.json",)
SPLIT_TABLES = ("source.json", "target.json")
# the files that metadata.json may describe
_LISTED = {CONFIG, WEIGHTS, SHORTLIST, MAP, CLUSTERS, *SHARED_VOCABULARY, *SPLIT_VOCABULARY, *CODES}
_LISTED |= {*SHARED_TABLE, *SPLIT_TABLES}
NAMES = frozenset({METADATA, *_LISTED})  # of all files that such a directory may hold
_RESERVED = ("format_version", "files")  # keys of metadata.json that are ours


class PackedDirectory(NamedTuple):
    """The content of a packed directory. The tensors are read-only views of one memory map.

    `shortlist_sha256` (hexadecimal, or None) is shortlist.bin's in metadata.json: comparing it costs a fiftieth of
    computing the checksum of Marian's format.
    """

    config: ModelConfig
    tensors: dict[str, Array]
    source_vocabulary: VocabularyFiles
    target_vocabulary: VocabularyFiles  # the same if the vocabulary is shared
    shortlist: Path | None
    shortlist_sha256: str | None
    clusters: Path | None
    metadata: dict[str, Any]  # as given to `write_directory`


def write_directory(
    path: AnyPath,
    config: ModelConfig,
    tensors: Mapping[str, Array],
    *,
    vocabulary: AnyPath | Sequence[AnyPath] | None,
    tables: Sequence[bytes] = (),
    shortlist: bytes | None = None,
    vocabulary_map: bytes | None = None,
    metadata: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Writes a packed model directory; it appears complete or not at all.

    Parameters
    ----------
    path : new directory; its parent exists
    tensors : see `write_safetensors`
    vocabulary : SentencePiece model, copied, or a tokenizer.json; one of each language if `config.shared_vocabulary` is
        false; with `tables` one or two. None: `tables` are of words. With `config.moses_languages` one file of codes.
    tables : as `TableVocabulary.to_json` makes them: one for both languages, or one of each
    shortlist : as `Shortlist.to_bytes` makes it
    vocabulary_map : as `VocabularyMap.to_text` makes it; without a shortlist
    metadata : anything JSON can hold; the keys "format_version" and "files" are ours
    force : replace an existing directory, if it holds nothing but files of this format

    Raises
    ------
    ModelFileError
        `path` exists, or it cannot be written, or a vocabulary cannot be read.
    ValueError, TypeError
        Wrong arguments: tensors or metadata that the files cannot hold.
    """
    metadata = dict(metadata or {})
    taken = [key for key in _RESERVED if key in metadata]
    if taken:
        raise ValueError(f"metadata: the key(s) {', '.join(taken)} are written by write_directory; rename them")
    contents = {CONFIG: _json_bytes(config.to_json()), **_vocabulary_bytes(config, vocabulary, tables)}
    contents |= {
        name: bytes(given) for name, given in ((SHORTLIST, shortlist), (MAP, vocabulary_map)) if given is not None
    }
    if SHORTLIST in contents and MAP in contents:
        raise ValueError("shortlist and vocabulary_map are both given, expected one of them")
    _json_bytes(metadata)  # raises before anything is written
    try:
        with replacing_directory(path, force, NAMES) as partial:
            write_safetensors(partial / WEIGHTS, tensors)
            _write_files(partial, contents, metadata)
    except CpunmtError as error:
        raise ModelFileError(str(error)) from None


def _vocabulary_bytes(
    config: ModelConfig, vocabulary: AnyPath | Sequence[AnyPath] | None, tables: Sequence[bytes]
) -> dict[str, bytes]:
    paths = [vocabulary] if isinstance(vocabulary, (str, os.PathLike)) else list(vocabulary or ())
    names = _pieces_names(config, len(tables) > 0 and len(paths) != 1, vocabulary is not None)
    if len(paths) != len(names):
        raise ValueError(
            f"vocabulary: {len(paths)} file(s), expected {len(names)} as config.shared_vocabulary is "
            f"{config.shared_vocabulary}"
        )
    found = {name: model_bytes(path) for name, path in zip(names, paths, strict=True)}
    return found | dict(zip({0: (), 1: SHARED_TABLE, 2: SPLIT_TABLES}[len(tables)], tables, strict=True))


def kept_metadata(metadata: Mapping[str, Any], taken: Collection[str] = ()) -> dict[str, Any]:
    """Returns the metadata that a packed model can keep of another one's: all JSON values, except for `taken`."""
    return {key: value for key, value in metadata.items() if _is_json({key: value}) and key not in (*_RESERVED, *taken)}


def _is_json(fields: Mapping[str, Any]) -> bool:
    try:
        _json_bytes(fields)
    except ValueError:  # not a number, infinity, half a letter
        return False
    return True


def vocabulary_arguments(
    config: ModelConfig,
    files: Sequence[VocabularyFiles],
    opened: Sequence[AnyVocabulary],
    where: object,
) -> dict[str, Any]:
    """Returns the arguments `vocabulary` and `tables` of `write_directory`.

    `files`: the VocabularyFiles of source and target; `opened`: what they hold. Raises ModelFileError, which
    starts with `where`, for a pair that a packed model cannot have.
    """
    source, target = files
    tables = [vocabulary.to_json() for vocabulary in opened if isinstance(vocabulary, TableVocabulary)]
    if len({type(vocabulary) for vocabulary in opened}) > 1:
        raise ModelFileError(
            f"{where}: one vocabulary is a table and the other is not, which a packed model cannot have; load "
            "the directory as it is"
        )
    if tables and source.ids_from == target.ids_from:
        del tables[1]
    if source.pieces is None:
        return {"vocabulary": None, "tables": tables}
    one = config.shared_vocabulary and len(tables) < 2 and (not tables or source.pieces == target.pieces)
    one = one or bool(config.moses_languages)
    return {"vocabulary": source.pieces if one else [source.pieces, target.pieces], "tables": tables}


def shortlist_arguments(shortlist: AnyShortlist | None, opened: Sequence[AnyVocabulary]) -> dict[str, Any]:
    """Returns the argument `shortlist` or `vocabulary_map` of `write_directory`; `opened`: the vocabularies."""
    if isinstance(shortlist, VocabularyMap):
        return {"vocabulary_map": shortlist.to_text(*opened)}
    return {"shortlist": None if shortlist is None else shortlist.to_bytes()}


def _pieces_names(config: ModelConfig, are_split: bool, has_pieces: bool) -> tuple[str, ...]:
    """Returns the names of the files of SentencePiece models; `are_split`: of a shared vocabulary, too."""
    if not has_pieces:
        return ()
    if config.moses_languages:
        return CODES
    return SPLIT_VOCABULARY if are_split or not config.shared_vocabulary else SHARED_VOCABULARY


def _json_bytes(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _write_files(directory: Path, contents: Mapping[str, bytes], metadata: Mapping[str, Any]) -> None:
    """Writes `contents` (name -> bytes), then metadata.json, which describes all existing files."""
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    described = {file.name: describe(file) for file in sorted(directory.iterdir())}
    whole = {"format_version": FORMAT_VERSION, **metadata, "files": described}
    (directory / METADATA).write_bytes(_json_bytes(whole))
    for path in [*directory.iterdir(), directory]:  # on the disk before the directory gets its name,
        sync(path)  # or a power cut leaves a complete-looking directory of holes


def read_directory(path: AnyPath) -> PackedDirectory:
    """Reads a packed model directory into a `PackedDirectory`.

    The tensors are mapped, not read, and SHA-256 is not compared (see `verify`); the files' structure is
    checked completely. Other files in the directory are ignored.

    Raises
    ------
    ModelFileError
        A file is missing or broken, or of a newer format version.
    """
    path = Path(path)
    if not path.is_dir():
        raise ModelFileError(f"{path}: no such directory; expected a model directory packed by cpunmt")
    config = _read_config(path / CONFIG)
    metadata = _read_metadata(path)
    files = metadata.pop("files")
    del metadata["format_version"]
    if SHORTLIST in files and MAP in files:
        raise ModelFileError(
            f"{path / METADATA}: lists both {SHORTLIST} and {MAP}, expected one of them; pack the model again"
        )
    tables = [path / name for name in (*SHARED_TABLE, *SPLIT_TABLES) if name in files]
    cut = not tables or not files.keys().isdisjoint((*SHARED_VOCABULARY, *SPLIT_VOCABULARY))
    cut = cut or len(config.moses_languages) > 0
    are_split = bool(tables) and files.keys().isdisjoint(SHARED_VOCABULARY)
    vocabularies = [path / name for name in _pieces_names(config, are_split, cut)]
    shortlist, clusters = path / (MAP if MAP in files else SHORTLIST), path / CLUSTERS
    for file in [*vocabularies, *tables, *(path / name for name in (SHORTLIST, MAP, CLUSTERS) if name in files)]:
        if not file.is_file():
            raise ModelFileError(f"{file}: not found, but the model needs it; fetch or pack the model again")
    return PackedDirectory(
        config=config,
        tensors=read_safetensors(path / WEIGHTS),
        source_vocabulary=VocabularyFiles(vocabularies[0] if cut else None, tables[0] if tables else None),
        target_vocabulary=VocabularyFiles(vocabularies[-1] if cut else None, tables[-1] if tables else None),
        shortlist=shortlist if shortlist.is_file() else None,
        shortlist_sha256=files[SHORTLIST]["sha256"] if SHORTLIST in files else None,
        clusters=clusters if clusters.is_file() else None,
        metadata=metadata,
    )


def _read_config(path: Path) -> ModelConfig:
    fields = read_json(path, "model config")
    try:
        return ModelConfig.from_json(fields, "model config")
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _read_metadata(path: Path) -> dict[str, Any]:
    """Reads metadata.json of the directory `path`, and checks its own fields."""
    where = path / METADATA
    metadata = read_json(where, "model metadata")
    version, files = metadata.get("format_version"), metadata.get("files")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelFileError(
            f"{where}: format_version is {version!r}, expected 1 to {FORMAT_VERSION}; upgrade cpunmt, "
            f"or pack the model again"
        )
    known = isinstance(files, dict) and files.keys() <= _LISTED and all(map(_is_description, files.values()))
    if not known:
        raise ModelFileError(
            f"{where}: 'files' does not give size and sha256 of known files; fetch or pack the model again"
        )
    return metadata


def metadata_with(path: Path, contents: Mapping[str, bytes]) -> tuple[bytes, list[str]]:
    """Returns the content of metadata.json, and the names of the files in it, including `contents`.

    Raises ModelFileError for a directory `path` whose metadata.json is missing, broken, or cannot be written again.
    """
    metadata = _read_metadata(path)
    for name, content in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        metadata["files"][name] = {"size": len(content), "sha256": digest}
    if not _is_json(metadata):
        raise ModelFileError(f"{path / METADATA}: has numbers or letters that JSON cannot hold; pack the model again")
    return _json_bytes(metadata), sorted(metadata["files"])


def _is_description(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() == {"size", "sha256"}
        and type(entry["size"]) is int
        and isinstance(entry["sha256"], str)
    )


def _difference(found: object, expected: object) -> str:
    """Describes two different descriptions of a file, or the texts in their places."""
    if isinstance(found, dict) and isinstance(expected, dict):
        sizes = found["size"], expected["size"]
        return "SHA-256 differs" if sizes[0] == sizes[1] else f"{sizes[0]} bytes, expected {sizes[1]}"
    return str(expected if isinstance(found, dict) else found)


def verify(path: AnyPath) -> dict[str, str]:
    """Compares size and SHA-256 of every file with metadata.json; returns {file name: SHA-256}.

    Raises
    ------
    ModelFileError
        Names all files that differ, are missing, or are not listed. metadata.json itself is not covered.
    """
    path = Path(path)
    listed = _read_metadata(path)["files"]
    present = {name for name in _LISTED if (path / name).is_file()}
    problems = []
    for name in sorted(listed.keys() | present | {CONFIG, WEIGHTS}):
        try:
            found: object = describe(path / name) if name in present else "no such file"
        except OSError as error:
            found = error.strerror
        expected = listed.get(name, "not in metadata.json")
        if found != expected:
            problems.append(f"{name}: {_difference(found, expected)}")
    if problems:
        lines = "\n  ".join(problems)
        raise ModelFileError(f"{path}: not as it was packed; fetch or pack the model again\n  {lines}")
    return {name: entry["sha256"] for name, entry in listed.items()}
