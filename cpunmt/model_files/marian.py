"""Read a Marian model in `.npz` form (`model.npz`), as training leaves it: float weights, options inside."""

import os

import numpy as np

from cpunmt.config import ModelConfig
from cpunmt.errors import ModelFileError
from cpunmt.model_files.marian_layout import canonical_tensors, parameter_names, parse_options, read_config
from cpunmt.model_files.npz import read_npz

OPTIONS = "special:model.yml"
ALPHA = "_QuantMultA"  # Marian's calibrated activation multipliers: meaningless for float weights, so skipped
OUTPUT_BIAS = "decoder_ff_logit_out_b"


def read_marian_npz(path: str | os.PathLike) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Architecture and parameters: canonical name -> float32 array, weights [in, out], vectors 1-D.

    With `output-omit-bias` the output bias is zeros. End of sentence and unknown are Marian's ids 0 and 1;
    the options hold no limit on lengths, so those keep the defaults of ModelConfig.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, its architecture is not supported (every such option is named), or its
        arrays are not exactly those that the options ask for (all differences are listed).
    """
    where = os.fspath(path)
    arrays = read_npz(where)
    if OPTIONS not in arrays:
        raise ModelFileError(f"{where}: holds no {OPTIONS}; expected a model.npz written by Marian 1.0 or newer")
    options = parse_options(arrays[OPTIONS].tobytes(), where)
    config, decoder_numbers = read_config(options, where)
    for name in [name for name in arrays if name.startswith("special:") or name.endswith(ALPHA)]:
        del arrays[name]
    if options.get("output-omit-bias"):
        arrays.setdefault(OUTPUT_BIAS, np.zeros((1, config.vocab_size), np.float32))
    return config, canonical_tensors(arrays, parameter_names(config, decoder_numbers), where)
