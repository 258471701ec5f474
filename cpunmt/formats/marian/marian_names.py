"""Marian's names for the parameters of a Transformer.

Marian names parameters by their layers, from 1: `encoder_l1_self_Wq`. Weights are [in, out]; tables are [pieces,
model_dim].

Sources: as of `marian_options`.
"""

from collections.abc import Iterator

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

OUTPUT_BIAS = "decoder_ff_logit_out_b"
OUTPUT = "decoder_ff_logit_out_Wt"
TABLES = {"embedding": "Wemb", "source_embedding": "encoder_Wemb", "target_embedding": "decoder_Wemb"}
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
    return {**TABLES, "output": OUTPUT, "output.bias": OUTPUT_BIAS, "positions": "Wpos"}[name]


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
