"""`quantize.reference.network` in PyTorch: batches, gradients, dropout. Same equations, same names of tensors.

Shapes: sources (batch, source time), targets (batch, time), everything between has d = model_dim as its last axis.
Sentences end with the end-of-sentence id and are padded with it; `lengths` are without padding. The padding is never
attended to and never scored.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, tables
from models.train.network.attention import attention
from models.train.network.cells import CELLS, empty_state
from models.train.network.dropout import dropout
from quantize.reference.formulas import positions

_TRAINED_POSITIONS = 512
_ACTIVATIONS = {  # except relu
    "swish": functional.silu,
    "gelu": functional.gelu,
    "gelu_sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


class Memory(NamedTuple):
    """The encoded source: keys and values of each layer, and a mask."""

    keys_values: list[tuple[torch.Tensor, torch.Tensor]]
    visible: torch.Tensor  # (batch, 1, source time), bool

    def rows(self, chosen: torch.Tensor) -> "Memory":
        """Returns the memory of chosen sentences."""
        return Memory([(k[chosen], v[chosen]) for k, v in self.keys_values], self.visible[chosen])


class State(NamedTuple):
    """The decoder's state of the target so far."""

    steps: int
    cells: list[torch.Tensor]  # by layer


class Decoded(NamedTuple):
    """The result of `decode`."""

    output: torch.Tensor  # (batch, time, d): the output layer's input
    state: State
    alignment: torch.Tensor | None  # log of the aligning head's attention: (batch, time, source time)


def initial_tensors(config: ModelConfig, seed: int) -> dict[str, torch.Tensor]:
    """Returns initial float32 parameters: Glorot and Bengio 2010's uniform weights, tables of deviation 1 / sqrt(d)."""
    generator = torch.Generator().manual_seed(seed)
    looked_up, found = set(tables(config).values()), {}
    for name, shape in checkpoint_tensors(config).items():
        if name in ("positions", "target_positions"):
            shape = (_TRAINED_POSITIONS, config.architecture.model_dim)
            looked_up.add(name)
        if name in looked_up:
            found[name] = torch.randn(shape, generator=generator) / math.sqrt(config.architecture.model_dim)
        elif len(shape) == 2:
            found[name] = _uniform(shape, generator)
        elif name == "attention.score":
            found[name] = _uniform((*shape, 1), generator)[:, 0]
        else:
            found[name] = torch.ones(shape) if name.endswith(".scale") else torch.zeros(shape)
    return found


