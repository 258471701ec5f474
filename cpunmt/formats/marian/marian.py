"""Reads a Marian model, `.npz` from training or `.bin` for deployment: parameters with the options inside.

An output layer that is not tied is a table `NAME_Wt`, or in older files its transpose `NAME_W`.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import open_expanded
from cpunmt.formats.foreign_model import StoredIntegers, Weight
from cpunmt.formats.marian.marian_bin import ALPHA, MAX_FILE, OPTIONS, check_alpha, check_names, read_marian_bin
from cpunmt.formats.marian.marian_recurrent import TYPES, Padding, Sources, read_recurrent_config, recurrent_sources
from cpunmt.formats.marian.marian_transformer import marian_names, parse_options, read_config
from cpunmt.formats.marian.nematus_names import IGNORED, MARK, options_of, renamed
from cpunmt.formats.marian.npz import read_npz
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, output_table

_COLUMNS = ("attention.score",)  # vectors that are [n, 1] in Marian


class MarianFile(NamedTuple):
    """Options, parameters and calibration of a model.

    Attributes
    ----------
    options : dict
        `special:model.yml`, read by `parse_options`.
    tensors : dict
        Marian's name -> float array or `StoredIntegers`, in the order of the file; no `special:` items, no alphas.
    alphas : name of a weight -> multiplier of the activations it is multiplied with; see `output_alpha`. May be empty.
    """

    options: dict[str, Any]
    tensors: Mapping[str, Weight]
    alphas: dict[str, float]


class Checkpoint(NamedTuple):
    """A file's model, under canonical names."""

    config: ModelConfig
    tensors: dict[str, Weight]  # those of model.tensors.checkpoint_tensors, weights [in, out]
    alphas: dict[str, float] | None  # name of a weight, or of the output table -> multiplier of its input


def read_marian_file(path: str | os.PathLike[str]) -> MarianFile:
    """Reads the content of a file, `.npz` or `.bin`, packed or not; its first bytes determine the format.

    Raises
    ------
    ModelFileError
        The file is missing or damaged; see `read_marian_bin` and `npz.read_npz`. Architecture and names of tensors are
        not checked.
    """
    where = os.fspath(path)
    with open_expanded(where, "model", MAX_FILE) as file:
        is_zip = file.read(4) == b"PK\x03\x04"
    if not is_zip:
        text, tensors, alphas = read_marian_bin(where)
        return MarianFile(parse_options(text, where), tensors, alphas)
    arrays = read_npz(where, IGNORED)
    if OPTIONS in arrays:
        options = parse_options(arrays[OPTIONS].tobytes(), where)
    elif MARK in arrays:
        options = options_of(arrays, where)
    else:
        raise ModelFileError(f"{where}: holds no {OPTIONS}; expected a model.npz written by Marian 1.0 or newer")
    check_names(arrays, where)
    scales = {name: arrays.pop(name) for name in list(arrays) if name.endswith(ALPHA) and name[:8] != "special:"}
    for name, array in scales.items():
        if array.size != 1 or array.dtype.kind != "f":
            raise ModelFileError(f"{where}: {name} is {array.dtype} {array.shape}, expected one float32")
    alphas = {name.removesuffix(ALPHA): check_alpha(array.item(), name, where) for name, array in scales.items()}
    return MarianFile(options, {name: arrays[name] for name in arrays if name[:8] != "special:"}, alphas)


def read_marian(path: str | os.PathLike[str]) -> Checkpoint:
    """Reads architecture, parameters, and the file's calibrated activation scales.

    With `output-omit-bias` the output bias is zeros. End of sentence and unknown are Marian's ids 0 and 1; the options
    hold no limit on lengths, so the defaults of ModelConfig apply.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, its architecture is not supported (every such option is named), or its
        arrays differ from the options' (all differences are listed).
    """
    where = os.fspath(path)
    options, arrays, alphas = read_marian_file(where)
    arrays = dict(renamed(arrays, options, where) if MARK in arrays else arrays)
    type_ = TYPES[0] if options.get("type") is None else options["type"]
    padding: Padding | None = None
    sources: Sources
    if type_ == "transformer":
        config, numbers = read_config(options, arrays, where)
        sources = marian_names(config, numbers)
    elif type_ in TYPES:
        config, padding = read_recurrent_config(options, where)
        sources = recurrent_sources(config)
    else:
        expected = " or ".join(map(repr, ("transformer", *TYPES)))
        raise ModelFileError(f"{where}: not a supported architecture: type is {type_!r}, supported is {expected}")
    bias = sources["output.bias"]
    if options.get("output-omit-bias") and isinstance(bias, str):
        arrays = {bias: np.zeros((1, config.vocab_size), np.float32), **arrays}
    shapes = padding.shapes() if padding else checkpoint_tensors(config)
    tensors = canonical_tensors(shapes, arrays, sources, where)
    tensors = padding.padded(tensors, where) if padding else tensors
    return Checkpoint(config, tensors, _canonical_alphas(config, sources, alphas) if alphas else None)


