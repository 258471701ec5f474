"""A Transformer encoder, and a decoder with cross-attention and one of some recurrent or attentional cells.

`quantize.onnx` makes graphs of the same code. Equations as in Marian, for which most models are trained:

    encoder input    x[t] = sqrt(d) embedding[ids[t]] + position[t]
    every block      x = post(block(pre(x)), x); mostly pre(x) = x and post(y, x) = layer_norm(x + y)
    attention        softmax(q k^T / sqrt(d / heads)) v for each head; Vaswani et al. 2017,
                     https://arxiv.org/abs/1706.03762, section 3.2; some models have another width or scale
    self-attention   with relative positions softmax(q_i (k_j + K[j - i])^T / sqrt(d / heads)) (v_j + V[j - i]), Shaw et
                     al. 2018, https://arxiv.org/abs/1803.02155; or softmax(q_i k_j^T + bias[j - i]) v_j, see
                     `formulas.distance_bucket`
    feed-forward     activation(x W1 + b1) W2 + b2, or deeper, or gated: (activation(x W1 + b1) (x V + c)) W2 + b2;
                     Shazeer 2020, https://arxiv.org/abs/2002.05202
    decoder input    y[t] = sqrt(d) embedding[ids[t - 1]] + position[t], the first embedding being zero or a vector of
                     its own, `start`
    logits           y output^T + output bias

Cells (c': the state of the step before):

    ssru               f = sigmoid(x Wf + bf);  c = f c' + (1 - f) (x W);  block(x) = relu(c); Kim et al. 2019,
                       https://aclanthology.org/D19-5632, section 3.1
    sru                the same c;  r = sigmoid(x Wr + br);  block(x) = r tanh(c) + (1 - r) x; Lei et al. 2018,
                       https://arxiv.org/abs/1709.02755
    self_attention     attention over all steps so far
    average_attention  c = c' + x;  y = network(pre(c / steps));  block(x) = i x + f y, for the gates
                       i = sigmoid(x Wi + bi), f = sigmoid(y Wf + bf); Zhang et al. 2018,
                       https://arxiv.org/abs/1805.00631

    gru                r, z = sigmoid(x W + b + c' U);  block(x) = c = z c' + (1 - z) tanh(x W' + b' + r (c' U'));
                       Cho et al. 2014, https://arxiv.org/abs/1406.1078, as Marian computes it

    lstm               f, i, g, o = x W + b + h' U;  c = sigmoid(f) c' + sigmoid(i) tanh(g);
                       block(x) = h = sigmoid(o) tanh(c); Hochreiter and Schmidhuber 1997

Shapes: d = model_dim; "rows" are the hypotheses of one sentence, which share the encoded source.
"""

import math
from typing import Any

import numpy as np

from cpunmt.architectures.transformer.cells.kinds import CELLS
from quantize.reference.definition import Definition, State
from quantize.reference.formulas import (
    ACTIVATIONS,
    attention_weights,
    by_head,
    distance_bucket,
    interpolated,
    positions,
    relu,
    sigmoid,
    tanh,
    weighted_values,
)


