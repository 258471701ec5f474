"""`quantize.reference.recurrent` in PyTorch: batches, gradients, dropout. Same equations, same names of tensors.

The interface is that of `models.train.network.network`; inside, arrays are by time, (time, rows, ...), so that the rows
of one step are adjacent. The padding is computed, and never read: a layer that runs backwards begins at each sentence's
own end.
"""

from typing import NamedTuple

import torch
from torch.nn import functional

from cpunmt.architectures.recurrent.cells import Cell, decoder_layers, encoder_stacks, top_cell
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import tables
from models.train.network.dropout import dropout
from models.train.recurrent.cells import CELLS
from models.train.recurrent.products import product
from models.train.recurrent.recurrence import Attended, CellWeights, Outputs, recurrence
from models.train.recurrent.reversal import reversal, reversed_by
from models.train.recurrent.step_by_step import step_by_step


class Memory(NamedTuple):
    """The encoded source for the decoder."""

    keys: torch.Tensor  # (batch, source time, A)
    context: torch.Tensor  # (batch, source time, C)
    visible: torch.Tensor  # (batch, source time), bool
    first: torch.Tensor  # (batch, H): initial state of all decoder layers

    def rows(self, chosen: torch.Tensor) -> "Memory":
        """Returns the memory of chosen sentences."""
        return Memory(*(tensor[chosen] for tensor in self))


class State(NamedTuple):
    """The decoder's state of the target so far."""

    steps: int
    cells: list[tuple[torch.Tensor, ...]]  # of each layer; last the top's, if it is recurrent


class Decoded(NamedTuple):
    """The result of `decode`."""

    output: torch.Tensor  # (batch, time, d): the output layer's input
    state: State
    alignment: torch.Tensor | None  # log of the attention: (batch, time, source time)


