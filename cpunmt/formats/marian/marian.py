"""Read a Marian model, `.npz` as training leaves it or `.bin` as it is deployed: parameters with the options inside."""

import os
from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import open_expanded
from cpunmt.formats.marian.marian_arrays import Sources, canonical_tensors
from cpunmt.formats.marian.marian_bin import MAX_FILE, read_marian_bin
from cpunmt.formats.marian.marian_file import (
    ALPHA,
    OPTIONS,
    MarianFile,
    StoredIntegers,
    check_alpha,
    check_names,
    output_alpha,
)
from cpunmt.formats.marian.marian_names import marian_names
from cpunmt.formats.marian.marian_options import parse_options, read_config
from cpunmt.formats.marian.nematus_names import IGNORED, MARK, options_of, renamed
from cpunmt.formats.marian.npz import read_npz
from cpunmt.formats.marian.recurrent_names import recurrent_sources
from cpunmt.formats.marian.recurrent_options import TYPES, read_recurrent_config
from cpunmt.formats.marian.recurrent_widths import Padding
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, output_table


def read_marian_file(path: str | os.PathLike) -> MarianFile:
    """What the file holds, `.npz` or `.bin`, packed or not: its first bytes tell which.

    Raises
    ------
    ModelFileError
        The file is missing or damaged; see `read_marian_bin` and `npz.read_npz`. Whether the architecture is
        supported, and whether the tensors are those of the architecture, is not looked at.
    """
    with open_expanded(path, "model", MAX_FILE) as file:
        is_zip = file.read(4) == b"PK\x03\x04"
    return read_npz_model(path) if is_zip else read_marian_bin(path)


def read_npz_model(path: str | os.PathLike) -> MarianFile:
    """`read_marian_file` of an `.npz` file; its arrays have the dtypes and shapes that they have there."""
    where = os.fspath(path)
    arrays = read_npz(where, IGNORED)
    if OPTIONS in arrays:
        options = parse_options(arrays[OPTIONS].tobytes(), where)
    elif MARK in arrays:
        options = options_of(arrays, where)
    else:
        raise ModelFileError(f"{where}: holds no {OPTIONS}; expected a model.npz written by Marian 1.0 or newer")
    check_names(arrays, where)
    tensors = {name: array for name, array in arrays.items() if not name.startswith("special:")}
    alphas = {
        name.removesuffix(ALPHA): _alpha(tensors.pop(name), name, where)
        for name in list(tensors)
        if name.endswith(ALPHA)
    }
    return MarianFile(options, tensors, alphas)


def _alpha(array, name, where):
    if array.size != 1 or array.dtype.kind != "f":
        raise ModelFileError(f"{where}: {name} is {array.dtype} {array.shape}, expected one float32")
    return check_alpha(array.item(), name, where)


class Checkpoint(NamedTuple):
    """A model as its file has it, under canonical names."""

    config: ModelConfig
    tensors: dict[str, "np.ndarray | StoredIntegers"]  # what model.tensors.checkpoint_tensors lists, weights [in, out]
    alphas: dict[str, float] | None  # name of a weight, or of the output table -> multiplier of its input


def read_marian(path: str | os.PathLike) -> Checkpoint:
    """Architecture, parameters, and calibrated activation scales where the file has them.

    With `output-omit-bias` the output bias is zeros. End of sentence and unknown are Marian's ids 0 and 1;
    the options hold no limit on lengths, so those keep the defaults of ModelConfig.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, its architecture is not supported (every such option is named), or its
        arrays are not exactly those that the options ask for (all differences are listed).
    """
    where = os.fspath(path)
    options, arrays, alphas = read_marian_file(where)
    arrays = renamed(arrays, options, where)
    config, sources, padding = _architecture(options, arrays, where)
    if options.get("output-omit-bias"):
        arrays = {sources["output.bias"]: np.zeros((1, config.vocab_size), np.float32), **arrays}
    shapes = padding.shapes() if padding else checkpoint_tensors(config)
    tensors = canonical_tensors(shapes, arrays, sources, where)
    tensors = padding.padded(tensors, where) if padding else tensors
    return Checkpoint(config, tensors, _canonical_alphas(config, sources, alphas) if alphas else None)


def _architecture(options, arrays, where) -> tuple[ModelConfig, Sources, Padding | None]:
    """What the model is, what its tensors are called in the file, and what makes those wider, if anything may."""
    found = TYPES[0] if options.get("type") is None else options["type"]
    if found not in (known := ("transformer", *TYPES)):
        expected = " or ".join(map(repr, known))
        raise ModelFileError(f"{where}: not a supported architecture: type is {found!r}, supported is {expected}")
    if found in TYPES:
        config, padding = read_recurrent_config(options, where)
        return config, recurrent_sources(config), padding
    config, numbers = read_config(options, arrays, where)
    return config, marian_names(config, numbers), None


def _canonical_alphas(config, sources, alphas):
    found = {ours: alphas[theirs] for ours, theirs in sources.items() if theirs in alphas}
    table = output_table(config)
    output = output_alpha(alphas, sources[table])
    return found if output is None else {**found, table: output}
