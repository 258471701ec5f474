"""A model directory as a `Translator` wants it: checked, its files fit each other, ready to translate."""

from pathlib import Path
from typing import NamedTuple

from cpunmt.architecture import expected_tensors
from cpunmt.config import ModelConfig
from cpunmt.engine import Engine
from cpunmt.errors import ModelFileError
from cpunmt.model import Model
from cpunmt.model_files.packed_directory import CONFIG, WEIGHTS, read_directory
from cpunmt.model_files.safetensors_file import check_finite, check_tensors
from cpunmt.shortlist import Shortlist
from cpunmt.vocabulary import Vocabulary

COMPUTE_TYPES = ("default", "auto", "int8", "int8_float32", "float32")  # CTranslate2's names


class LoadedModel(NamedTuple):
    """All that a model directory holds."""

    config: ModelConfig
    metadata: dict
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    engine: Engine


def load_model(path: Path, compute_type: str = "default") -> LoadedModel:
    """Load a packed model directory.

    `compute_type` says what the model must be packed as: "int8" or "float32", or "default", whichever it is.
    CTranslate2's other names mean the same here: "auto" is "default", "int8_float32" is "int8".

    Raises ModelFileError for a missing or broken directory, ValueError for another compute type.
    """
    if compute_type not in COMPUTE_TYPES:
        expected = ", ".join(map(repr, COMPUTE_TYPES))
        raise ValueError(f"compute_type is {compute_type!r}, expected one of {expected}")
    packed = read_directory(path)
    config = packed.config
    wanted = {"default": config.scheme, "auto": config.scheme, "int8_float32": "int8"}.get(compute_type, compute_type)
    if wanted != config.scheme:
        raise ModelFileError(_other_scheme(path, config.scheme, wanted))
    weights = path / WEIGHTS
    check_tensors(packed.tensors, expected_tensors(config), weights)
    check_finite(packed.tensors, weights)
    source = target = Vocabulary(packed.source_vocabulary)
    if packed.target_vocabulary != packed.source_vocabulary:
        target = Vocabulary(packed.target_vocabulary)
    for vocabulary in (source, target):
        check_vocabulary(vocabulary, config)
    shortlist = None
    if packed.shortlist is not None:
        size = config.vocab_size
        shortlist = Shortlist.read(packed.shortlist, size, size, packed.shortlist_sha256)
        if shortlist.first <= config.eos_id:
            raise ModelFileError(
                f"{packed.shortlist}: the first {shortlist.first} pieces are always candidates, but </s> is piece "
                f"{config.eos_id}, so no translation could end; make the shortlist with a larger first"
            )
    return LoadedModel(config, packed.metadata, source, target, Engine(Model(config, packed.tensors), shortlist))


def contains_model(path) -> bool:
    """Whether `path` looks like a model directory: its config and its weights are there."""
    return all((Path(path) / name).is_file() for name in (CONFIG, WEIGHTS))


def get_supported_compute_types(device: str = "cpu", device_index: int = 0) -> set[str]:
    """Compute types that `Translator` takes on a device. Raises ValueError for another device than the CPU."""
    if device != "cpu":
        raise ValueError(f"device is {device!r}, expected 'cpu': cpunmt runs on nothing else")
    return set(COMPUTE_TYPES) - {"default", "auto"}


def check_vocabulary(vocabulary: Vocabulary, config: ModelConfig):
    """Raise ModelFileError, saying how they differ, unless `vocabulary` can be that of the model."""
    wrong = [
        f"{name} {getattr(vocabulary, ours)}, the model has {getattr(config, theirs)}"
        for name, ours, theirs in (
            ("size", "size", "vocab_size"),
            ("</s>", "eos_id", "eos_id"),
            ("<unk>", "unk_id", "unk_id"),
        )
        if getattr(vocabulary, ours) != getattr(config, theirs)
    ]
    if wrong:
        raise ModelFileError(
            f"{vocabulary.path}: not the vocabulary of this model ({'; '.join(wrong)}); use the one it was trained with"
        )


def _other_scheme(path, scheme, wanted):
    beside = path / wanted
    advice = f"load {beside}" if beside.is_dir() else f"pack the model again with --scheme {wanted}"
    return f"{path}: packed as {scheme}, cannot be loaded with compute_type={wanted!r}; {advice}"