def torch_tensors(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Copies a checkpoint of NumPy arrays to tensors."""
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in arrays.items()}


def _uniform(shape, generator):
    return (2 * torch.rand(shape, generator=generator) - 1) * math.sqrt(6 / sum(shape))


def mask(lengths: torch.Tensor, size: int) -> torch.Tensor:
    """Returns (batch, size) bool: True within each sentence."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


class Network:
    """The network with its parameters: `tensors` maps canonical names to float32 tensors, weights [in, out].

    `dropout` (of each block's output and of the embeddings) is 0 except in training. If `rectified` is a list, the ReLU
    outputs that enter products are added to it, as (name of the layer, outputs).
    """

    def __init__(self, config: ModelConfig, tensors: dict[str, torch.Tensor]):
        """Raises ValueError for a network with features that cannot be trained here."""
        if config.architecture.extensions:
            raise ValueError(f"networks with {', '.join(config.architecture.extensions)} cannot be trained")
        self.config = config
        self.architecture = config.architecture
        self.tensors = tensors
        self.dropout = 0.0
        self.rectified: list[tuple[str, torch.Tensor]] | None = None
        self._tables = tables(config)
        self._output = self._tables["output"]
        self._signal = None  # position signal, grown on demand

    def encode(self, sources: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Returns the encoder's output for source ids."""
        visible = mask(lengths, sources.shape[1])[:, None]
        x = self._input("encoder", self._embed("source", sources), 0)
        for i in range(self.architecture.encoder_layers):
            block = f"encoder.{i}.self_attention"
            given = self.before(block, x)
            x = self.after(block, self.attended(block, given, *self.keys_values(block, given), visible), x)
            x = self._feed_forward(f"encoder.{i}.feed_forward", x, self.architecture.ffn_depth)
        return self._normed("encoder.top_norm", x) if self.architecture.top_norm else x

    def remember(self, encoded: torch.Tensor, lengths: torch.Tensor) -> Memory:
        """Returns the memory that the decoder attends to. Layers with tied parameters share it."""
        made = {
            p: self.keys_values(f"decoder.{p}.cross_attention", encoded) for p in range(self.architecture.decoder_sets)
        }
        visible = mask(lengths, encoded.shape[1])[:, None]
        return Memory([made[p] for p in self.architecture.decoder_parameters], visible)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first token."""
        rows, like = len(memory.visible), memory.keys_values[0][0]
        return State(0, [empty_state(self.config, rows, like) for _ in self.architecture.decoder_parameters])

    def decode(self, memory: Memory, state: State, previous: torch.Tensor, align: bool = False) -> Decoded:
        """Returns the outputs for a run of steps.

        `previous` (batch, time) has the token before each; the very first one is ignored.
        """
        embedded = self._embed("target", previous)
        if state.steps == 0:
            start = torch.zeros_like(embedded[:, :1])
            if self.architecture.start_vector:
                start = start + self.tensors["start"]
            embedded = torch.cat([start, embedded[:, 1:]], 1)
        x = self._input("decoder", embedded, state.steps)
        cells, alignment = [], None
        for layer, p in enumerate(self.architecture.decoder_parameters):
            block = f"decoder.{p}.cell"
            made, cell = CELLS[self.architecture.cell](self, block, x, state.cells[layer], state.steps)
            cells.append(cell)
            x = self.after(block, made, x)
            block = f"decoder.{p}.cross_attention"
            given, (keys, values) = self.before(block, x), memory.keys_values[layer]
            if align and layer == self.architecture.aligning:
                alignment = self._alignment(self.affine(f"{block}.query", given), keys, memory.visible)
            x = self.after(block, self.attended(block, given, keys, values, memory.visible), x)
            x = self._feed_forward(f"decoder.{p}.feed_forward", x, self.architecture.decoder_ffn_depth)
        if self.architecture.top_norm:
            x = self._normed("decoder.top_norm", x)
        return Decoded(x, State(state.steps + previous.shape[1], cells), alignment)

    def output(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the output layer: (vocab_size, d) and (vocab_size,)."""
        return self.tensors[self._output], self.tensors["output.bias"]

    def logits(self, output: torch.Tensor) -> torch.Tensor:
        """Returns logits over the vocabulary for the output of `decode`."""
        table, bias = self.output()
        return output @ table.T + bias

    def teacher_forced(self, sources, source_lengths, targets, align: bool = False) -> Decoded:
        """Returns the outputs at every step of given targets, which end with the end-of-sentence id."""
        memory = self.remember(self.encode(sources, source_lengths), source_lengths)
        return self.decode(memory, self.start(memory), functional.pad(targets[:, :-1], (1, 0)), align)

    # the parts of cells

    def product(self, name, x):
        return x @ self.tensors[name]

    def affine(self, name, x):
        made = torch.addmm(self.tensors[f"{name}.bias"], x.flatten(0, -2), self.tensors[f"{name}.weight"])
        return made.unflatten(0, x.shape[:-1])

    def hidden(self, name, x, activation):
        """Returns the output of a hidden layer for x."""
        y = self.affine(name, x)
        return self.relu(name, y) if activation == "relu" else _ACTIVATIONS[activation](y)

    def relu(self, name, x):
        """Returns the ReLU of x, the input of a product."""
        y = functional.relu(x)
        if self.rectified is not None:
            self.rectified.append((name, y))
        return y

    def before(self, block, x):
        return self._normed(f"{block}.pre_norm", x) if self.architecture.preprocess else x

    def after(self, block, y, x):
        """Combines a block's output y with its input x: see TransformerConfig."""
        y = self._dropped(y)
        for letter in self.architecture.postprocess:
            if letter == "a":
                y = x + y
            elif letter == "n":
                y = self._normed(f"{block}.norm", y)
            else:
                gate = torch.sigmoid(self.affine(f"{block}.highway", x))
                y = gate * y + (1 - gate) * x
        return y

    def keys_values(self, name, x):
        return self.affine(f"{name}.key", x), self.affine(f"{name}.value", x)

    def attended(self, name, x, keys, values, visible):
        """Returns the projected attention of all heads."""
        heads = attention(self.affine(f"{name}.query", x), keys, values, self.architecture.heads, visible)
        return self.affine(f"{name}.output", heads) if self.architecture.attention_projection else heads

    def _alignment(self, queries, keys, visible):
        """Returns the logarithm of the attention of the aligning heads, of several of their mean."""
        size, heads = self.architecture.head_dim, []
        for first in range(0, size * self.architecture.alignment_heads, size):
            query, key = (part[..., first : first + size].float() for part in (queries, keys))
            scores = query @ key.transpose(1, 2) / math.sqrt(size)
            heads.append(scores.masked_fill(~visible, -torch.inf).log_softmax(-1))
        if len(heads) == 1:
            return heads[0]
        # 0 has no finite logarithm, and so no gradient
        return torch.stack(heads).exp().mean(0).clamp(min=1e-30).log()

    def _embed(self, side, ids):
        return functional.embedding(ids, self.tensors[self._tables[side]])

    def _input(self, side, embedded, first):
        """Returns scaled embeddings with positions added."""
        config, count = self.architecture, embedded.shape[1]
        x = math.sqrt(config.model_dim) * embedded if config.scale_embedding else embedded
        if config.positions == "trained":
            table = self.tensors[config.position_table(side)]
            x = x + table[torch.arange(first, first + count, device=table.device).clamp(max=len(table) - 1)]
        else:
            x = x + self._positions(first, count, x.device)
        x = self._normed(f"{side}.embedding_norm", x) if config.embedding_norm else x
        return self._dropped(x)

    def _positions(self, first, count, device):
        if self._signal is None or len(self._signal) < first + count:
            signal = positions(0, 2 * (first + count), self.architecture.model_dim, self.architecture.positions)
            self._signal = torch.from_numpy(signal).to(device)
        return self._signal[first : first + count]

    def _dropped(self, x):
        return dropout(x, self.dropout) if self.dropout else x

    def _normed(self, norm, x):
        scale, bias = self.tensors[f"{norm}.scale"], self.tensors[f"{norm}.bias"]
        return functional.layer_norm(x.float(), scale.shape, scale, bias, self.architecture.layer_norm_epsilon)

    def _feed_forward(self, block, x, depth):
        y = self.before(block, x)
        for name in ["inner", *(f"middle.{i}" for i in range(depth - 2))]:
            y = self.hidden(f"{block}.{name}", y, self.architecture.activation)
        return self.after(block, self.affine(f"{block}.outer", y), x)
