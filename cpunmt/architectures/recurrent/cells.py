"""The cells of a recurrent network: their positions and products."""

from collections.abc import Mapping
from typing import NamedTuple

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.layers.stored import Linear, linear


class Cell(NamedTuple):
    """One cell within one time step.

    A final cell has the candidate's bias inside the reset gate, with the product of the state (GRU).
    """

    name: str  # prefix of its tensors
    kind: str  # gru or lstm
    dim: int  # of its state; an LSTM has two states of this size
    inputs: int  # width of its input except the state; 0: a transition
    final: bool = False
    context: int = 0  # width of the context that it reads beside its input

    @property
    def state(self) -> int:
        """The number of float32 numbers in its state."""
        return self.dim * (2 if self.kind == "lstm" else 1)

    @property
    def gates(self) -> dict[str, int]:
        """The maps of the input, side by side: GRU reset and update; LSTM forget, input, candidate, output."""
        return {"gates": 4 * self.dim} if self.kind == "lstm" else {"gates": 2 * self.dim, "candidate": self.dim}

    @property
    def state_gates(self) -> dict[str, int]:
        """The maps of the state, side by side."""
        return {f"state_{name}": width for name, width in self.gates.items()}

    @property
    def context_gates(self) -> dict[str, int]:
        """The maps of the context, side by side, without bias."""
        return {f"context_{name}": width for name, width in self.gates.items()} if self.context else {}

    @property
    def width(self) -> int:
        """The number of columns of its gates together: the same for input, state and context."""
        return sum(self.gates.values())

    def biases(self, layer_norm: str) -> tuple[str, ...]:
        """Returns the maps with their own bias; a bias behind a norm belongs to the norm."""
        if layer_norm == "marian" or (layer_norm == "nematus" and not self.inputs and not self.final):
            return ()
        if layer_norm == "nematus" and self.final:
            return ("state_gates", "state_candidate")
        gates = "gates" if self.inputs else "state_gates"
        if self.kind == "lstm":
            return (gates,)
        if self.final:
            return (gates, "state_candidate")
        return ("gates", "candidate") if self.inputs else (gates,)

    @property
    def late_bias(self) -> bool:
        """Whether its candidate's bias belongs to no map: it is added last, outside the reset gate."""
        return self.kind == "gru" and not self.inputs and not self.final


def encoder_layer(config: RecurrentConfig, direction: str, layer: int) -> list[Cell]:
    """Returns the cells of one encoder layer of the stack "forward" or "backward"."""
    h = config.encoder_dim
    inputs = config.model_dim if layer == 0 else 2 * h if config.encoder == "unidirectional" and layer == 1 else h
    return _layer(f"encoder.{direction}.{layer}", config.encoder_cell, h, inputs, config.encoder_transitions - 1)


def encoder_stacks(config: RecurrentConfig) -> dict[str, list[list[Cell]]]:
    """Maps the direction of a stack to its layers."""
    backward = 1 if config.encoder == "unidirectional" else config.encoder_layers
    return {
        direction: [encoder_layer(config, direction, i) for i in range(layers)]
        for direction, layers in (("forward", config.encoder_layers), ("backward", backward))
    }


def decoder_layers(config: RecurrentConfig) -> list[list[Cell]]:
    """Returns the cells of each decoder layer; the first layer of conditional attention has one cell before it, others
    after."""
    h, kind, more = config.decoder_dim, config.decoder_cell, config.decoder_transitions
    nematus = config.layer_norm == "nematus"  # there, every transition of a decoder is final
    if config.attention == "conditional":
        after = Cell("decoder.0.1", kind, h, config.context_dim, final=True)
        first = [Cell("decoder.0.0", kind, h, config.model_dim), after]
    else:
        first = [Cell("decoder.0.0", kind, h, config.model_dim, context=config.context_dim)]
    first += [Cell(f"decoder.0.{j}", kind, h, 0, final=True) for j in range(len(first), len(first) + more)]
    higher = range(1, config.decoder_layers)
    return [first] + [_layer(f"decoder.{i}", kind, h, h, config.high_transitions, nematus) for i in higher]


def top_cell(config: RecurrentConfig) -> Cell:
    """Returns the cell above all, if `config.top` is "recurrent"."""
    return Cell("decoder.top", config.decoder_cell, config.model_dim, config.top_dim)


def cells(config: RecurrentConfig) -> list[Cell]:
    """Returns all cells, in the order of use."""
    layers = [layer for stack in encoder_stacks(config).values() for layer in stack] + decoder_layers(config)
    return [cell for layer in layers for cell in layer] + ([top_cell(config)] if config.top == "recurrent" else [])


def input_linear(config: RecurrentConfig, cell: Cell) -> Linear:
    return _linear(config, cell, cell.inputs, cell.gates)


def state_linear(config: RecurrentConfig, cell: Cell) -> Linear:
    return _linear(config, cell, cell.dim, cell.state_gates)


def context_linear(config: RecurrentConfig, cell: Cell) -> Linear:
    return _linear(config, cell, cell.context, cell.context_gates)


def _linear(config: RecurrentConfig, cell: Cell, depth: int, parts: Mapping[str, int]) -> Linear:
    with_bias = cell.biases(config.layer_norm)
    return linear(cell.name, depth, parts, without_bias=[part for part in parts if part not in with_bias])


def _layer(name: str, kind: str, dim: int, inputs: int, transitions: int, final: bool = False) -> list[Cell]:
    more = [Cell(f"{name}.{j}", kind, dim, 0, final) for j in range(1, 1 + transitions)]
    return [Cell(f"{name}.0", kind, dim, inputs), *more]
