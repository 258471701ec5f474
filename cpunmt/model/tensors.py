"""The tensors in a model's files: the name, type and shape of each, from the config alone.

`checkpoint_tensors` lists those of a float32 checkpoint, `expected_tensors` those of a packed model, in which products
of one input are one matrix (see `layers.stored`). `model` refuses any other tensor.
"""

import numpy as np

from cpunmt.architectures.families import family_of
from cpunmt.errors import ModelFileError
from cpunmt.layers.schemes import SCHEMES
from cpunmt.layers.stored import Linear, Tensors, linear_tensors, table_tensors
from cpunmt.model.config import ModelConfig


def linears(config: ModelConfig) -> list[Linear]:
    """Returns all linear layers, in the order of use."""
    return family_of(config.architecture).linears(config.architecture)


def norms(config: ModelConfig) -> list[str]:
    """Returns the prefixes of all layer norms (`.scale` and `.bias` of each)."""
    return family_of(config.architecture).norms(config.architecture)


def others(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Returns the float32 tensors outside the layers; the number of rows of `positions`, which may vary, is given as
    0."""
    return family_of(config.architecture).others(config.architecture)


def tables(config: ModelConfig) -> dict[str, str]:
    """Returns the tables of the source, the target and the output layer, which may be the same."""
    target = "embedding" if config.shared_embedding else "target_embedding"
    return {
        "source": "embedding" if config.shared_embedding else "source_embedding",
        "target": target,
        "output": target if config.tied_output else "output",
    }


def output_table(config: ModelConfig) -> str:
    """Returns the table that is the output layer."""
    return tables(config)["output"]


def table_sizes(config: ModelConfig) -> dict[str, int]:
    """Returns the rows of each table."""
    names = tables(config)
    return {names["source"]: config.source_size, names["target"]: config.vocab_size, names["output"]: config.vocab_size}


def checkpoint_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Returns name -> shape of every tensor of a float32 checkpoint, weights [in, out], tables [pieces, model_dim].

    Trained positions may have any number of rows: their shape is (0, model_dim).
    """
    d = config.architecture.model_dim
    found = {name: (size, d) for name, size in table_sizes(config).items()}
    found["output.bias"] = (config.vocab_size,)
    found |= others(config)
    for linear in linears(config):
        for (weight, bias), width in zip(linear.parts, linear.widths, strict=True):
            found[weight] = (linear.depth, width)
            if bias:
                found[bias] = (width,)
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (d,)
    return found


def expected_tensors(config: ModelConfig) -> Tensors:
    """Returns name -> (dtype, shape) of every tensor of a packed model, in file order. Positions: see above."""
    check_schemes(config)
    d, float32, output = config.architecture.model_dim, np.dtype(np.float32), output_table(config)
    found = {}
    for name, size in table_sizes(config).items():
        found |= table_tensors(name, size, d, config.scheme_of(name), name == output)
    found["output.bias"] = (float32, (config.vocab_size,))
    found |= {name: (float32, shape) for name, shape in others(config).items()}
    for linear in linears(config):
        found |= linear_tensors(linear, config.scheme_of(linear.name), is_static(config, linear.name))
    if is_static(config, output):
        found["output.multiplier"] = (float32, (1,))
        found["output.scale"] = (float32, (config.vocab_size,))
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (float32, (d,))
    return found


def is_static(config: ModelConfig, name: str) -> bool:
    """Returns whether the input of a layer or the output table is quantized with a scale that the model stores."""
    return config.activation_scales == "static" and SCHEMES[config.scheme_of(name)] == "int8"


def second_layout_bytes(config: ModelConfig) -> int:
    """Returns the bytes of the weights that a model also stores by depth, for 8-bit products that skip zeros."""
    used = (linear for linear in linears(config) if SCHEMES[config.scheme_of(linear.name)] == "int8")
    return sum(linear.by_depth_bytes for linear in used)


def matrices(config: ModelConfig) -> list[str]:
    """Returns the names of all matrices that have a scheme: the tables, then the linear layers."""
    return [*table_sizes(config), *(linear.name for linear in linears(config))]


def check_schemes(config: ModelConfig):
    """Raises ModelFileError if an exception to the scheme names a matrix that this architecture lacks."""
    unknown = sorted({name for name, _ in config.schemes} - set(matrices(config)))
    if unknown:
        raise ModelFileError(
            f"config: schemes names {', '.join(unknown)}, but the model has {', '.join(matrices(config))}"
        )
