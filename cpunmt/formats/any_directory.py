"""Reads a model of any kind: one of the `KINDS`, a reader for it, canonical tensors, packed tensors.

    path --look--> FoundModel --reader--> ForeignModel --conversion.packed_tensors--> tensors of a Model

kind     a row of `KINDS`: title, files, the marks in config.json or a file's name, and the module of its reader. Rows
         are tried in order, first all by config.json, then by names.
reader   `read_directory(found)` returns a ForeignModel. It raises ModelFileError for missing, damaged or unsupported
         files. It runs no code from a file, not even from a pickle; no header may claim more than its file has.
         If no name of a file identifies the kind, `recognizes(names)` does.
tensors  canonical: the names, float32 matrices [in, out] and tables [pieces, model_dim] that
         `model.tensors.checkpoint_tensors` lists, or `StoredIntegers` in their place.
packing  `conversion.packed_tensors` merges, quantizes and lays out, whatever the model's origin.

A packed model is in that form already, so `packed_directory.read_directory` maps it. A new kind is a reader and a row.
"""

import contextlib
import importlib
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import METADATA, optional_json, packed_once, plain_name, read_json
from cpunmt.formats.foreign_model import ForeignModel, FoundModel
from cpunmt.process.first_use import LOCK


class Reader(Protocol):
    """The functions of a reader's module."""

    def recognizes(self, folder: Path, names: list[str]) -> bool:
        """Returns whether a directory with files of these names may be of the kind."""

    def read_directory(self, found: FoundModel) -> ForeignModel:
        """Reads the directory. Raises ModelFileError."""


class Kind(NamedTuple):
    """A kind of directory."""

    title: str  # for people
    says: Mapping[str, str | None]  # fields of config.json that only this kind has, and their values; None: any
    names: tuple[str, ...]  # of files that only this kind has; empty: its reader `recognizes` them
    reader: str  # module


_CTRANSLATE2 = "ctranslate2"
KINDS = {
    "packed": Kind(
        "packed by cpunmt",
        {"format": "cpunmt"},
        ("weights.safetensors",),
        "cpunmt.formats.packed.packed_directory",
    ),
    _CTRANSLATE2: Kind(
        "CTranslate2",
        {"add_source_bos": None, "decoder_start_token": None},
        tuple(f"{part}_vocabulary.{ending}" for part in ("shared", "source", "target") for ending in ("json", "txt")),
        "cpunmt.formats.ctranslate2.ctranslate2_directory",
    ),
    "marian": Kind(
        "Marian, Bergamot or OPUS-MT",
        {},
        (),
        "cpunmt.formats.marian.marian_directory",
    ),
    "huggingface": Kind(
        "Hugging Face",
        {"model_type": None},
        (
            *("model.safetensors", "model.safetensors.index.json"),
            *("pytorch_model.bin", "pytorch_model.bin.index.json"),
        ),
        "cpunmt.formats.huggingface.huggingface_directory",
    ),
    "argos": Kind(
        "Argos package",
        {},
        (),
        "cpunmt.formats.argos.argos_package",
    ),
}
# The extensions of models' files, each also packed: another file does not name a model.
MODEL_FILES = (".json", ".yml", ".yaml", ".npz", ".bin", ".safetensors", ".spm", ".model")
PACKAGE_FILE = ".argosmodel"  # ends the name of a zipped package of Argos, which is unpacked before it is read
_CHOOSING = (".yml", ".yaml", ".npz", ".bin")  # some of these select a model of their directory
_OWN = ("shortlist.bin", "pytorch_model.bin")  # of packed models and of Hugging Face; other .bin may be Marian's
_FETCHED = ("sourceLanguage", "targetLanguage")  # in metadata.json of a registry, whose codes may be others
_MAX_FILES = 10_000
_SHOWN = 20
_MAX_INNER = 50  # folders and files that may be a model


def is_package_file(path: str | os.PathLike[str]) -> bool:
    """Returns whether `path` is a file with the name of a zipped package of Argos."""
    return os.fspath(path).lower().endswith(PACKAGE_FILE) and os.path.isfile(path)


def model_folder(path: str | os.PathLike[str]) -> Path:
    """Returns the directory of the model at `path`, which need not exist: itself, or the file's.

    Raises ModelFileError for a file that no model has, and for a device or a pipe.
    """
    path = Path(path)
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise ModelFileError(f"{path}: is a device or a pipe; expected a model's directory, or one of its files")
        return path
    if not plain_name(path.name).endswith(MODEL_FILES):
        raise ModelFileError(f"{path}: not a file of a model; expected a model's directory, or one of its files")
    return path.parent


def look(path: str | os.PathLike[str]) -> FoundModel:
    """Finds the kind of a directory, or of a file's directory: by config.json, or else by the names of its files.

    Raises ModelFileError, with the existing names or a model in one of its folders, for an unknown kind.
    """
    folder = model_folder(path)
    if (found := _found(path, folder)) is not None:
        return found
    if (inner := _inner_model(folder)) is not None:
        raise ModelFileError(f"{folder}: not a model's directory, but {inner} is a model; name that one")
    names = listing(folder)
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    titles = ", ".join(kind.title for kind in KINDS.values())
    raise ModelFileError(
        f"{folder}: not a model's directory. Found: {shown or 'no file'}. Expected the files of one of these, which "
        f"docs/models.md lists: {titles}"
    )


