"""Loads a model directory for a `Translator`, and checks that its files fit together."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.errors import ModelFileError
from cpunmt.formats.any_directory import KINDS, is_package_file, kind_of, look, model_folder, read_model
from cpunmt.formats.foreign_model import ForeignModel, open_vocabularies
from cpunmt.formats.packed.packed_directory import WEIGHTS, PackedDirectory, read_directory
from cpunmt.formats.packed.safetensors_file import check_finite, check_tensors
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ACTIVATION_SCALES, ModelConfig
from cpunmt.model.tensors import Model, expected_tensors
from cpunmt.process.first_use import LOCK
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.shortlists.vocabulary_map import NAME as MAP
from cpunmt.text.shortlists.vocabulary_map import AnyShortlist, VocabularyMap
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import choice, inner, shown

if TYPE_CHECKING:
    from cpunmt.text.shortlists.clusters import Clusters

_TRIES = 20  # attempts to load a directory that another process replaces
_READ_NOTHING = getattr(os, "O_PATH", os.O_RDONLY)  # needs no permission to list the directory
COMPUTE_TYPES = ("default", "auto", "int8", "int8_float32", "int16", "float32")  # CTranslate2's names


class LoadedModel(NamedTuple):
    """The contents of a model directory."""

    config: ModelConfig
    metadata: dict[str, Any]
    source_vocabulary: AnyVocabulary
    target_vocabulary: AnyVocabulary
    engine: Engine


def load_model(path: Path, compute_type: str = "default", activation_scales: str | None = None) -> LoadedModel:
    """Loads a model of any kind that `formats.any_directory` knows.

    Parameters
    ----------
    path : its directory, or a file in it
    compute_type : "int8", "int16" or "float32": the type of the products. A packed model keeps its own (4 bits are
        multiplied as int8); another one is an error. Other programs' models are converted in memory. "default" is the
        type of a packed model, else int8. CTranslate2's other names mean the same here: "auto" is "default",
        "int8_float32" is "int8".
    activation_scales : "dynamic" (computed for each row of activations) or "static" (stored in a Marian model file);
        None: as the model was packed, else dynamic

    Raises ModelFileError for a missing or broken directory, ValueError for another value.
    """
    compute_type = choice("compute_type", compute_type, COMPUTE_TYPES)
    if activation_scales is not None:
        activation_scales = choice("activation_scales", activation_scales, ACTIVATION_SCALES)
    if compute_type in ("int16", "float32") and activation_scales == "static":
        raise ValueError(
            f"activation_scales is 'static', but compute_type={compute_type!r} has no 8-bit activations; leave it out"
        )
    wanted = {"default": None, "auto": None, "int8_float32": "int8"}.get(compute_type, compute_type)
    return _unreplaced(model_folder(path), lambda: _load(path, wanted, activation_scales))


def _unreplaced(path: Path, load: Callable[[], LoadedModel]) -> LoadedModel:
    """Returns the result of `load`, which has read all files from the same directory.

    Another process may replace the directory at any moment. Then the result is dropped, even if the files seem to fit,
    and `load` runs again.
    """
    for _ in range(_TRIES):
        try:
            link = _link(path)
            directory = os.open(path, _READ_NOTHING | os.O_DIRECTORY)
        except (OSError, ValueError):
            return load()  # raises: the path is missing, or not a directory
        try:
            found: LoadedModel | ModelFileError
            try:
                found = load()
            except ModelFileError as error:
                found = error
            with contextlib.suppress(OSError):
                # an open number is not reused by the system
                if os.path.samestat(os.fstat(directory), os.stat(path)) and _link(path) == link:
                    if isinstance(found, ModelFileError):
                        raise found
                    return found
        finally:
            os.close(directory)
    raise ModelFileError(f"{path}: was replaced by another directory {_TRIES} times while it was loaded; try again")


def _link(path: Path) -> tuple[int, int] | None:
    """Returns the identity of a link, or None for a directory. A link may change and change back during loading."""
    status = os.lstat(path)
    return (status.st_ino, status.st_ctime_ns) if stat.S_ISLNK(status.st_mode) else None


def _load(path: Path, wanted: str | None, activation_scales: str | None) -> LoadedModel:
    model = look(path)
    if model.kind == "packed":
        return _load_packed(model.folder, wanted, activation_scales)
    found = read_model(model, wanted, activation_scales or "dynamic")
    return _loaded(found, *open_parts(found))


def open_parts(found: ForeignModel) -> tuple[AnyVocabulary, AnyVocabulary, AnyShortlist | None]:
    """Returns (source vocabulary, target vocabulary, shortlist or None) of another program's model.

    Raises ModelFileError unless they fit the model and each other.
    """
    source, target = fitting_vocabularies(found)  # the shortlist is compared with them
    if found.shortlist is None:
        return source, target, None
    shortlist = found.shortlist.opened(source, target)
    _check_shortlist(shortlist, found.config)
    return source, target, shortlist


def packed_shortlist(packed: PackedDirectory, source: AnyVocabulary, target: AnyVocabulary) -> AnyShortlist | None:
    """Returns the shortlist of a packed model, whose vocabularies are given; None if it has none.

    Raises ModelFileError for a broken one, or one of another vocabulary.
    """
    shortlist: AnyShortlist
    if packed.shortlist is None:
        return None
    if packed.shortlist.name == MAP:
        shortlist = VocabularyMap.read(packed.shortlist, source, target)
    else:
        shortlist = Shortlist.read(packed.shortlist, source.size, target.size, packed.shortlist_sha256)
    _check_shortlist(shortlist, packed.config)
    return shortlist


def _load_packed(path: Path, wanted: str | None, activation_scales: str | None) -> LoadedModel:
    packed = read_directory(path)
    config = packed.config
    if wanted not in (None, SCHEMES[config.scheme]):
        raise ModelFileError(_other_scheme(path, packed, wanted))
    if activation_scales not in (None, config.activation_scales):
        raise ModelFileError(
            f"{path}: packed with activation_scales={config.activation_scales!r}, cannot be loaded with "
            f"{activation_scales!r}; leave activation_scales out, or load {_origin(packed)} with it"
        )
    weights = path / WEIGHTS
    check_tensors(packed.tensors, expected_tensors(config), weights)
    check_finite(packed.tensors, weights)
    source, target = fitting_vocabularies(packed)
    shortlist = packed_shortlist(packed, source, target)
    clusters = None
    if packed.clusters is not None:
        with LOCK:
            from cpunmt.formats.packed.clusters_file import read_clusters
        clusters = _by_language(read_clusters(packed.clusters, config), source, packed.clusters)
    return _loaded(packed, source, target, shortlist, clusters)


def _by_language(sets: dict[str, Clusters], source: AnyVocabulary, path: Path) -> dict[int, Clusters]:
    """Maps the source piece that names a target language to its clusters, as an Engine takes them."""
    found = {}
    for piece, clusters in sets.items():
        id_ = source.ids([piece])[0] if piece else OTHERS
        if id_ == source.unk_id:
            raise ModelFileError(
                f"{path}: clusters for {piece!r}, which is not a piece of the source vocabulary {source.path}; fetch "
                "the model again, or make its clusters again"
            )
        found[id_] = clusters
    return found


def fitting_vocabularies(found: ForeignModel | PackedDirectory) -> tuple[AnyVocabulary, AnyVocabulary]:
    """Returns (source vocabulary, target vocabulary). Raises ModelFileError unless they fit the model."""
    source, target = open_vocabularies(found)
    check_vocabulary(source, found.config, found.config.source_size)
    check_vocabulary(target, found.config, found.config.vocab_size)
    return source, target


def _loaded(
    found: ForeignModel | PackedDirectory,
    source: AnyVocabulary,
    target: AnyVocabulary,
    shortlist: AnyShortlist | None,
    clusters: dict[int, Clusters] | None = None,
) -> LoadedModel:
    tensors: dict[str, Any] = dict(found.tensors)
    engine = Engine(Model(found.config, tensors), shortlist, clusters)
    return LoadedModel(found.config, found.metadata, source, target, engine)


def contains_model(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bool:
    """Returns whether `path` looks like a model that can be loaded: a directory, a file in it, or an .argosmodel."""
    text = str.__str__(os.fsdecode(path))
    try:
        return is_package_file(text) or kind_of(text) in KINDS
    except ModelFileError:
        return False


def get_supported_compute_types(device: str = "cpu", device_index: int = 0) -> set[str]:
    """Returns the compute types that `Translator` takes on a device. Raises ValueError unless that is the CPU."""
    if device != "cpu":
        raise ValueError(f"device is {device!r}, expected 'cpu': cpunmt runs on nothing else")
    return {name for name in COMPUTE_TYPES if name not in ("default", "auto")}


def check_vocabulary(vocabulary: AnyVocabulary, config: ModelConfig, size: int | None = None) -> None:
    """Raises ModelFileError with the differences unless `vocabulary` fits the model.

    `size`: pieces of the model's source or target; None: of the target.
    """
    expected = {"size": size or config.vocab_size, "eos_id": config.eos_id, "unk_id": config.unk_id}
    wrong = [
        f"{name} {getattr(vocabulary, field)}, the model has {expected[field]}"
        for name, field in (("size", "size"), ("</s>", "eos_id"), ("<unk>", "unk_id"))
        if getattr(vocabulary, field) != expected[field]
    ]
    if wrong:
        raise ModelFileError(
            f"{vocabulary.path}: not the vocabulary of this model ({'; '.join(wrong)}); use the one it was trained with"
        )


def _check_shortlist(shortlist: AnyShortlist, config: ModelConfig) -> None:
    if isinstance(shortlist, Shortlist) and shortlist.first <= config.eos_id:
        raise ModelFileError(
            f"shortlist: the first {shortlist.first} pieces are always candidates, but </s> is piece {config.eos_id}, "
            "so no translation could end; make the shortlist with a larger first"
        )


def _other_scheme(path: Path, packed: PackedDirectory, wanted: str) -> str:
    """Returns why a packed model cannot be loaded with another compute type, and what to do: rounding cannot be
    undone."""
    scheme = packed.config.scheme
    beside = path / wanted
    if beside.is_dir():
        advice = f"load {beside}"
    elif scheme == "float32":
        advice = f"run: python -m quantize pack {path} NEW --scheme {wanted}; then load NEW"
    else:
        advice = (
            f"leave compute_type out, or load {_origin(packed)} with it: weights that were rounded to {scheme} cannot "
            f"become {wanted}"
        )
    return f"{path}: packed as {scheme}, cannot be loaded with compute_type={wanted!r}; {advice}"


def _origin(packed: PackedDirectory) -> str:
    """Describes the model from which `packed` was made, as far as its metadata say."""
    name = inner(packed.metadata, "converted_from", kind=str) or inner(packed.metadata, "checkpoint", "name", kind=str)
    return f"the model that it was made of ({shown(name)})" if name else "the model that it was made of"