def _canonical_alphas(config: ModelConfig, sources: Sources, alphas: Mapping[str, float]) -> dict[str, float]:
    scales = {ours: alphas[theirs] for ours, theirs in sources.items() if isinstance(theirs, str) and theirs in alphas}
    table = output_table(config)
    output = output_alpha(alphas, str(sources[table]))
    return scales if output is None else {**scales, table: output}


def output_alpha(alphas: Mapping[str, float], embedding: str) -> float | None:
    """Returns the activation multiplier of the output layer whose weight is `embedding`; None without one.

    Marian runs the output layer as a weight without a name, "none", so that entry counts first.
    """
    return next((alphas[name] for name in ("none", embedding, "Wemb") if name in alphas), None)


def canonical_tensors(
    wanted: Mapping[str, tuple[int, ...]], arrays: dict[str, Weight], sources: Sources, where: str
) -> dict[str, Weight]:
    """Returns Marian's arrays under canonical names: float32, C order, vectors 1-D ([1, n] in Marian's older files), or
    integers as they are stored. `wanted`: the shape of each.

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped, non-float and non-finite array.
    """
    output = sources.get("output", "")
    if isinstance(output, str) and output not in arrays and output[:-1] in arrays:
        old = arrays.pop(output[:-1])
        if isinstance(old, StoredIntegers):
            arrays[output] = old._replace(values=old.values.T)
        else:
            arrays[output] = np.ascontiguousarray(old.T)
    shapes = dict(_shapes(sources, wanted, arrays))
    problems = [f"{name} is missing" for name in sorted(set(shapes) - set(arrays))]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - set(shapes))]
    tensors: dict[str, Weight] = {}
    for name, shape in shapes.items():
        if name not in arrays:
            continue
        array = arrays[name]
        has = (array.values if isinstance(array, StoredIntegers) else array).shape
        if has != shape and not (len(shape) == 1 and has == (1, *shape)):
            problems.append(f"{name} has shape {has}, expected {shape}")
        elif isinstance(array, StoredIntegers):
            tensors[name] = array
        elif array.dtype.kind != "f":
            problems.append(f"{name} has dtype {array.dtype}, expected a float")
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # too large a float64 becomes inf, caught below
                tensors[name] = floats = np.array(array.reshape(shape), np.float32, order="C")
            if not np.isfinite(floats).all():
                problems.append(f"{name} holds NaN or infinity")
    if problems:
        raise ModelFileError(f"{where}: does not hold the parameters that its options ask for: {'; '.join(problems)}")
    made: dict[str, Weight] = {}
    for ours, source in sources.items():
        if isinstance(source, str):
            made[ours] = np.asarray(tensors[source]).reshape(-1) if ours in _COLUMNS else tensors[source]
        else:
            vectors = [[np.asarray(tensors[name]) for name in piece.names] for piece in source]
            zeros = [np.zeros(piece.width, np.float32) for piece in source]
            made[ours] = np.concatenate([sum(parts, zero) for parts, zero in zip(vectors, zeros, strict=True)])
    return made


def _shapes(
    sources: Sources, shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Weight]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields (Marian's name, shape) of every required array."""
    for ours, source in sources.items():
        if not isinstance(source, str):
            yield from ((name, (piece.width,)) for piece in source for name in piece.names)
        elif ours in _COLUMNS:
            yield source, (*shapes[ours], 1)
        elif ours == "positions" and source in arrays and len(arrays[source].shape) == 2:
            yield source, (max(1, arrays[source].shape[0]), shapes[ours][1])
        else:
            yield source, shapes[ours]
