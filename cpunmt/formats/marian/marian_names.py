"""Marian's names for the parameters of a model, and its arrays under ours.

Marian names parameters by their layers, from 1: `encoder_l1_self_Wq`. Weights are [in, out]; tables are [pieces,
model_dim]. An output layer that is not tied is a table `decoder_ff_logit_out_Wt`, or in older files its transpose
`decoder_ff_logit_out_W`.

Sources: as of `marian_options`.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

OUTPUT_BIAS = "decoder_ff_logit_out_b"
OUTPUT = "decoder_ff_logit_out_Wt"
OUTPUT_TRANSPOSED = "decoder_ff_logit_out_W"
# part of a block -> how its weight ends, after W, and its bias, after b
_ENDINGS = {name: name[0] for name in ("query", "key", "value", "output", "forget", "reset")}
_ENDINGS |= {"candidate": "", "input_gate": "i", "forget_gate": "f"}
# block -> what its parameters are called, and its layer norms and highways, after the layer's name
_BLOCKS = {
    "self_attention": ("self", "self_Wo"),
    "cross_attention": ("context", "context_Wo"),
    "feed_forward": ("ffn", "ffn_ffn"),
    "average_attention": ("aan", "aan_ffn"),
    **{name: ("rnn", "rnn_ffn") for name, cell in CELLS.items() if cell.recurrent},
}
# cell -> part -> how Marian calls its weight, and its bias if it has one, where that is not by these endings
_CELLS = {
    "gru": {
        "gates": ("W", "b"),
        "candidate": ("Wx", "bx"),
        "state_gates": ("U",),
        "state_candidate": ("Ux",),
    },
    "lstm": {"gates": ("W", "b"), "state_gates": ("U",)},
}


def marian_names(config: ModelConfig, decoder_numbers: list[int]) -> dict[str, str]:
    """Canonical name of every parameter of a checkpoint -> Marian's name."""
    return dict(_names(config, decoder_numbers))


def _names(config, decoder_numbers) -> Iterator[tuple[str, str]]:
    for name in checkpoint_tensors(config):
        if "." not in name or name == "output.bias":
            yield name, _outside(config, name)
            continue
        side, layer, *rest = name.split(".")
        if not layer.isdecimal():  # encoder.top_norm.scale
            kind, vector = layer.removesuffix("_norm"), rest[0]
            suffix = "_pre" if kind == "embedding" else ""
            yield name, f"{side}_{'emb' if kind == 'embedding' else kind}_ln_{vector}{suffix}"
            continue
        number = int(layer) + 1 if side == "encoder" else decoder_numbers[int(layer)]
        yield name, f"{side}_l{number}_{_inside(config, side, *rest)}"


def _outside(config, name):
    if name == "output.bias":
        return OUTPUT_BIAS
    shared = "Wemb" if config.shared_embedding else None
    return {
        "embedding": "Wemb",
        "source_embedding": shared or "encoder_Wemb",
        "target_embedding": shared or "decoder_Wemb",
        "output": OUTPUT,
        "positions": "Wpos",
    }[name]


def _inside(config, side, block, *parts):
    """Name after the layer's of, say, ("cross_attention", "query", "weight")."""
    *path, vector = parts
    kind = config.architecture.cell if block == "cell" else block
    prefix, around = _BLOCKS[kind]
    if path[0] == "norm":
        return f"{around}_ln_{vector}"
    if path[0] == "pre_norm":
        return f"{'rnn' if prefix == 'rnn' else around}_ln_{vector}_pre"
    letter = {"weight": "W", "bias": "b"}[vector]
    if path[0] == "highway":
        return f"{around}_{letter}h"
    if path[0] in ("inner", "middle", "outer"):
        depth = config.architecture.average_depth if block == "cell" else _depth(config, side)
        number = {"inner": 1, "outer": depth}.get(path[0]) or int(path[1]) + 2
        return f"{prefix}_{letter}{number}"
    names = _CELLS.get(kind, {}).get(path[0])
    return f"{prefix}_{names[vector == 'bias'] if names else letter + _ENDINGS[path[0]]}"


def _depth(config, side):
    return config.architecture.ffn_depth if side == "encoder" else config.architecture.decoder_ffn_depth


def canonical_tensors(
    config: ModelConfig, arrays: Mapping, decoder_numbers: list[int], where: str
) -> dict[str, "np.ndarray | StoredIntegers"]:
    """Marian's arrays under canonical names: float32, C order, vectors 1-D ([1, n] in Marian's older files), or
    integers as they are stored.

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped, non-float and non-finite array.
    """
    arrays = dict(arrays)
    if OUTPUT_TRANSPOSED in arrays and OUTPUT not in arrays:
        arrays[OUTPUT] = _transposed(arrays.pop(OUTPUT_TRANSPOSED))
    names, shapes = marian_names(config, decoder_numbers), checkpoint_tensors(config)
    expected = set(names.values())
    problems = [f"{name} is missing" for name in sorted(expected - set(arrays))]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - expected)]
    tensors = {}
    for ours, theirs in names.items():
        if theirs not in arrays:
            continue
        array, shape = arrays[theirs], shapes[ours]
        if ours == "positions" and len(array.shape) == 2:
            shape = (max(1, array.shape[0]), shape[1])
        if array.shape != shape and not (len(shape) == 1 and array.shape == (1, *shape)):
            problems.append(f"{theirs} has shape {array.shape}, expected {shape}")
        elif isinstance(array, StoredIntegers):
            tensors[ours] = array
        elif array.dtype.kind != "f":
            problems.append(f"{theirs} has dtype {array.dtype}, expected a float")
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # too large a float64 becomes inf, caught below
                tensors[ours] = np.array(array.reshape(shape), np.float32, order="C")
            if not np.isfinite(tensors[ours]).all():
                problems.append(f"{theirs} holds NaN or infinity")
    if problems:
        raise ModelFileError(f"{where}: does not hold the parameters that its options ask for: {'; '.join(problems)}")
    return tensors


def _transposed(array):
    if isinstance(array, StoredIntegers):
        return array._replace(transposed=not array.transposed)
    return np.ascontiguousarray(array.T)
