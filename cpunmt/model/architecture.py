"""What a model's packed file holds: every tensor's name, type and shape, from the config alone.

Products of one input are stored as one matrix, side by side (query, key and value; the gates of a cell).
`linears` says which tensors of a float32 checkpoint they are made of; `quantize.checkpoints.pack` writes what
`expected_tensors` lists, and `model` refuses anything else.

A packed linear layer is some tensors (C = columns, padded to whole panels of 16; layouts: kernels/packing):

    NAME.weight      int8      int8 [C / 16, depth / 4, 16, 4]
                     int16     int16 [C / 16, depth / 2, 16, 2]
                     log4, code4    uint8 [C / 16, depth / 8, 16, 4]
                     float16, float32    float [C / 16, depth, 16]
    NAME.scale       float32 [C]       of integers
    NAME.sums        int32 [C]         int8 only: sum of each column's integers
    NAME.bias        float32 [C]
    NAME.multiplier  float32 [1]       int8 and 4 bits, if activation_scales is "static": what x is multiplied with
                                       before it is rounded; scale and bias are those of schemes.int8.static_scales

A table has a row for each piece: it looks pieces up, and as the output layer it also has "output.bias" (float32).

    NAME.weight      int8, int16 or float [pieces, d], or uint8 [pieces, d / 2]: byte i holds columns i and i + d / 2
    NAME.scale       float32 [pieces]  of integers
    NAME.sums        int32 [pieces]    int8, output layer only
"""

from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.kernels.matmul.packing import GROUP, PAIR, PANEL, panels
from cpunmt.model.config import SCHEMES, ModelConfig

_STORED = {
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "log4": np.dtype(np.uint8),
    "code4": np.dtype(np.uint8),
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
}

GATES = {  # what a cell computes from its input in one product: (name, whether it has a bias)
    "ssru": (("candidate", False), ("forget", True)),
    "sru": (("candidate", False), ("forget", True), ("reset", True)),
    "self_attention": (("query", True), ("key", True), ("value", True)),
    "average_attention": (("input_gate", True),),
}


class Linear(NamedTuple):
    """y = x W + b, made of `parts`: (weight, bias or None) tensors of the checkpoint, side by side."""

    name: str
    parts: tuple[tuple[str, str | None], ...]
    depth: int
    columns: int


def _linear(block, depth, columns, *names, name=None):
    """The Linear `name` of a block: `names` side by side, `columns` in all."""
    parts = tuple((f"{block}.{part}.weight", f"{block}.{part}.bias") for part in names)
    return Linear(f"{block}.{name or '_'.join(names)}", parts, depth, columns)


def _residual(config, block) -> dict[str, Linear]:
    d = config.model_dim
    return {"residual.highway": _linear(block, d, d, "highway")} if "h" in config.postprocess else {}


def _feed_forward(block, d, width, depth, last=True) -> dict[str, Linear]:
    """Affine maps from d to `width`, from there to itself, and back; `last`: whether the one back is there."""
    found = {"inner": _linear(block, d, width, "inner")} if depth > 1 else {}
    found |= {f"middle.{i}": _linear(block, width, width, f"middle.{i}") for i in range(depth - 2)}
    return found | ({"outer": _linear(block, width if depth > 1 else d, d, "outer")} if last else {})


def _fields(field, linears):
    return {f"{field}.{name}": linear for name, linear in linears.items()}


def encoder_linears(config: ModelConfig, layer: int) -> dict[str, Linear]:
    """Of one encoder layer: path of fields in records.ENCODER_LAYER -> Linear, in the order of use."""
    d = config.model_dim
    block = f"encoder.{layer}.self_attention"
    attention = {"query_key_value": _linear(block, d, 3 * d, "query", "key", "value")}
    if config.attention_projection:
        attention["output"] = _linear(block, d, d, "output")
    found = _fields("self_attention", attention | _residual(config, block))
    block = f"encoder.{layer}.feed_forward"
    forward = _feed_forward(block, d, config.ffn_dim, config.ffn_depth)
    return found | _fields("feed_forward", forward) | _fields("feed_forward", _residual(config, block))


