"""Reads a model's directory in the form of Bergamot, Firefox and Marian.

A decoder configuration (`decoder.yml`, `config*.yml`) that names a model decides everything. Otherwise names decide,
each with or without `.gz` or `.zst`:

    model        model*.intgemm*alphas*.bin, before model*.intgemm*.bin, before model*.bin, before *.npz
    vocabulary   srcvocab*.spm and trgvocab*.spm, or one vocab*.spm for both; or as in OPUS-MT:
                 source.spm and target.spm, with *src.vocab.yml and *trg.vocab.yml, or one *vocab.yml for both; or
                 such tables alone, of words
    shortlist    lex*.bin, before lex*.s2t; may be absent
    metadata     metadata.json; may be absent
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import ENDINGS, METADATA, expanded, matching, plain_name
from cpunmt.formats.foreign_model import ForeignModel, FoundModel, StoredIntegers, VocabularyFiles, is_table
from cpunmt.formats.marian.decoder_options import DecoderOptions, read_decoder_options
from cpunmt.formats.marian.marian import read_marian
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.shortlist import ShortlistOptions

# In order of preference: they are forms of one model, so the first existing one is taken.
_MODELS = (
    ("model*.intgemm*alphas*.bin", "model*alphas*.bin"),
    ("model*.intgemm*.bin",),
    ("model*.bin",),
    ("*.npz",),
)
_ANY_MODEL = [pattern for rank in _MODELS for pattern in rank]
_NOT_MODELS = ("*.optimizer.npz", "*quality*", "lex*")
_SHORTLISTS = (("lex*.bin",), ("lex*.s2t", "lex*.txt"))
_OPTIONS = ("decoder*.yml", "config*.yml", "*.decoder.yml")
_PIECES = ("source.spm", "target.spm")
_SHOWN = 20
_MAX_METADATA = 1 << 20  # bytes


class BergamotFiles(NamedTuple):
    """The files of a model directory, of which only the decoder's options have been read.

    Attributes
    ----------
    model : Path
    source_vocabulary, target_vocabulary : with the same `ids_from` if it is shared
    shortlist : Path or None
    decoder_options : None without such a file
    metadata : Path or None
    """

    model: Path
    source_vocabulary: VocabularyFiles
    target_vocabulary: VocabularyFiles
    shortlist: Path | None
    decoder_options: DecoderOptions | None
    metadata: Path | None


def recognizes(folder: Path, names: Iterable[str]) -> bool:
    """Returns whether files of these names can be a model's directory."""
    return bool(matching(names, _ANY_MODEL, _NOT_MODELS) or matching(names, _OPTIONS, ("*vocab*",)))


def chooses(name: str) -> bool:
    """Returns whether a file selects a model of its directory: a model, or a configuration."""
    return _is_model(name) or (plain_name(name).endswith((".yml", ".yaml")) and "vocab" not in name)


def read_directory(found: FoundModel) -> ForeignModel:
    """Reads a directory. Raises ModelFileError: a file is missing, ambiguous, damaged or not supported."""
    files = find_files(found)
    checkpoint = read_marian(files.model)
    shortlist = files.decoder_options.shortlist if files.decoder_options else None
    if files.shortlist and not (shortlist and shortlist.path == files.shortlist):
        shortlist = ShortlistOptions(files.shortlist)
    stored = any(isinstance(tensor, StoredIntegers) for tensor in checkpoint.tensors.values())
    return ForeignModel(
        _configured(checkpoint.config, files),
        checkpoint.tensors,
        checkpoint.alphas,
        files.model,
        files.source_vocabulary,
        files.target_vocabulary,
        shortlist,
        _metadata(files.metadata),
        "int8" if stored else "float32",
    )


