"""The parts that encoder and decoder have in common, as ONNX nodes; the equations are those of `reference.network`.

All operators are ONNX's own: with those that only onnxruntime has (SkipLayerNormalization, Attention,
MultiHeadAttention) its encoder took 7 % less to 20 % more time on one core.

An activation is a value [rows, width]: one row for each position of each sentence, or for each hypothesis.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import tables
from quantize.onnx.graph import Graph
from quantize.reference.formulas import positions

MASKED = -1e9  # what is added to the scores of padding: their exponential is zero


class Blocks(NamedTuple):
    """Adds a network's parts to a graph."""

    graph: Graph
    config: ModelConfig
    tensors: Mapping[str, np.ndarray]
    positions: int  # rows of the tables of position signals

    def linear(self, name: str, x: str, scale: float = 1.0, bias: bool = True) -> str:
        """(x W + b) scale; the scale goes into the parameters."""
        suffix = "" if scale == 1 else ".scaled"
        parameters = [self.graph.tensor(f"{name}.weight{suffix}", self._scaled(f"{name}.weight", scale))]
        if not bias:
            return self.graph.node("MatMul", x, *parameters)
        parameters.append(self.graph.tensor(f"{name}.bias{suffix}", self._scaled(f"{name}.bias", scale)))
        return self.graph.node("Gemm", x, *parameters)

    def _scaled(self, name, scale):
        return self.tensors[name] if scale == 1 else self.tensors[name] * np.float32(scale)

    def query(self, block: str, x: str) -> str:
        """The queries of a block, scaled so that no product with a key has to be."""
        return self.linear(f"{block}.query", x, 1 / math.sqrt(self.config.architecture.head_dim))

    def norm(self, name: str, x: str) -> str:
        """Layer normalization."""
        parameters = [self.graph.tensor(f"{name}.{part}", self.tensors[f"{name}.{part}"]) for part in ("scale", "bias")]
        return self.graph.node(
            "LayerNormalization", x, *parameters, epsilon=self.config.architecture.layer_norm_epsilon
        )

    def before(self, block: str, x: str) -> str:
        """What a block is given."""
        return self.norm(f"{block}.pre_norm", x) if self.config.architecture.preprocess else x

    def after(self, block: str, y: str, x: str) -> str:
        """What becomes of a block's output y and input x."""
        for letter in self.config.architecture.postprocess:
            if letter == "a":
                y = self.graph.node("Add", x, y)
            elif letter == "n":
                y = self.norm(f"{block}.norm", y)
            else:
                y = self.mixed(self.sigmoid(self.linear(f"{block}.highway", x)), y, x)
        return y

    def sigmoid(self, x: str) -> str:
        """1 / (1 + exp(-x))."""
        return self.graph.node("Sigmoid", x)

    def mixed(self, gate: str, y: str, x: str) -> str:
        """Gate y + (1 - gate) x."""
        return self.graph.node("Add", x, self.graph.node("Mul", gate, self.graph.node("Sub", y, x)))

    def activation(self, kind: str, x: str) -> str:
        """One of `formulas.ACTIVATIONS`."""
        if kind == "relu":
            return self.graph.node("Relu", x)
        if kind == "gelu":
            turned = self.graph.node("Erf", self.graph.node("Div", x, self._float(math.sqrt(2))))
            share = self.graph.node("Add", turned, self._float(1))
            return self.graph.node("Mul", self.graph.node("Mul", x, share), self._float(0.5))
        slope = x if kind == "swish" else self.graph.node("Mul", x, self._float(1.702))
        return self.graph.node("Mul", x, self.sigmoid(slope))

    def _float(self, value):
        return self.graph.constant(value, np.float32)

    def feed_forward(self, block: str, x: str, depth: int) -> str:
        """A feed-forward block of so many affine maps."""
        y = self.before(block, x)
        for name in ["inner", *(f"middle.{i}" for i in range(depth - 2))]:
            y = self.activation(self.config.architecture.activation, self.linear(f"{block}.{name}", y))
        return self.after(block, self.linear(f"{block}.outer", y), x)

    def table(self, use: str) -> str:
        """The table of the source, of the target or of the output layer."""
        name = tables(self.config)[use]
        return self.graph.tensor(f"{name}.weight", self.tensors[name])

    def position_table(self) -> str:
        """Position signals, or what was trained in their place, [positions, model_dim]."""
        config = self.config
        if config.architecture.positions == "trained":
            trained = self.tensors["positions"]
            rows = trained[np.minimum(np.arange(self.positions), len(trained) - 1)]
        else:
            rows = positions(0, self.positions, config.architecture.model_dim, config.architecture.positions)
        return self.graph.tensor("position_table", rows)

    @property
    def embedding_scale(self) -> float:
        """What a row of a table is multiplied with."""
        return math.sqrt(self.config.architecture.model_dim) if self.config.architecture.scale_embedding else 1.0

    def split_heads(self, x: str, shape: str, keys: bool = False) -> str:
        """[rows, d] -> [batch, heads, positions, d / heads]; of keys the last two the other way round.

        `shape` is the value [batch, positions, heads, d / heads].
        """
        apart = self.graph.node("Reshape", x, shape)
        return self.graph.node("Transpose", apart, perm=[0, 2, 3, 1] if keys else [0, 2, 1, 3])

    def joined_heads(self, x: str) -> str:
        """[batch, heads, positions, d / heads] -> [rows, d]."""
        together = self.graph.node("Transpose", x, perm=[0, 2, 1, 3])
        return self.graph.node(
            "Reshape", together, self.graph.constant([-1, self.config.architecture.model_dim], np.int64)
        )

    def attention_weights(self, queries: str, keys: str, mask: str | None) -> str:
        """Softmax of the scores, [batch, heads, queries, keys]; all inputs have their heads split."""
        scores = self.graph.node("MatMul", queries, keys)
        if mask:
            scores = self.graph.node("Add", scores, mask)
        return self.graph.node("Softmax", scores, axis=-1)

    def attended(self, block: str, weights: str, values: str) -> str:
        """The heads' sums of values, joined and projected."""
        heads = self.joined_heads(self.graph.node("MatMul", weights, values))
        return self.linear(f"{block}.output", heads) if self.config.architecture.attention_projection else heads