def decoder_linears(config: ModelConfig, parameters: int) -> dict[str, Linear]:
    """Of one decoder parameter set: path of fields in records.DECODER_LAYER -> Linear, in the order of a step."""
    d = config.model_dim
    block = f"decoder.{parameters}.cell"
    gates = GATES[config.cell]
    parts = tuple((f"{block}.{name}.weight", f"{block}.{name}.bias" if bias else None) for name, bias in gates)
    cell = {"input": Linear(f"{block}.{'_'.join(name for name, _ in gates)}", parts, d, len(gates) * d)}
    if config.cell == "average_attention":
        back = config.average_dim != d
        cell |= _fields("average", _feed_forward(block, d, config.average_dim, config.average_depth, last=back))
        if not config.average_gate:
            del cell["input"]
        else:
            cell["forget"] = _linear(block, d, d, "forget_gate")
    elif config.attention_projection if config.cell == "self_attention" else config.cell_projection:
        cell["output"] = _linear(block, d, d, "output")
    found = _fields("cell", cell | _residual(config, block))
    block = f"decoder.{parameters}.cross_attention"
    attention = {"query": _linear(block, d, d, "query")}
    if config.attention_projection:
        attention["output"] = _linear(block, d, d, "output")
    found |= _fields("cross_attention", attention | _residual(config, block))
    block = f"decoder.{parameters}.feed_forward"
    found |= _fields("feed_forward", _feed_forward(block, d, config.decoder_width, config.decoder_ffn_depth))
    found |= _fields("feed_forward", _residual(config, block))
    block = f"decoder.{parameters}.cross_attention"
    return found | {"cross_attention.key_value": _linear(block, d, 2 * d, "key", "value")}


def linears(config: ModelConfig) -> list[Linear]:
    """All linear layers, in the order of use; the decoder's weights of one step lie side by side."""
    found = [linear for i in range(config.encoder_layers) for linear in encoder_linears(config, i).values()]
    for parameters in range(config.decoder_sets):
        found += decoder_linears(config, parameters).values()
    return found


def _norms(config, prefix, blocks) -> dict[str, str]:
    found = {}
    for block in blocks:
        if "n" in config.preprocess:
            found[f"{block}.residual.before"] = f"{prefix}.{block}.pre_norm"
        if "n" in config.postprocess:
            found[f"{block}.residual.after"] = f"{prefix}.{block}.norm"
    return found


def encoder_norms(config: ModelConfig, layer: int) -> dict[str, str]:
    """Of one encoder layer: path of fields in records.ENCODER_LAYER -> prefix of `.scale` and `.bias`."""
    return _norms(config, f"encoder.{layer}", ("self_attention", "feed_forward"))


def decoder_norms(config: ModelConfig, parameters: int) -> dict[str, str]:
    """The same of a decoder parameter set."""
    return _norms(config, f"decoder.{parameters}", ("cell", "cross_attention", "feed_forward"))


def other_norms(config: ModelConfig) -> dict[str, str]:
    """Layer norms outside the layers: field of records.MODEL -> prefix."""
    found = {}
    for side in ("encoder", "decoder"):
        if config.embedding_norm:
            found[f"{side}_embedding_norm"] = f"{side}.embedding_norm"
        if config.top_norm:
            found[f"{side}_top_norm"] = f"{side}.top_norm"
    return found


def norms(config: ModelConfig) -> list[str]:
    """Prefixes of all layer norms (`.scale` and `.bias` of each)."""
    found = [name for i in range(config.encoder_layers) for name in encoder_norms(config, i).values()]
    found += [name for p in range(config.decoder_sets) for name in decoder_norms(config, p).values()]
    return found + list(other_norms(config).values())


def tables(config: ModelConfig) -> dict[str, str]:
    """Which table is the source's, the target's and the output layer: they may be one."""
    target = "embedding" if config.shared_embedding else "target_embedding"
    return {
        "source": "embedding" if config.shared_embedding else "source_embedding",
        "target": target,
        "output": target if config.tied_output else "output",
    }