class Transformer(Definition):
    """A Transformer; see `quantize.reference.network.Reference` for its methods' parameters and results."""

    def __init__(self, config: Any, weights: Any) -> None:
        super().__init__(config, weights)
        self._aligning = self.architecture.aligning

    def encode(self, ids: Any) -> Any:
        """Returns (source_length, d)."""
        x = self._input("encoder", self.weights.embed(self.tables["source"], ids), 0)
        for i in range(self.architecture.encoder_layers):
            block = f"encoder.{i}.self_attention"
            given = self._before(block, x)
            made, _ = self._attended_within(block, given, *self._keys_values(block, given))
            x = self._after(block, made, x)
            x = self._feed_forward_block(f"encoder.{i}.feed_forward", x, self.architecture.ffn_depth)
        return self._normed("encoder.top_norm", x) if self.architecture.top_norm else x

    def start(self, encoded: np.ndarray, rows: int = 1) -> State:
        """Returns the state before the first token."""
        config = self.architecture
        d, used, cell = config.model_dim, config.decoder_parameters, config.cell
        shape = (rows, 0, 2 * config.attention_width) if cell == "self_attention" else (rows, CELLS[cell].state * d)
        memories = [self._keys_values(f"decoder.{p}.cross_attention", encoded) for p in used]
        return State(0, [np.zeros(shape, np.float32) for _ in used], memories)

    def step(self, state: State, previous: Any, candidates: Any = None) -> tuple[Any, State]:
        """Returns logits of the next token, and the state after `previous`."""
        if state.position:
            embedded = self.weights.embed(self.tables["target"], previous)
        else:
            start = self.tensors["start"] if self.architecture.start_vector else np.float32(0)
            embedded = np.zeros((len(state.cells[0]), self.architecture.model_dim), np.float32) + start
        x = self._input("decoder", embedded, state.position, one=True)
        cells, alignment = [], None
        for layer, p in enumerate(self.architecture.decoder_parameters):
            block = f"decoder.{p}.cell"
            made, cell = getattr(self, f"_{self.architecture.cell}")(block, x, state.cells[layer], state.position)
            cells.append(cell)
            x = self._after(block, made, x)
            block = f"decoder.{p}.cross_attention"
            given, memory = self._before(block, x), state.memories[layer]
            made, weights = self._attended(block, given, *memory)
            if layer == self._aligning:
                alignment = self._first_heads(weights)
            x = self._after(block, made, x)
            x = self._feed_forward_block(f"decoder.{p}.feed_forward", x, self.architecture.decoder_ffn_depth)
        if self.architecture.top_norm:
            x = self._normed("decoder.top_norm", x)
        return self._chosen(x, candidates), State(state.position + 1, cells, state.memories, alignment)

    def _ssru(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        x = self._before(block, x)
        cell = self._forgetting(block, x, cell)
        return self._projected(block, relu(cell)), cell

    def _sru(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        x = self._before(block, x)
        cell = self._forgetting(block, x, cell)
        reset = sigmoid(self._affine(f"{block}.reset", x))
        return self._projected(block, interpolated(reset, tanh(cell), x)), cell

    def _gru(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        x = self._before(block, x)
        gates = sigmoid(self._affine(f"{block}.gates", x) + self.weights.product(f"{block}.state_gates.weight", cell))
        reset, update = np.split(gates, 2, axis=1)
        renewed = reset * self.weights.product(f"{block}.state_candidate.weight", cell)
        cell = interpolated(update, cell, tanh(self._affine(f"{block}.candidate", x) + renewed))
        return self._projected(block, cell), cell

    def _lstm(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        hidden, memory = np.split(cell, 2, axis=1)
        gates = self._affine(f"{block}.gates", self._before(block, x))
        forget, new, candidate, shown = np.split(
            gates + self.weights.product(f"{block}.state_gates.weight", hidden), 4, axis=1
        )
        memory = sigmoid(forget) * memory + sigmoid(new) * tanh(candidate)
        hidden = sigmoid(shown) * tanh(memory)
        return self._projected(block, hidden), np.concatenate([hidden, memory], axis=1)

    def _forgetting(self, block: str, x: Any, cell: Any) -> Any:
        forget = sigmoid(self._affine(f"{block}.forget", x))
        return interpolated(forget, cell, self.weights.product(f"{block}.candidate.weight", x))

    def _projected(self, block: str, x: Any) -> Any:
        return self._affine(f"{block}.output", x) if self.architecture.cell_projection else x

    def _self_attention(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        x = self._before(block, x)
        new = np.concatenate(self._keys_values(block, x), axis=1)
        cell = np.concatenate([cell, new[:, None]], axis=1)
        made = [self._attended_within(block, x[r : r + 1], *np.split(cell[r], 2, axis=1))[0] for r in range(len(x))]
        return np.concatenate(made), cell

    def _average_attention(self, block: str, x: Any, cell: Any, position: Any) -> Any:
        cell = cell + x
        depth, activation = self.architecture.average_depth, ACTIVATIONS[self.architecture.average_activation]
        y = self._before(block, cell / (position + np.float32(1)))
        names = ["inner", *(f"middle.{i}" for i in range(depth - 2))][: depth - 1]
        for name in names:
            y = activation(self._affine(f"{block}.{name}", y))
        if self.architecture.average_dim != self.architecture.model_dim:
            y = self._affine(f"{block}.outer", y)
        if self.architecture.average_gate:
            keep = sigmoid(self._affine(f"{block}.input_gate", x))
            renew = sigmoid(self._affine(f"{block}.forget_gate", y))
            y = keep * x + renew * y
        return y, cell

    def _input(self, side: Any, embedded: Any, first: Any, one: Any = False) -> Any:
        """Returns scaled embeddings (one for each position, or `one` position for all), with positions added."""
        config, count = self.architecture, 1 if one else len(embedded)
        x = np.float32(math.sqrt(config.model_dim)) * embedded if config.scale_embedding else embedded
        if config.positions == "none":
            pass
        elif config.positions == "trained":
            table = self.tensors[config.position_table(side)]
            x = x + table[np.minimum(np.arange(first, first + count), len(table) - 1)]
        else:
            x = x + positions(first, count, config.model_dim, config.positions)
        return self._normed(f"{side}.embedding_norm", x) if config.embedding_norm else x

    def _before(self, block: str, x: Any) -> Any:
        return self._normed(f"{block}.pre_norm", x) if self.architecture.preprocess else x

    def _after(self, block: str, y: Any, x: Any) -> Any:
        """Combines a block's output y with its input x: see TransformerConfig."""
        for letter in self.architecture.postprocess:
            if letter == "a":
                y = x + y
            elif letter == "n":
                y = self._normed(f"{block}.norm", y)
            else:
                y = interpolated(sigmoid(self._affine(f"{block}.highway", x)), y, x)
        return y

    def _keys_values(self, name: str, x: Any) -> Any:
        return self._affine(f"{name}.key", x), self._affine(f"{name}.value", x)

    def _attended(self, name: str, x: Any, keys: Any, values: Any) -> Any:
        """Returns (projected outputs of all heads, their attention weights)."""
        config = self.architecture
        weights = attention_weights(self._affine(f"{name}.query", x), keys, config.heads, config.attention_scale)
        return self._heads_output(name, weighted_values(weights, values)), weights

    def _attended_within(self, block: str, x: Any, keys: Any, values: Any) -> Any:
        """Returns the same of self-attention. The queries are those of the last positions of the keys."""
        config = self.architecture
        if not (config.relative_positions or config.relative_buckets):
            return self._attended(block, x, keys, values)
        queries = self._affine(f"{block}.query", x)
        distances = np.arange(len(keys)) - np.arange(len(keys) - len(x), len(keys))[:, None]
        if config.relative_buckets:
            side = block.partition(".")[0]
            table = self.tensors[f"{side if config.relative_shared else block}.relative_bias"]
            sizes = config.relative_buckets, config.relative_distance, side == "encoder"
            found = [[table[distance_bucket(distance, *sizes)] for distance in row] for row in distances.tolist()]
            weights = attention_weights(
                queries, keys, config.heads, config.attention_scale, np.array(found).transpose(2, 0, 1)
            )
            return self._heads_output(block, weighted_values(weights, values)), weights
        reach = config.relative_positions
        places = np.clip(distances, -reach, reach) + reach
        near_keys, near_values = (self.tensors[f"{block}.relative_{part}"][places] for part in ("keys", "values"))
        added = np.einsum("hqd,qkd->hqk", by_head(queries, config.heads), near_keys) * np.float32(config.score_scale)
        weights = attention_weights(queries, keys, config.heads, config.attention_scale, added)
        near = np.einsum("hqk,qkd->qhd", weights, near_values).reshape(len(x), -1)
        return self._heads_output(block, weighted_values(weights, values) + near), weights

    def _first_heads(self, weights: Any) -> Any:
        return weights[: self.architecture.alignment_heads].mean(axis=0)

    def _heads_output(self, name: str, heads: Any) -> Any:
        return self._affine(f"{name}.output", heads) if self.architecture.attention_projection else heads

    def _feed_forward_block(self, block: str, x: Any, depth: Any) -> Any:
        y, activation = self._before(block, x), ACTIVATIONS[self.architecture.activation]
        if self.architecture.gated_ffn:
            y = activation(self._affine(f"{block}.inner", y)) * self._affine(f"{block}.gate", y)
        else:
            for name in ["inner", *(f"middle.{i}" for i in range(depth - 2))]:
                y = activation(self._affine(f"{block}.{name}", y))
        return self._after(block, self._affine(f"{block}.outer", y), x)
