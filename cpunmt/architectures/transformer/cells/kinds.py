"""The structure of the decoder's cells. Their steps are the other files of this folder, one each.

Equations: `quantize.reference.transformer`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpunmt.layers.stored import Linear, feed_forward_linears, linear


class Cell(NamedTuple):
    """The products of a cell, and the width of its state; all sizes are multiples of model_dim, or of attention_width.

    Gates are affine maps from model_dim, name -> columns; those of one input are one product, side by side.
    """

    title: str  # for people
    gates: dict[str, int]  # of the block's input
    without_bias: tuple[str, ...] = ()  # among these
    state_gates: Mapping[str, int] = MappingProxyType({})  # of the state's first model_dim numbers, without bias
    state: int = 1  # float32 numbers that a step leaves for the next, per row and layer
    rectified: bool = False  # its output comes from a ReLU
    attentional: bool = False  # its sizes are multiples of the config's attention_width
    recurrent: bool = True  # Marian's "rnn": an affine map follows if config.cell_projection is on
    more: Callable[[Any, str, dict[str, Linear]], None] | None = None  # (config, block, linears): adds further maps


def _projected(config: Any, block: str, found: dict[str, Linear]) -> None:
    if config.attention_projection:
        found["output"] = linear(block, config.attention_width, {"output": config.model_dim})


def _averaging(config: Any, block: str, found: dict[str, Linear]) -> None:
    d = config.model_dim
    back = config.average_dim != d
    network = feed_forward_linears(
        block, d, config.average_dim, config.average_depth, config.average_activation, last=back
    )
    found |= {f"average.{name}": layer for name, layer in network.items()}
    if not config.average_gate:
        del found["input"]
    else:
        relu = config.average_activation == "relu" and "inner" in network and not back  # the network's last
        found["forget"] = linear(block, d, {"forget_gate": d})._replace(rectified=relu)


CELLS = {
    "ssru": Cell("SSRU", {"candidate": 1, "forget": 1}, without_bias=("candidate",), rectified=True),
    "sru": Cell("SRU", {"candidate": 1, "forget": 1, "reset": 1}, without_bias=("candidate",)),
    "self_attention": Cell(
        "self-attention",
        {"query": 1, "key": 1, "value": 1},
        state=0,
        attentional=True,
        recurrent=False,
        more=_projected,
    ),
    "average_attention": Cell("average-attention", {"input_gate": 1}, recurrent=False, more=_averaging),
    # the gates are reset, then update
    "gru": Cell("GRU", {"gates": 2, "candidate": 1}, state_gates={"state_gates": 2, "state_candidate": 1}),
    # forget, input, candidate, output; the state is h, then c
    "lstm": Cell("LSTM", {"gates": 4}, state_gates={"state_gates": 4}, state=2),
}


def cell_linears(config: Any, block: str) -> dict[str, Linear]:
    """Returns the linears of the cell `config.cell`, a TransformerConfig's: field of records.CELL -> Linear, in step
    order."""
    cell, d = CELLS[config.cell], config.model_dim
    unit = config.attention_width if cell.attentional else d
    gates, state_gates = ({name: unit * n for name, n in parts.items()} for parts in (cell.gates, cell.state_gates))
    found = {"input": linear(block, d, gates, without_bias=cell.without_bias)}
    if state_gates:
        found["state"] = linear(block, d, state_gates, without_bias=tuple(state_gates))
    if cell.more is not None:
        cell.more(config, block, found)
    elif config.cell_projection:
        found["output"] = linear(block, d, {"output": d})._replace(rectified=cell.rectified)
    return found