def output_table(config: ModelConfig) -> str:
    """The table that is the output layer."""
    return tables(config)["output"]


def table_sizes(config: ModelConfig) -> dict[str, int]:
    """Rows of each table."""
    names = tables(config)
    return {names["source"]: config.source_size, names["target"]: config.vocab_size, names["output"]: config.vocab_size}


def checkpoint_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor of a float32 checkpoint, weights [in, out], tables [pieces, model_dim].

    Trained positions may have any number of rows: their shape is (0, model_dim).
    """
    d = config.model_dim
    found = {name: (size, d) for name, size in table_sizes(config).items()}
    found["output.bias"] = (config.vocab_size,)
    if config.positions == "trained":
        found["positions"] = (0, d)
    for linear in linears(config):
        width = linear.columns // len(linear.parts)
        for weight, bias in linear.parts:
            found[weight] = (linear.depth, width)
            if bias:
                found[bias] = (width,)
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (d,)
    return found


def expected_tensors(config: ModelConfig) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Name -> (dtype, shape) of every tensor of a packed model, in file order. Positions: see above."""
    check_schemes(config)
    d, float32 = config.model_dim, np.dtype(np.float32)
    found = {}
    for name, size in table_sizes(config).items():
        scheme = config.scheme_of(name)
        per_byte = 2 if scheme in ("log4", "code4") else 1
        found[f"{name}.weight"] = (_STORED[scheme], (size, d // per_byte))
        found |= _beside(name, scheme, size, sums=name == output_table(config))
    found["output.bias"] = (float32, (config.vocab_size,))
    if config.positions == "trained":
        found["positions"] = (float32, (0, d))
    for linear in linears(config):
        scheme, count = config.scheme_of(linear.name), panels(linear.columns)
        found[f"{linear.name}.weight"] = (_STORED[scheme], (count, *_inside_panel(scheme, linear.depth)))
        found |= _beside(linear.name, scheme, count * PANEL)
        found[f"{linear.name}.bias"] = (float32, (count * PANEL,))
        if is_static(config, linear.name):
            found[f"{linear.name}.multiplier"] = (float32, (1,))
    if is_static(config, output_table(config)):
        found["output.multiplier"] = (float32, (1,))
        found["output.scale"] = (float32, (config.vocab_size,))
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (float32, (d,))
    return found


def _inside_panel(scheme, depth):
    """Shape of one panel of a linear layer's weights."""
    return {
        "int8": (depth // GROUP, PANEL, GROUP),
        "int16": (depth // PAIR, PANEL, PAIR),
        "log4": (depth // (2 * GROUP), PANEL, GROUP),
        "code4": (depth // (2 * GROUP), PANEL, GROUP),
    }.get(scheme, (depth, PANEL))


def _beside(name, scheme, size, sums=True):
    """The tensors that integers need beside them."""
    found = {f"{name}.scale": (np.dtype(np.float32), (size,))} if SCHEMES[scheme] != "float32" else {}
    return found | ({f"{name}.sums": (np.dtype(np.int32), (size,))} if scheme == "int8" and sums else {})


def is_static(config: ModelConfig, name: str) -> bool:
    """Whether what a layer or the output table multiplies is quantized with a scale that was found beforehand."""
    return config.activation_scales == "static" and SCHEMES[config.scheme_of(name)] == "int8"


def matrices(config: ModelConfig) -> list[str]:
    """Names of all that has a scheme: the tables, then the linear layers."""
    return [*table_sizes(config), *(linear.name for linear in linears(config))]


def check_schemes(config: ModelConfig):
    """Raise ModelFileError for an exception to the scheme that names nothing of this architecture."""
    unknown = sorted({name for name, _ in config.schemes} - set(matrices(config)))
    if unknown:
        raise ModelFileError(
            f"config: schemes names {', '.join(unknown)}, but the model has {', '.join(matrices(config))}"
        )
