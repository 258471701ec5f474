"""The reference network as ONNX nodes: its own code, run on values of a graph instead of arrays.

This module defines the operations that differ from NumPy's: fused operators, and attention of many sentences at once.
All operators are ONNX's own: with onnxruntime's (SkipLayerNormalization, Attention, MultiHeadAttention) its encoder
took 7 % less to 20 % more time on one core.

An activation is a value [rows, width]: one row for each position of each sentence, or for each hypothesis.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import tables
from quantize.onnx.graph import Graph, Value
from quantize.reference import formulas
from quantize.reference.transformer import Transformer

_TABLES = ("position_table", "target_position_table")  # of both sides, and of a target that has its own
CELLS = ("ssru", "sru", "self_attention", "average_attention")  # exportable cells

for _formula, _operator in (("relu", "Relu"), ("tanh", "Tanh"), ("sigmoid", "Sigmoid")):
    getattr(formulas, _formula).register(Value, lambda x, operator=_operator: x.graph.node(operator, x))


@formulas.interpolated.register
def _(gate: Value, y: Any, x: Any) -> Any:
    return x + gate * (y - x)


@formulas.gelu.register
def _(x: Value) -> Any:
    return x * (x.graph.node("Erf", x / math.sqrt(2)) + 1) * 0.5  # the form that runtimes recognize as one operation


@formulas.layer_norm.register
def _(x: Value, scale: Any, bias: Any, epsilon: Any) -> Any:
    return x.graph.node("LayerNormalization", x, scale, bias, epsilon=epsilon)


@formulas.rms_norm.register
def _(x: Value, scale: Any, bias: Any, epsilon: Any) -> Any:
    mean = x.graph.node("ReduceMean", x * x, axes=[1], keepdims=1)
    return x / x.graph.node("Sqrt", mean + epsilon) * scale + bias


class GraphNetwork(Transformer):
    """A `Transformer` of values of a graph, for sentences of a padded batch.

    Keys are [batch, heads, d / heads, source], values [batch, heads, source, d / heads]; the state of self-attention is
    (keys, values), [hypotheses, heads, steps, d / heads].
    """

    def __init__(self, graph: Graph, config: ModelConfig, tensors: Mapping[str, np.ndarray], positions: int) -> None:
        """`positions`: rows of the tables of position signals."""
        super().__init__(config, _Weights(graph, config, tensors))
        self.graph, self.arrays, self.positions = graph, tensors, positions
        # set for each batch: shape [batch, positions, heads, d / heads]; 0, or very negative for padding; the step
        self.apart: Any = None
        self.mask: Any = None
        self.position: Any = None
        self.output_layer: Any = None  # weight and bias, if not of all pieces

    def memory(self, p: int, encoded: Value) -> Any:
        """Returns the encoder's keys and values for cross-attention of the decoder's parameter set p."""
        return self._keys_values(f"decoder.{p}.cross_attention", encoded)

    def _logits(self, x: Any) -> Any:
        layer = self.output_layer or (self.tensors[self.tables["output"]], self.tensors["output.bias"])
        return self.graph.node("Gemm", x, *layer, transB=1)

    def _average_attention(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        return super()._average_attention(block, x, cell, self.graph.node("CastLike", self.position, x))

    def _self_attention(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        graph, config = self.graph, self.architecture
        x = self._before(block, x)
        one = graph.constant([-1, config.heads, 1, config.head_dim], np.int64)  # one more step
        new = (graph.node("Reshape", made, one) for made in Transformer._keys_values(self, block, x))
        keys, values = (graph.node("Concat", past, now, axis=2) for past, now in zip(cell, new, strict=True))
        queries = graph.node("Reshape", self._queries(block, x), one)
        turned = graph.node("Transpose", keys, perm=[0, 1, 3, 2])
        made, _ = self._attention(block, queries, turned, values, None)
        return made, (keys, values)

    def _input(self, side: Any, embedded: Any, first: Any, one: Any = False) -> Any:
        """Returns all positions of the encoder, [batch source, d], or the step's, [hypotheses, d]."""
        graph, config = self.graph, self.architecture
        scale = math.sqrt(config.model_dim) if config.scale_embedding else 1.0
        signal = self._position_table(side)
        if one:
            scales = np.full(self.positions, scale, np.float32)
            scales[0] = 0  # there is no token before the first one
            x = embedded * graph.node("Gather", graph.tensor("embedding_scales", scales), self.position)
            if config.start_vector:
                signal = signal + np.eye(self.positions, 1, dtype=np.float32) * np.float32(scale) * self.arrays["start"]
            is_own = config.start_vector or config.target_positions
            x = x + graph.node("Gather", graph.tensor(_TABLES[is_own], signal), self.position)
        else:
            table = graph.tensor(_TABLES[False], signal)
            end = graph.node("Slice", self.apart, *(graph.constant([value], np.int64) for value in (1, 2)))
            x = embedded * scale if scale != 1 else embedded
            x = x + graph.node("Slice", table, graph.constant([0], np.int64), end)
            x = graph.node("Reshape", x, graph.constant([-1, config.model_dim], np.int64))
        return self._normed(f"{side}.embedding_norm", x) if config.embedding_norm else x

    def _position_table(self, side: Any) -> Any:
        """Returns position signals, trained positions or zeros, [positions, d]."""
        if self.architecture.positions == "none":
            return np.zeros((self.positions, self.architecture.model_dim), np.float32)
        if self.architecture.positions == "trained":
            trained = self.arrays[self.architecture.position_table(side)]
            return trained[np.minimum(np.arange(self.positions), len(trained) - 1)]
        return formulas.positions(0, self.positions, self.architecture.model_dim, self.architecture.positions)

    def _keys_values(self, name: str, x: Any) -> Any:
        keys, values = (self.graph.node("Reshape", made, self.apart) for made in super()._keys_values(name, x))
        return self.graph.node("Transpose", keys, perm=[0, 2, 3, 1]), self._swapped(values)

    def _attended(self, name: str, x: Any, keys: Any, values: Any) -> Any:
        queries = self._swapped(self.graph.node("Reshape", self._queries(name, x), self.apart))
        return self._attention(name, queries, keys, values, self.mask)

    def _queries(self, name: str, x: Any) -> Any:
        """Returns queries, scaled in their parameters instead of in each product with a key."""
        parts, scale = (
            (f"{name}.query.{part}" for part in ("weight", "bias")),
            self.architecture.score_scale,
        )
        scaled = (self.graph.tensor(f"{part}.scaled", self.arrays[part] * np.float32(scale)) for part in parts)
        return self.graph.node("Gemm", x, *scaled)

    def _attention(self, name: str, queries: Any, keys: Any, values: Any, mask: Any) -> Any:
        scores = self.graph.node("MatMul", queries, keys)
        weights = self.graph.node("Softmax", scores + mask if mask else scores, axis=-1)
        heads = self._swapped(self.graph.node("MatMul", weights, values))
        rows = self.graph.constant([-1, self.architecture.attention_width], np.int64)
        return self._heads_output(name, self.graph.node("Reshape", heads, rows)), weights

    def _swapped(self, x: Any) -> Any:
        """Converts [batch, positions, heads, d / heads] to [batch, heads, positions, d / heads], and back."""
        return self.graph.node("Transpose", x, perm=[0, 2, 1, 3])

    def _first_heads(self, weights: Any) -> Any:
        heads = self.graph.constant(np.arange(self.architecture.alignment_heads), np.int64)
        first = self.graph.node("Gather", weights, heads, axis=1)
        mean = self.graph.node("ReduceMean", first, axes=[1], keepdims=0)
        return self.graph.node("Flatten", mean, axis=2)


class _Weights:
    """Products and tables as nodes: the counterpart of `Reference` in NumPy."""

    def __init__(self, graph: Any, config: Any, tensors: Any) -> None:
        self._graph = graph
        self.tables = tables(config)
        self.tensors = _Parameters(graph, tensors)

    def embed(self, table: Any, ids: Any) -> Any:
        """Returns rows of a table: [ids, d]."""
        return self._graph.node("Gather", self.tensors[table], ids)

    def product(self, name: str, x: Any) -> Any:
        """Returns x W."""
        return self._graph.node("MatMul", x, self.tensors[name])

    def affine(self, name: str, x: Any) -> Any:
        """Returns x W + b."""
        return self._graph.node("Gemm", x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])


class _Parameters:
    """The tensors of a checkpoint as values of a graph, added to it on first use."""

    def __init__(self, graph: Any, arrays: Any) -> None:
        self._graph, self._arrays = graph, arrays

    def __getitem__(self, name: str) -> Any:
        return self._graph.tensor(name, self._arrays[name])