def _configured(config: ModelConfig, files: BergamotFiles) -> ModelConfig:
    """Adds the decoder's options of searching to the architecture."""
    options = files.decoder_options or DecoderOptions()
    source, target = files.source_vocabulary, files.target_vocabulary
    changes: dict[str, Any] = {"shared_vocabulary": source.ids_from == target.ids_from}
    for ours, theirs, name in (
        ("max_length_factor", options.max_length_factor, "max-length-factor"),
        ("max_source_length", options.max_length_break, "max-length-break"),
        ("beam_size", options.beam_size, "beam-size"),
        ("length_penalty", options.normalize, "normalize"),
        ("word_penalty", options.word_penalty, "word-penalty"),
    ):
        if name in options.given:
            changes[ours] = theirs
    try:
        return config.changed(**changes)
    except ModelFileError as error:
        raise ModelFileError(f"{files.model}: {error}") from None


def _metadata(path: Path | None) -> dict[str, Any]:
    """Returns the texts and numbers of a metadata.json, if there is one."""
    if path is None:
        return {}
    try:
        fields = json.loads(expanded(path, "metadata", _MAX_METADATA).tobytes())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not JSON ({str(error)[:200]}); remove it or fetch it again") from None
    if not isinstance(fields, dict):
        raise ModelFileError(f"{path}: not a JSON object; remove it or fetch it again")
    return {key: value for key, value in fields.items() if isinstance(value, str | int | float)}


def find_files(found: FoundModel) -> BergamotFiles:
    """Finds the file of each role.

    If `found.chosen` is a model, it is the only one; if it is a configuration, it names the only one.

    Raises
    ------
    ModelFileError
        The directory does not exist, a role has no file or two (all such are listed), or a decoder configuration cannot
        be read.
    """
    _, folder, names, chosen = found
    options = _decoder_options(folder, names, chosen)
    problems: list[str] = []
    pair: list[VocabularyFiles]
    model: Path | None
    shortlist: Path | None = None
    if options and options.model:
        model = _there(options.model, folder, "models", problems)
        source, target = options.source_vocabulary, options.target_vocabulary
        if source is None or target is None:
            pair = _vocabularies(folder, names, problems)
        else:
            files = [_there(path, folder, "vocabs", problems) for path in (source, target)]
            pair = _with_pieces(folder, names, files, problems)
        if options.shortlist:
            shortlist = _there(options.shortlist.path, folder, "shortlist", problems)
    else:
        own = chosen and _is_model(chosen)
        model = folder / str(chosen) if own else _first(folder, names, "model", _MODELS, problems)
        if model is None and not problems:
            problems.append("no model: expected a file model*.bin or *.npz")
        pair = _vocabularies(folder, names, problems)
        shortlist = _first(folder, names, "shortlist", _SHORTLISTS, problems)
    metadata = _first(folder, names, "metadata", ((METADATA,),), problems)
    if problems or model is None:
        raise _refused(folder, names, problems)
    return BergamotFiles(model, pair[0], pair[1], shortlist, options, metadata)


def _is_model(name: str) -> bool:
    return bool(matching([name], _ANY_MODEL, _NOT_MODELS))


def _refused(folder: Path, names: Sequence[str], problems: list[str]) -> ModelFileError:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return ModelFileError(f"{folder}: {'; '.join(problems)}. Found: {shown or 'no file'}")


def _first(
    folder: Path, names: Sequence[str], role: str, ranks: Sequence[Sequence[str]], problems: list[str]
) -> Path | None:
    """Returns the only file of the first nonempty rank; several are a problem."""
    for patterns in ranks:
        found = matching(names, patterns, _NOT_MODELS if role == "model" else ())
        if len(found) > 1:
            problems.append(
                f"{role}: {len(found)} files ({', '.join(found[:_SHOWN])}), expected one {patterns[0]}; "
                f"name the file instead of its directory, or move the others"
            )
        if found:
            return folder / found[0]
    return None