def _found(path: str | os.PathLike[str], folder: Path) -> FoundModel | None:
    chosen = marian_file(path, folder)
    if chosen and plain_name(chosen) == "model.bin" and _has_names(_CTRANSLATE2, listing(folder)):
        chosen = None  # beside a vocabulary of CTranslate2 it is the file of all its models
    if not chosen and (folder / "config.json").is_file():
        fields = read_json(folder / "config.json", "config", 1 << 20)
        for name, kind in KINDS.items():
            if any(key in fields and value in (None, fields[key]) for key, value in kind.says.items()):
                return FoundModel(name, folder, (), _named(path, kind))
    names = listing(folder)
    for name, kind in KINDS.items():
        if chosen:
            known = name == "marian"
        else:
            known = _has_names(name, names) if kind.names else _reader(name).recognizes(folder, names)
        if known:
            return FoundModel(name, folder, names, chosen or _named(path, kind))
    return None


def _inner_model(folder: Path) -> Path | None:
    """Returns a model in a folder of `folder`, or of its snapshots/, as in the cache of the hub; else None."""
    for place in (folder, folder / "snapshots"):
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for path in sorted(Path(entry.path) for entry in islice(entries, _MAX_FILES))[:_MAX_INNER]:
                with contextlib.suppress(ModelFileError):
                    if is_package_file(path) or (path.is_dir() and _found(path, path)):
                        return path
    return None


def _named(path: str | os.PathLike[str], kind: Kind) -> str | None:
    """Returns the name of the file `path` if only this kind has such files."""
    name = Path(path).name
    return name if name in kind.names else None


def _has_names(kind: str, names: list[str]) -> bool:
    """Returns whether one of the files, packed or not, is of this kind only."""
    return not set(KINDS[kind].names).isdisjoint(map(plain_name, names))


def kind_of(path: str | os.PathLike[str]) -> str:
    """Returns one of `KINDS`. Raises ModelFileError as `look` does."""
    return look(path).kind


def _reader(kind: str) -> Reader:
    with LOCK:  # our own models need no other reader
        return cast(Reader, importlib.import_module(KINDS[kind].reader))


def marian_file(path: str | os.PathLike[str], folder: Path) -> str | None:
    """Returns the name of the file `path` if it selects one of Marian's models in its folder."""
    name = Path(path).name
    if Path(path) == folder or name in _OWN or not plain_name(name).endswith(_CHOOSING):
        return None
    with LOCK:
        from cpunmt.formats.marian.marian_directory import chooses
    return name if chooses(name) else None


def missing(path: str | os.PathLike[str]) -> ModelFileError:
    """Returns the error of a path that does not exist, or is not a directory."""
    return ModelFileError(
        f"{path}: no such directory; expected a model's directory, or a fetched model's name such as firefox:ende "
        "(or opus:, argos:, hf:); see cpunmt models, and cpunmt ls for those that can be fetched"
    )


def listing(folder: Path) -> list[str]:
    """Returns the names of the files, sorted; a file and its packed forms, .gz or .zst, count once."""
    if not folder.is_dir():
        raise missing(folder)
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry, _ in zip(entries, range(_MAX_FILES + 1), strict=False) if entry.is_file()}
    except OSError as error:
        raise ModelFileError(f"{folder}: cannot list the directory: {error.strerror}") from None
    if len(names) > _MAX_FILES:
        raise ModelFileError(f"{folder}: holds over {_MAX_FILES} files, expected a model's directory")
    return packed_once(names)


def model_files(folder: Path) -> list[Path]:
    """Returns the files of a model's directory, sorted; of a package of Argos also those of the directory in it.

    Raises OSError for a directory that cannot be listed.
    """
    files = sorted(file for file in folder.iterdir() if file.is_file())
    if _reader("argos").recognizes(folder, [file.name for file in files]) and (folder / "model").is_dir():
        files += sorted(file for file in (folder / "model").iterdir() if file.is_file())
    return files


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the metadata of a model: its metadata.json, and the languages that other files name; reads no weights.

    Raises ModelFileError as `look` and the readers do.
    """
    folder = model_folder(path)
    metadata = optional_json(folder / METADATA, "model metadata")
    found = look(path)
    own = getattr(_reader(found.kind), "read_metadata", None)
    named = own(found) if own else {}
    return {name: value for name, value in metadata.items() if not named or name not in _FETCHED} | named


def read_checkpoint(path: str | os.PathLike[str] | FoundModel) -> ForeignModel:
    """Reads another program's model, its weights as they are stored. `path`: its directory, or a file in that.

    Raises ModelFileError as `look` and the readers do, and for a packed directory: it needs no conversion.
    """
    found = path if isinstance(path, FoundModel) else look(path)
    if found.kind == "packed":
        raise ModelFileError(f"{found.folder}: is packed already; load it as it is")
    return _reader(found.kind).read_directory(found)


def read_model(
    path: str | os.PathLike[str] | FoundModel, scheme: str | None = None, activation_scales: str = "dynamic"
) -> ForeignModel:
    """Reads a model ready to run: `tensors` are listed by `tensors.expected_tensors`.

    Integers are used as they are stored; float weights are quantized, or kept. The file's scales of activations are
    used only on request; by default each row has its own, which is closer to float32.

    Parameters
    ----------
    scheme : one of `config.SCHEMES`; None: int8
    activation_scales : "dynamic", or "static" for the file's

    Raises ModelFileError also for a file without such scales, and as `packed_tensors` does.
    """
    model = read_checkpoint(path)
    alphas = model.alphas if activation_scales == "static" else None
    if activation_scales == "static" and alphas is None:
        raise ModelFileError(
            f"{model.weights}: holds no activation scales (..._QuantMultA); load with activation_scales='dynamic'"
        )
    with LOCK:
        from cpunmt.formats.conversion import packed_tensors
    try:
        config, tensors = packed_tensors(model.config, model.tensors, scheme or "int8", alphas=alphas)
    except ModelFileError as error:
        raise ModelFileError(f"{model.weights}: {error}") from None
    return model._replace(config=config, tensors=dict(tensors))
