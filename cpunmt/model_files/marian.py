"""Read a Marian model, `.npz` as training leaves it or `.bin` as it is deployed: parameters with the options inside."""

import os
from collections.abc import Mapping

import numpy as np

from cpunmt.config import ModelConfig
from cpunmt.errors import ModelFileError
from cpunmt.gzip_file import open_expanded
from cpunmt.model_files.marian_bin import MAX_FILE, read_marian_bin
from cpunmt.model_files.marian_file import ALPHA, OPTIONS, MarianFile, check_alpha, check_names
from cpunmt.model_files.marian_layout import canonical_tensors, parameter_names, parse_options, read_config
from cpunmt.model_files.npz import read_npz

OUTPUT_BIAS = "decoder_ff_logit_out_b"


def read_marian_file(path: str | os.PathLike) -> MarianFile:
    """What the file holds, `.npz` or `.bin`, gzipped or not: its first bytes tell which.

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
    arrays = read_npz(where)
    if OPTIONS not in arrays:
        raise ModelFileError(f"{where}: holds no {OPTIONS}; expected a model.npz written by Marian 1.0 or newer")
    options = parse_options(arrays[OPTIONS].tobytes(), where)
    check_names(arrays, where)
    tensors = {name: array for name, array in arrays.items() if not name.startswith("special:")}
    alphas = {name.removesuffix(ALPHA): _alpha(tensors.pop(name), name, where) for name in _alpha_names(tensors)}
    return MarianFile(options, tensors, alphas)


def _alpha_names(tensors: Mapping) -> list[str]:
    return [name for name in tensors if name.endswith(ALPHA)]


def _alpha(array, name, where):
    if array.size != 1 or array.dtype.kind != "f":
        raise ModelFileError(f"{where}: {name} is {array.dtype} {array.shape}, expected one float32")
    return check_alpha(array.item(), name, where)


def read_marian_npz(path: str | os.PathLike) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Architecture and parameters: canonical name -> float32 array, weights [in, out], vectors 1-D.

    With `output-omit-bias` the output bias is zeros. End of sentence and unknown are Marian's ids 0 and 1;
    the options hold no limit on lengths, so those keep the defaults of ModelConfig. Alphas are left out: they
    are meaningless for float weights.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, its architecture is not supported (every such option is named), or its
        arrays are not exactly those that the options ask for (all differences are listed).
    """
    where = os.fspath(path)
    options, arrays, _ = read_npz_model(where)
    config, decoder_numbers = read_config(options, where)
    if options.get("output-omit-bias"):
        arrays.setdefault(OUTPUT_BIAS, np.zeros((1, config.vocab_size), np.float32))
    return config, canonical_tensors(arrays, parameter_names(config, decoder_numbers), where)