def _vocabularies(folder: Path, names: Sequence[str], problems: list[str]) -> list[VocabularyFiles]:
    """Returns [source, target], or notes a problem."""
    tables = matching(names, ["*vocab.yml", "*vocab.yaml"])
    if tables and (matching(names, _PIECES) or not matching(names, ["*vocab*.spm"])):
        source, target = (matching(tables, [f"*{part}.vocab.y*ml"]) for part in ("src", "trg"))
        if len(source) == len(target) == 1 and len(tables) == 2:
            return _with_pieces(folder, names, [folder / source[0], folder / target[0]], problems)
        if len(tables) == 1:
            return _with_pieces(folder, names, [folder / tables[0]] * 2, problems)
        problems.append(f"vocabulary: {', '.join(tables)}; expected one, or *src.vocab.yml and *trg.vocab.yml")
        return []
    source, target, both = (matching(names, [f"{part}vocab*.spm"]) for part in ("src", "trg", ""))
    if len(source) == len(target) == 1 and not both:
        return [VocabularyFiles(folder / source[0]), VocabularyFiles(folder / target[0])]
    if len(both) == 1 and not source and not target:
        return [VocabularyFiles(folder / both[0])] * 2
    found = ", ".join([*source, *target, *both, *tables]) or "none"
    problems.append(
        f"vocabulary: {found}; expected srcvocab*.spm and trgvocab*.spm, or one vocab*.spm for both, or "
        "*vocab.yml with source.spm and target.spm, or *vocab.yml alone where it lists words"
    )
    return []


def _with_pieces(
    folder: Path, names: Sequence[str], files: Sequence[Path | None], problems: list[str]
) -> list[VocabularyFiles]:
    """Returns [source, target], or notes a problem. Each SentencePiece model is a file alone, or one with a table;
    other files are tables.
    """
    codes = matching(names, ["*.bpe", "*.codes"])
    alone = not codes and not matching(names, _PIECES)
    found = []
    for file, pieces in zip(files, _PIECES, strict=True):
        models = matching(names, [pieces])
        if file and not is_table(file):
            found.append(VocabularyFiles(file))
        elif file and models:
            found.append(VocabularyFiles(folder / models[0], file))
        elif file and alone:
            found.append(VocabularyFiles(None, file))
        elif file:
            other = (
                f"; {codes[0]} is of another kind of subwords, which is not read: to translate text that was cut by it "
                "before, move it away"
            )
            problems.append(
                f"{file.name}: the table of a vocabulary needs {pieces}, which is not there{other if codes else ''}"
            )
    return found


def _decoder_options(folder: Path, names: Sequence[str], chosen: str | None) -> DecoderOptions | None:
    """Returns the only configuration, or of several the one for the preferred model.

    A chosen configuration counts alone; for a chosen model, configurations of other models are skipped.
    """
    if chosen and not _is_model(chosen):
        return read_decoder_options(folder / chosen)
    found = [(name, read_decoder_options(folder / name)) for name in matching(names, _OPTIONS, ("*vocab*",))]
    if chosen:
        found = [(name, options) for name, options in found if _names(options, folder, chosen)]
    if len(found) > 1:
        found = [(name, options) for name, options in found if options.model is None or _at(options.model, folder)]
    ranked = sorted((_rank(options.model), name, options) for name, options in found)
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        several = ", ".join(name for rank, name, _ in ranked if rank == ranked[0][0])
        raise _refused(folder, names, [f"decoder options: several files for one model ({several}), expected one"])
    return ranked[0][2] if ranked else None


def _rank(model: Path | None) -> int:
    """Returns the rank of a model in `_MODELS`; the last for a configuration without a model."""
    ranks = [i for i, patterns in enumerate(_MODELS) if model and matching([model.name], patterns)]
    return ranks[0] if ranks else len(_MODELS)


def _at(path: Path, folder: Path) -> Path | None:
    """Finds the file of a configuration: at its path, or in the directory itself; packed or not."""
    for place in (path, folder / path.name):
        for file in (place, *(place.with_name(place.name + ending) for ending in ENDINGS)):
            if file.is_file():
                return file
    return None


def _names(options: DecoderOptions, folder: Path, chosen: str) -> bool:
    """Returns whether a configuration names the chosen model, or no model."""
    file = options.model and _at(options.model, folder)
    return options.model is None or bool(file and file.samefile(folder / chosen))


def _there(path: Path, folder: Path, option: str, problems: list[str]) -> Path | None:
    found = _at(path, folder)
    if found is None:
        problems.append(f"{option} of the decoder options names {path}, which is not there")
    return found
