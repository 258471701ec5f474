"""Marian's names for the parameters of a recurrent network (`s2s`, `amun`, `nematus`).

A cell is named by its layer and its place there, from 1: `encoder_bi_r_l2_cell1`; the first of a stack is
`encoder_bi_r`. Its weights are W and Wx of the input, U and Ux of the state (an LSTM has no Wx, Ux); its biases b and
bx, wherever they are added. Norms are `gamma` (Marian's: a scale, behind which those biases come) or `lns` and `lnb`.

Sources: Marian's `src/rnn/cells.h`, `src/rnn/attention.h`, `src/models/s2s.h` and `src/layers/generic.h`
(https://github.com/marian-nmt/marian-dev).
"""

from typing import NamedTuple

from cpunmt.architectures.recurrent.cells import Cell, cells
from cpunmt.formats.marian.marian_arrays import Piece, Sources
from cpunmt.formats.marian.marian_names import TABLES
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

OUTPUT = "decoder_ff_logit_l2_Wt"
OUTPUT_BIAS = "decoder_ff_logit_l2_b"
_MAPS = {"gates": "W", "candidate": "Wx", "state_gates": "U", "state_candidate": "Ux"}


class _Dense(NamedTuple):
    """What a map outside the cells is called."""

    weight: str
    bias: str | None
    gamma: str
    scale: str
    shift: str


_DENSE = {
    "attention.query": _Dense("W_comb_att", None, "att_gamma2", "W_comb_att_lns", "W_comb_att_lnb"),
    "attention.key": _Dense("Wc_att", "b_att", "att_gamma1", "Wc_att_lns", "Wc_att_lnb"),
    "start": _Dense("ff_state_W", "ff_state_b", "ff_state_gamma", "ff_state_ln_s", "ff_state_ln_b"),
    **{
        f"top.{part}": _Dense(*(f"ff_logit_l1_{name}{i}" for name in ("W", "b", "gamma", "ln_s", "ln_b")))
        for i, part in enumerate(("embedding", "state", "context"))
    },
}


def recurrent_sources(config: ModelConfig) -> Sources:
    """Canonical name of every tensor of a checkpoint -> what it is made of.

    Raises ValueError for a network that Marian does not have.
    """
    architecture = config.architecture
    if architecture.attention != "conditional" or architecture.top != "deep" or architecture.stack:
        raise ValueError("Marian has neither attention of one cell, nor other tops, nor stacks of ReLU layers")
    shapes = checkpoint_tensors(config)
    found = {**TABLES, "output": OUTPUT, "output.bias": OUTPUT_BIAS, "attention.score": "decoder_U_att"}
    for ours, names in _DENSE.items():
        theirs = _Dense(*(name and f"decoder_{name}" for name in names))
        marian = architecture.layer_norm == "marian"
        found |= {f"{ours}.weight": theirs.weight, f"{ours}.bias": theirs.bias}
        found[f"{ours}.norm.scale"] = theirs.gamma if marian else theirs.scale
        found[f"{ours}.norm.bias"] = theirs.shift
        if marian:
            (width,) = shapes[f"{ours}.norm.bias"]
            found[f"{ours}.norm.bias"] = (Piece((theirs.bias,) if theirs.bias else (), width),)
    for cell in cells(architecture):
        found |= _cell(cell, _cell_name(cell.name, architecture.encoder), architecture.layer_norm)
    return {name: found[name] for name in shapes}


def _cell_name(ours, encoder):
    """Of encoder.backward.0.0, say."""
    side, *way, layer, place = ours.split(".")
    layer, place = int(layer) + 1, int(place) + 1
    if side == "decoder":
        return f"decoder_l{layer}_cell{place}" if layer > 1 else f"decoder_cell{place}"
    if encoder == "unidirectional" and layer > 1:
        return f"encoder_l{layer}_cell{place}"
    name = "encoder_bi" if way == ["forward"] else "encoder_bi_r"
    if layer > 1:
        return f"{name}_l{layer}_cell{place}"
    return f"{name}_cell{place}" if place > 1 else name


def _cell(cell: Cell, theirs: str, layer_norm: str):
    """All that one may have, by canonical names."""
    ours, d, gru = cell.name, cell.dim, cell.kind == "gru"
    found = {}
    for name, letter in _MAPS.items():
        found[f"{ours}.{name}.weight"] = f"{theirs}_{letter}"
        found[f"{ours}.{name}.bias"] = f"{theirs}_{'bx' if letter.endswith('x') else 'b'}"
        found[f"{ours}.{name}.norm.scale"] = f"{theirs}_{letter}_lns"
        found[f"{ours}.{name}.norm.bias"] = f"{theirs}_{letter}_lnb"
    if layer_norm == "marian":
        gates, candidate = Piece((f"{theirs}_b",), cell.width - gru * d), Piece((f"{theirs}_bx",), d)
        nothing = [piece._replace(names=()) for piece in (gates, candidate)]
        of_state = [nothing[0] if cell.inputs else gates, candidate if cell.final else nothing[1]]
        of_input = [gates, nothing[1] if cell.final else candidate]
        for norm, gamma, pieces in (("input_norm", "gamma1", of_input), ("state_norm", "gamma2", of_state)):
            found[f"{ours}.{norm}.scale"] = f"{theirs}_{gamma}"
            found[f"{ours}.{norm}.bias"] = tuple(pieces if gru else pieces[:1])
    elif layer_norm == "nematus" and not cell.inputs and not cell.final:
        found[f"{ours}.state_gates.norm.bias"] = (Piece((f"{theirs}_U_lnb", f"{theirs}_b"), 2 * d),)
    return found
