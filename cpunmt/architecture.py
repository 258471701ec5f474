"""What a model's packed file holds: every tensor's name, type and shape, from the config alone.

Products of one input are stored as one matrix, side by side (query, key and value; both halves of the cell).
`linears` says which tensors of a float32 checkpoint they are made of; `quantize.pack` writes what
`expected_tensors` lists, and `model` refuses anything else.

A packed linear layer is four tensors (C = columns, padded to whole panels of 16; layouts: kernels/packing):

    NAME.weight    int8 [C / 16, depth / 4, 16, 4], or float32 [C / 16, depth, 16]
    NAME.bias      float32 [C]
    NAME.scale     float32 [C]        int8 only
    NAME.sums      int32 [C]          int8 only: sum of each column's integers
"""

from typing import NamedTuple

import numpy as np

from cpunmt.config import ModelConfig
from cpunmt.kernels.packing import GROUP, PANEL, panels


class Linear(NamedTuple):
    """y = x W + b, made of `parts`: (weight, bias or None) tensors of the checkpoint, side by side."""

    name: str
    parts: tuple[tuple[str, str | None], ...]
    depth: int
    columns: int


def _parts(prefix, names):
    return tuple((f"{prefix}.{name}.weight", f"{prefix}.{name}.bias") for name in names)


def encoder_linears(config: ModelConfig, layer: int) -> dict[str, Linear]:
    """Of one encoder layer: field of records.ENCODER_LAYER -> Linear."""
    d, f = config.model_dim, config.ffn_dim
    attention, forward = f"encoder.{layer}.self_attention", f"encoder.{layer}.feed_forward"
    return {
        "query_key_value": Linear(
            f"{attention}.query_key_value", _parts(attention, ("query", "key", "value")), d, 3 * d
        ),
        "attention_output": Linear(f"{attention}.output", _parts(attention, ("output",)), d, d),
        "inner": Linear(f"{forward}.inner", _parts(forward, ("inner",)), d, f),
        "outer": Linear(f"{forward}.outer", _parts(forward, ("outer",)), f, d),
    }


def decoder_linears(config: ModelConfig, parameters: int) -> dict[str, Linear]:
    """Of one decoder parameter set: field of records.DECODER_LAYER -> Linear, in the order of a step."""
    d, f = config.model_dim, config.ffn_dim
    prefix = f"decoder.{parameters}"
    cell, attention, forward = f"{prefix}.cell", f"{prefix}.cross_attention", f"{prefix}.feed_forward"
    gates = ((f"{cell}.candidate.weight", None), (f"{cell}.forget.weight", f"{cell}.forget.bias"))
    return {
        "cell": Linear(f"{cell}.candidate_forget", gates, d, 2 * d),
        "query": Linear(f"{attention}.query", _parts(attention, ("query",)), d, d),
        "attention_output": Linear(f"{attention}.output", _parts(attention, ("output",)), d, d),
        "inner": Linear(f"{forward}.inner", _parts(forward, ("inner",)), d, f),
        "outer": Linear(f"{forward}.outer", _parts(forward, ("outer",)), f, d),
        "key_value": Linear(f"{attention}.key_value", _parts(attention, ("key", "value")), d, 2 * d),
    }


def linears(config: ModelConfig) -> list[Linear]:
    """All linear layers, in the order of use; the decoder's weights of one step lie side by side."""
    found = [linear for i in range(config.encoder_layers) for linear in encoder_linears(config, i).values()]
    for parameters in range(len(set(config.decoder_parameters))):
        found += decoder_linears(config, parameters).values()
    return found


def norms(config: ModelConfig) -> list[str]:
    """Prefixes of all layer norms (`.scale` and `.bias` of each)."""
    found = [
        f"encoder.{i}.{part}.norm" for i in range(config.encoder_layers) for part in ("self_attention", "feed_forward")
    ]
    return found + [
        f"decoder.{p}.{part}.norm"
        for p in range(len(set(config.decoder_parameters)))
        for part in ("cell", "cross_attention", "feed_forward")
    ]


def checkpoint_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor of a float32 checkpoint, weights [in, out]."""
    d = config.model_dim
    found = {"embedding": (config.vocab_size, d), "output.bias": (config.vocab_size,)}
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
    """Name -> (dtype, shape) of every tensor of a packed model, in file order."""
    d, vocab = config.model_dim, config.vocab_size
    int8, int32, float32 = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.float32)
    quantized = config.scheme == "int8"
    found = {"embedding.weight": (int8 if quantized else float32, (vocab, d))}
    if quantized:
        found["embedding.scale"] = (float32, (vocab,))
        found["embedding.sums"] = (int32, (vocab,))
    found["output.bias"] = (float32, (vocab,))
    for linear in linears(config):
        count = panels(linear.columns)
        if quantized:
            found[f"{linear.name}.weight"] = (int8, (count, linear.depth // GROUP, PANEL, GROUP))
            found[f"{linear.name}.scale"] = (float32, (count * PANEL,))
            found[f"{linear.name}.sums"] = (int32, (count * PANEL,))
        else:
            found[f"{linear.name}.weight"] = (float32, (count, linear.depth, PANEL))
        found[f"{linear.name}.bias"] = (float32, (count * PANEL,))
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (float32, (d,))
    return found