class RecurrentNetwork:
    """The network with its parameters, and the interface of `models.train.network.network.Network`.

    `stepwise` computes the recurrences step by step, differentiated by autograd: layer norms need that.
    """

    def __init__(self, config: ModelConfig, tensors: dict[str, torch.Tensor]):
        self.config = config
        self.architecture = config.architecture
        self.tensors = tensors
        self.dropout = 0.0
        self.rectified: list[tuple[str, torch.Tensor]] | None = None
        self.stepwise = bool(self.architecture.layer_norm)
        self._tables = tables(config)
        self._stacks = encoder_stacks(self.architecture)
        self._layers = decoder_layers(self.architecture)

    def encode(self, sources: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Returns the encoder's output for source ids: (batch, source time, C)."""
        x = self._embed("source", sources.T)
        turned = reversal(lengths, len(x))
        kind = self.architecture.encoder
        found = []
        for direction, layers in self._stacks.items():
            stacked = layers[:1] if kind == "unidirectional" else layers
            y, backwards = x, False
            for i, layer in enumerate(stacked):
                wanted = (direction == "backward") != (kind == "alternating" and i % 2 == 1)
                if wanted != backwards:
                    y, backwards = reversed_by(y, turned), wanted
                y = self._layer(layer, y, skip=i > 0)
            found.append(reversed_by(y, turned) if backwards else y)
        y = torch.cat(found, -1)
        if kind == "unidirectional":
            for i, layer in enumerate(self._stacks["forward"][1:]):
                y = self._layer(layer, y, skip=i > 0)
        return self._dropped(y).transpose(0, 1)

    def remember(self, encoded: torch.Tensor, lengths: torch.Tensor) -> Memory:
        """Returns the memory that the decoder attends to, and its first state."""
        visible = torch.arange(encoded.shape[1], device=encoded.device) < lengths[:, None]
        sums = (encoded.float() * visible[..., None]).sum(1)
        first = torch.tanh(self._affine("start", sums / lengths[:, None]).float())
        return Memory(self._affine("attention.key", encoded), encoded, visible, first)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first token."""
        states = [(memory.first,) * CELLS[layer[0].kind].states for layer in self._layers]
        if self.architecture.top == "recurrent":
            zeros = memory.first.new_zeros(len(memory.first), self.architecture.model_dim)
            states.append((zeros,) * CELLS[self.architecture.decoder_cell].states)
        return State(0, states)

    def decode(self, memory: Memory, state: State, previous: torch.Tensor, align: bool = False) -> Decoded:
        """Returns the outputs for a run of steps.

        `previous` (batch, time) has the token before each; the very first one is ignored.
        """
        y = self._embed("target", previous.T)
        if state.steps == 0:
            y = torch.cat([torch.zeros_like(y[:1]), y[1:]])
        first, *higher = self._layers
        made = self._run(first, y, state.cells[0], memory)
        h, context, cells = made.states, made.contexts, [made.last]
        for layer, begun in zip(higher, state.cells[1:], strict=False):
            above = self._run(layer, self._dropped(h), begun)
            h = h + above.states if self.architecture.skip else above.states
            cells.append(above.last)
        h = self._stack(h)
        if self.architecture.top == "recurrent":
            top = self._run([top_cell(self.architecture)], self._dropped(h), state.cells[-1])
            cells.append(top.last)
            output = top.states
        elif self.architecture.top == "tanh":
            output = torch.tanh(self._affine("top", self._dropped(h)))
        else:
            parts = {"embedding": y, "state": self._dropped(h), "context": context}
            output = torch.tanh(sum(self._affine(f"top.{name}", part) for name, part in parts.items()))
        alignment = made.attention.clamp(min=1e-9).log().transpose(0, 1) if align else None
        return Decoded(self._dropped(output).transpose(0, 1), State(state.steps + len(y), cells), alignment)

    def output(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the output layer: (vocab_size, d) and (vocab_size,)."""
        return self.tensors[self._tables["output"]], self.tensors["output.bias"]

    def logits(self, output: torch.Tensor) -> torch.Tensor:
        """Returns logits over the vocabulary for the output of `decode`."""
        table, bias = self.output()
        return output @ table.T + bias

    def teacher_forced(self, sources, source_lengths, targets, align: bool = False) -> Decoded:
        """Returns the outputs at every step of given targets, which end with the end-of-sentence id."""
        memory = self.remember(self.encode(sources, source_lengths), source_lengths)
        return self.decode(memory, self.start(memory), functional.pad(targets[:, :-1], (1, 0)), align)

    def _layer(self, layer: list[Cell], x, skip):
        """Returns the states of an encoder's layer at every step."""
        zeros = x.new_zeros(x.shape[1], layer[0].dim, dtype=torch.float32)
        given = self._dropped(x) if skip else x  # dropout was applied to pieces' vectors before
        y = self._run(layer, given, (zeros,) * CELLS[layer[0].kind].states).states
        return x + y if skip and self.architecture.skip else y

    def _run(self, layer: list[Cell], x, first, memory: Memory | None = None) -> Outputs:
        """Runs a layer over all steps; with a memory, it attends."""
        attending = None
        if memory is not None:
            attending = 1 if self.architecture.attention == "conditional" else 0
        if self.stepwise:
            return step_by_step(self, layer, x, first, memory, attending)
        attended = None
        if attending is not None:
            reads = layer[attending].context_gates or layer[attending].gates
            attended = Attended(
                attending, memory.keys, memory.context, memory.visible, self.tensors["attention.score"],
                self.tensors["attention.query.weight"], self.weight(layer[attending], reads),
            )  # fmt: skip
        x = self.mapped(layer[0], layer[0].gates, x)
        return recurrence(layer[0].kind, x, first, [self._cell(cell, j) for j, cell in enumerate(layer)], attended)

    def _cell(self, cell: Cell, number) -> CellWeights:
        """Returns the parameters of a cell for `recurrence`."""
        weight, inner = self.weight(cell, cell.state_gates), self.tensors.get(f"{cell.name}.state_candidate.bias")
        if number == 0:
            return CellWeights(weight, None, inner)
        bias = self.tensors[f"{cell.name}.{'gates' if cell.inputs else 'state_gates'}.bias"]
        if cell.kind == "gru":
            late = self.tensors[f"{cell.name}.candidate.bias"] if cell.late_bias else bias.new_zeros(cell.dim)
            bias = torch.cat([bias, late])
        return CellWeights(weight, bias, inner)

    def weight(self, cell: Cell, maps) -> torch.Tensor:
        """Returns the maps of one input, side by side."""
        found = [self.tensors[f"{cell.name}.{name}.weight"] for name in maps]
        return torch.cat(found, 1) if len(found) > 1 else found[0]

    def mapped(self, cell: Cell, maps, x) -> torch.Tensor:
        """Returns the products of one input side by side, with their biases and norms."""
        return self.finished(cell, maps, product(x, self.weight(cell, maps)))

    def finished(self, cell: Cell, maps, y) -> torch.Tensor:
        """Adds biases and norms to products side by side."""
        names, widths = [f"{cell.name}.{name}" for name in maps], list(maps.values())
        biases = [self.tensors.get(f"{name}.bias") for name in names]
        if any(bias is not None for bias in biases):
            zeros = [y.new_zeros(width) for width in widths]
            y = y + torch.cat([zero if bias is None else bias for bias, zero in zip(biases, zeros, strict=True)])
        if f"{names[0]}.norm.scale" in self.tensors:
            parts = zip(names, y.split(widths, -1), strict=True)
            return torch.cat([self._normed(f"{name}.norm", part) for name, part in parts], -1)
        return self._normed(f"{cell.name}.{'state' if names[0].endswith('state_gates') else 'input'}_norm", y)

    def attended(self, memory: Memory, state) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the context of one step, (batch, C), and the weight of each position."""
        keys, query = memory.keys.float(), self._affine("attention.query", state).float()
        scores = torch.tanh(keys + query[:, None]) @ self.tensors["attention.score"]
        alphas = scores.masked_fill(~memory.visible, torch.finfo(scores.dtype).min).softmax(1)
        return (alphas[:, None] @ memory.context.float())[:, 0], alphas

    def _stack(self, h):
        """Applies fully connected layers; from the third on, every second one adds the output two below."""
        below = [h]
        for i in range(len(self.architecture.stack)):
            y = self._affine(f"relu.{i}", self._dropped(below[-1]))
            y = functional.relu(y + below[-2] if i and i % 2 == 0 else y)
            if self.architecture.relu_limit:
                y = y.clamp(max=self.architecture.relu_limit)
            if self.rectified is not None:
                self.rectified.append((f"decoder.relu.{i}", y.transpose(0, 1)))
            below.append(y)
        return below[-1]

    def _affine(self, name, x):
        """Returns a product with its bias and norm, if it has them."""
        bias, weight = self.tensors.get(f"{name}.bias"), self.tensors[f"{name}.weight"]
        y = product(x, weight)
        return self._normed(f"{name}.norm", y if bias is None else y + bias)

    def _normed(self, norm, x):
        scale = self.tensors.get(f"{norm}.scale")
        if scale is None:
            return x
        epsilon = self.architecture.layer_norm_epsilon
        return functional.layer_norm(x.float(), scale.shape, scale, self.tensors[f"{norm}.bias"], epsilon)

    def _embed(self, side, ids):
        return self._dropped(functional.embedding(ids, self.tensors[self._tables[side]]))

    def _dropped(self, x):
        return dropout(x, self.dropout) if self.dropout else x
