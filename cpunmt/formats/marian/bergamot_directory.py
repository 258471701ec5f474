"""Which file of a directory is what: models of Bergamot, Firefox and Marian, as people have them.

A decoder configuration that is there (`decoder.yml`, `config*.yml`) and names a model decides everything. Else names
decide, each with or without `.gz` or `.zst`:

    model        model*.intgemm*alphas*.bin, before model*.intgemm*.bin, before model*.bin, before *.npz
    vocabulary   srcvocab*.spm and trgvocab*.spm, or one vocab*.spm for both; or as OPUS-MT has it:
                 source.spm and target.spm, with *src.vocab.yml and *trg.vocab.yml, or one *vocab.yml for both; or
                 such tables alone, of words
    shortlist    lex*.bin, before lex*.s2t; may be absent
    metadata     metadata.json; may be absent
"""

import fnmatch
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import ENDINGS, plain_name
from cpunmt.formats.foreign_model import VocabularyFiles, is_table
from cpunmt.formats.marian.decoder_options import DecoderOptions, read_decoder_options

# In order of preference: they are forms of one model, so the first that is there is taken.
_MODELS = (
    ("model*.intgemm*alphas*.bin", "model*alphas*.bin"),
    ("model*.intgemm*.bin",),
    ("model*.bin",),
    ("*.npz",),
)
_NOT_MODELS = ("*.optimizer.npz", "*quality*", "lex*")
_SHORTLISTS = (("lex*.bin",), ("lex*.s2t", "lex*.txt"))
_OPTIONS = ("decoder*.yml", "config*.yml", "*.decoder.yml")
_METADATA = ("metadata.json",)
_PIECES = ("source.spm", "target.spm")
_MAX_FILES = 10_000
_SHOWN = 20


class BergamotFiles(NamedTuple):
    """The files of a model directory; what they hold has not been looked at, but for the decoder's options.

    Attributes
    ----------
    model : Path
    source_vocabulary, target_vocabulary : with the same `ids_from` if it is shared
    shortlist : Path or None
    decoder_options : None if there is no such file
    metadata : Path or None
    """

    model: Path
    source_vocabulary: VocabularyFiles
    target_vocabulary: VocabularyFiles
    shortlist: Path | None
    decoder_options: DecoderOptions | None
    metadata: Path | None


def find_files(directory: str | os.PathLike, chosen: str | None = None) -> BergamotFiles:
    """Decide which file of the directory plays which role.

    `chosen` is the name of one that `chooses`: this model and no other, or what this configuration says.

    Raises
    ------
    ModelFileError
        There is no such directory, a role cannot be filled or two files ask for it (all such are listed), or a
        decoder configuration cannot be read.
    """
    folder = Path(directory)
    names = listing(folder)
    options = _decoder_options(folder, names, chosen)
    problems = []
    if options and options.model:
        model = _there(options.model, folder, "models", problems)
        pair = [options.source_vocabulary, options.target_vocabulary]
        if None in pair:
            vocabularies = _vocabularies(folder, names, problems)
        else:
            found = [_there(path, folder, "vocabs", problems) for path in pair]
            vocabularies = _with_pieces(folder, names, found, problems)
        shortlist = options.shortlist and _there(options.shortlist.path, folder, "shortlist", problems)
    else:
        model = folder / chosen if _is_model(chosen) else _first(folder, names, "model", _MODELS, problems)
        if model is None and not problems:
            problems.append("no model: expected a file model*.bin or *.npz")
        vocabularies = _vocabularies(folder, names, problems)
        shortlist = _first(folder, names, "shortlist", _SHORTLISTS, problems)
    metadata = _first(folder, names, "metadata", (_METADATA,), problems)
    if problems:
        raise _refused(folder, names, problems)
    return BergamotFiles(model, *vocabularies, shortlist, options, metadata)


def listing(folder) -> list[str]:
    """Names of the files, those that are also there unpacked only so, of `.gz` and `.zst` one."""
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: no such directory; expected one with a model, a vocabulary and a shortlist")
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry, _ in zip(entries, range(_MAX_FILES + 1), strict=False) if entry.is_file()}
    except OSError as error:
        raise ModelFileError(f"{folder}: cannot list the directory: {error.strerror}") from None
    if len(names) > _MAX_FILES:
        raise ModelFileError(f"{folder}: holds over {_MAX_FILES} files, expected a model's directory")
    best = {}  # whatever the order is in which the directory has them
    for name in sorted(names, key=lambda name: (name != plain_name(name), name)):
        best.setdefault(plain_name(name), name)
    return sorted(best.values())


def looks_like_one(names: Iterable[str]) -> bool:
    """Whether files of these names can be a model's directory."""
    patterns = [pattern for rank in _MODELS for pattern in rank]
    return bool(_matching(names, patterns, _NOT_MODELS) or _matching(names, _OPTIONS, ("*vocab*",)))


def chooses(name: str) -> bool:
    """Whether the file of this name says which model of its directory is meant: a model, or a configuration."""
    return _is_model(name) or (name.removesuffix(".gz").endswith((".yml", ".yaml")) and "vocab" not in name)


def _is_model(name: str | None) -> bool:
    return bool(name and _matching([name], [pattern for rank in _MODELS for pattern in rank], _NOT_MODELS))


def _refused(folder, names, problems):
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return ModelFileError(f"{folder}: {'; '.join(problems)}. Found: {shown or 'no file'}")


def _matching(names: Iterable[str], patterns, but=()) -> list[str]:
    """The names that match a pattern, and none of `but`, when `.gz` or `.zst` is left away."""

    def matches(name, patterns):
        return any(fnmatch.fnmatchcase(plain_name(name), pattern) for pattern in patterns)

    return [name for name in names if matches(name, patterns) and not matches(name, but)]


def _first(folder, names, role, ranks, problems):
    """The one file of the first rank that has any; several there are a problem."""
    for patterns in ranks:
        found = _matching(names, patterns, _NOT_MODELS if role == "model" else ())
        if len(found) > 1:
            problems.append(
                f"{role}: {len(found)} files ({', '.join(found[:_SHOWN])}), expected one {patterns[0]}; "
                f"name the file instead of its directory, or move the others"
            )
        if found:
            return folder / found[0]
    return None


def _vocabularies(folder, names, problems):
    """[source, target]."""
    tables = _matching(names, ["*vocab.yml", "*vocab.yaml"])
    if tables and (_matching(names, _PIECES) or not _matching(names, ["*vocab*.spm"])):
        source, target = (_matching(tables, [f"*{part}.vocab.y*ml"]) for part in ("src", "trg"))
        if len(source) == len(target) == 1 and len(tables) == 2:
            return _with_pieces(folder, names, [folder / source[0], folder / target[0]], problems)
        if len(tables) == 1:
            return _with_pieces(folder, names, [folder / tables[0]] * 2, problems)
        problems.append(f"vocabulary: {', '.join(tables)}; expected one, or *src.vocab.yml and *trg.vocab.yml")
        return [None, None]
    source, target, both = (_matching(names, [f"{part}vocab*.spm"]) for part in ("src", "trg", ""))
    if len(source) == len(target) == 1 and not both:
        return [VocabularyFiles(folder / source[0]), VocabularyFiles(folder / target[0])]
    if len(both) == 1 and not source and not target:
        return [VocabularyFiles(folder / both[0])] * 2
    found = ", ".join([*source, *target, *both, *tables]) or "none"
    problems.append(
        f"vocabulary: {found}; expected srcvocab*.spm and trgvocab*.spm, or one vocab*.spm for both, or "
        "*vocab.yml with source.spm and target.spm, or *vocab.yml alone where it lists words"
    )
    return [None, None]


def _with_pieces(folder, names, files, problems):
    """[source, target]: each file alone if it is a SentencePiece model, else a table, with one if any is there."""
    codes = _matching(names, ["*.bpe", "*.codes"])
    alone = not codes and not _matching(names, _PIECES)
    found = []
    for file, pieces in zip(files, _PIECES, strict=True):
        models = _matching(names, [pieces])
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


def _decoder_options(folder, names, chosen) -> DecoderOptions | None:
    """The one configuration, or of several the one for the preferred model of those that are there.

    A configuration that was chosen counts alone; for a model that was chosen, none that names another one.
    """
    if chosen and not _is_model(chosen):
        return read_decoder_options(folder / chosen)
    found = [(name, read_decoder_options(folder / name)) for name in _matching(names, _OPTIONS, ("*vocab*",))]
    if chosen:
        found = [(name, options) for name, options in found if options.model is None or _is_at(options, folder, chosen)]
    if len(found) > 1:
        found = [(name, options) for name, options in found if options.model is None or _at(options.model, folder)]
    ranked = sorted((_rank(options.model), name, options) for name, options in found) if len(found) > 1 else []
    if ranked and ranked[0][0] == ranked[1][0]:
        several = ", ".join(name for rank, name, _ in ranked if rank == ranked[0][0])
        raise _refused(folder, names, [f"decoder options: several files for one model ({several}), expected one"])
    return ranked[0][2] if ranked else found[0][1] if found else None


def _rank(model: Path | None) -> int:
    """Place of a model in `_MODELS`; the last for a configuration that names none."""
    ranks = [i for i, patterns in enumerate(_MODELS) if model and _matching([model.name], patterns)]
    return ranks[0] if ranks else len(_MODELS)


def _at(path: Path, folder) -> Path | None:
    """Where the file of a configuration is: where it says, or in the directory itself; packed or not."""
    for place in (path, folder / path.name):
        for file in (place, *(place.with_name(place.name + ending) for ending in ENDINGS)):
            if file.is_file():
                return file
    return None


def _is_at(options, folder, chosen) -> bool:
    """Whether a configuration names the model that was chosen."""
    found = _at(options.model, folder)
    return found is not None and found.samefile(folder / chosen)


def _there(path, folder, option, problems):
    found = _at(path, folder)
    if found is None:
        problems.append(f"{option} of the decoder options names {path}, which is not there")
    return found
