"""An encoder and a decoder of recurrent cells, and attention between them.

Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, in the variants of Marian and of Nematus (Sennrich et al. 2017,
https://arxiv.org/abs/1703.04357; deeper ones: Miceli Barone et al. 2017, https://arxiv.org/abs/1707.07631) and of
Devlin 2017, https://arxiv.org/abs/1705.01991. Biases that a checkpoint lacks are left out.

    gru            r, z = sigmoid(x W + b + s U);  s <- z s + (1 - z) tanh(x W' + b' + r (s U' + c'))
    lstm           f, i, g, o = x W + b + h U;  c <- sigmoid(f) c + sigmoid(i) tanh(g);  h <- sigmoid(o) tanh(c)
    transition     the same without x: a layer's first cell reads x, the others continue from its state
    layer          the output of its last cell, for every position; plus x, if `skip`, but in the first of a stack
    encoder        two stacks of layers over the embeddings of the source, forward and backward, side by side: h[j]
                       alternating       every second layer of a stack in the other direction
                       unidirectional    one layer of both, side by side, and above it a forward stack
    start          s = tanh(mean(h) W + b), the first state of every decoder layer; of an LSTM both h and c
    attention      a[j] = softmax over j of v . tanh(h[j] K + k + q Q);  context = sum of a[j] h[j]
    decoder        y is the embedding of the last piece, zeros at first
                       conditional       a cell reads y, its state is q; a second one continues and reads the context
                       input             q is the state of the step before; a cell reads y W + context V
                   then transitions; further layers; the output of the last one is x
    stack          x[0] = x;  x[i] = min(relu(x[i - 1] W + b + skip), limit); skip = x[i - 2] for i = 3, 5, ..., else 0
    top            deep         t = tanh((y W + b) + (x W' + b') + (context W'' + b''))
                   tanh         t = tanh(x W + b)
                   recurrent    t = the output of a cell that reads x, whose first state is zeros
    logits         t output^T + output bias

Layer norm, if a model has it: every product x W + b becomes norm(x W + b). Marian normalizes the products of all gates
of a cell together, and then adds b; Nematus normalizes the candidate's apart from the gates'.
"""

from typing import Any

import numpy as np

from quantize.reference.definition import Definition, State
from quantize.reference.formulas import interpolated, relu, sigmoid, softmax, tanh

MAPS = {"gru": ("gates", "candidate"), "lstm": ("gates",)}  # products of a cell's input


class Recurrent(Definition):
    """A recurrent network; see `quantize.reference.network.Reference` for its methods' parameters and results."""

    def encode(self, ids: Any) -> Any:
        """Returns (source_length, context_dim)."""
        config, x = self.architecture, self.weights.embed(self.tables["source"], ids)
        if config.encoder != "unidirectional":
            ways = ("forward", "backward")
            return np.concatenate([self._stack(way, x, range(config.encoder_layers)) for way in ways], axis=1)
        x = np.concatenate([self._stack(way, x, range(1)) for way in ("forward", "backward")], axis=1)
        return self._stack("forward", x, range(1, config.encoder_layers))

    def _stack(self, way: Any, x: Any, layers: Any) -> Any:
        for i in layers:
            turned = (way == "backward") != (self.architecture.encoder == "alternating" and i % 2 == 1)
            made = self._encoder_layer(f"encoder.{way}.{i}", x, turned)
            x = made + x if self.architecture.skip and i != layers[0] else made
        return x

    def _encoder_layer(self, layer: Any, x: Any, backwards: Any) -> Any:
        """Returns the output of a layer at each position."""
        config, kind = self.architecture, self.architecture.encoder_cell
        read = self._maps(kind, f"{layer}.0", x)
        state = np.zeros((1, config.encoder_dim * (2 if kind == "lstm" else 1)), np.float32)
        made: list[Any] = [None] * len(x)
        for t in reversed(range(len(x))) if backwards else range(len(x)):
            state = self._cell(kind, f"{layer}.0", read[t : t + 1], state)
            state = self._transitions(kind, layer, range(1, config.encoder_transitions), state)
            made[t] = _said(kind, state)
        return np.concatenate(made)

    def start(self, encoded: np.ndarray, rows: int = 1) -> State:
        """Returns the state before the first token."""
        config, kind = self.architecture, self.architecture.decoder_cell
        first = tanh(self._mapped("start", encoded.mean(axis=0, keepdims=True)))
        first = np.repeat(np.concatenate([first, first], axis=1) if kind == "lstm" else first, rows, axis=0)
        cells = [first] * config.decoder_layers
        if config.top == "recurrent":
            cells.append(np.zeros((rows, config.model_dim * (2 if kind == "lstm" else 1)), np.float32))
        return State(0, cells, [(self._mapped("attention.key", encoded), encoded)])

    def step(self, state: State, previous: Any, candidates: Any = None) -> tuple[Any, State]:
        """Returns logits of the next token, and the state after `previous`."""
        config, kind = self.architecture, self.architecture.decoder_cell
        if state.position:
            y = self.weights.embed(self.tables["target"], previous)
        else:
            y = np.zeros((len(state.cells[0]), config.model_dim), np.float32)
        cell, used = state.cells[0], 1
        if config.attention == "conditional":
            cell = self._cell(kind, "decoder.0.0", self._maps(kind, "decoder.0.0", y), cell)
            context, alignment = self._attended(_said(kind, cell), *state.memories[0])
            cell, used = self._cell(kind, "decoder.0.1", self._maps(kind, "decoder.0.1", context), cell), 2
        else:
            context, alignment = self._attended(_said(kind, cell), *state.memories[0])
            cell = self._cell(kind, "decoder.0.0", self._maps(kind, "decoder.0.0", y, context), cell)
        cells = [self._transitions(kind, "decoder.0", range(used, used + config.decoder_transitions), cell)]
        x = _said(kind, cells[0])
        for i in range(1, config.decoder_layers):
            cell = self._cell(kind, f"decoder.{i}.0", self._maps(kind, f"decoder.{i}.0", x), state.cells[i])
            cells.append(self._transitions(kind, f"decoder.{i}", range(1, 1 + config.high_transitions), cell))
            x = _said(kind, cells[i]) + x if config.skip else _said(kind, cells[i])
        x = self._rectified_layers(x)
        if config.top == "recurrent":
            cells.append(self._cell(kind, "decoder.top", self._maps(kind, "decoder.top", x), state.cells[-1]))
            t = _said(kind, cells[-1])
        elif config.top == "tanh":
            t = tanh(self._mapped("top", x))
        else:
            parts = {"embedding": y, "state": x, "context": context}
            t = tanh(sum(self._mapped(f"top.{name}", part) for name, part in parts.items()))
        return self._chosen(t, candidates), State(state.position + 1, cells, state.memories, alignment)

    def _attended(self, states: Any, keys: Any, encoded: Any) -> Any:
        """Returns (context of each row, weights of each row's positions)."""
        weights = self._attention_weights(self._mapped("attention.query", states), keys)
        return weights @ encoded, weights

    def _attention_weights(self, queries: Any, keys: Any) -> Any:
        return softmax(tanh(keys + queries[:, None]) @ self.tensors["attention.score"])

    def _rectified_layers(self, x: Any) -> Any:
        limit, layers = self.architecture.relu_limit, [x]
        for i in range(len(self.architecture.stack)):
            made = self._mapped(f"relu.{i}", layers[-1])
            made = relu(made + layers[-2] if i and i % 2 == 0 else made)
            layers.append(np.minimum(made, np.float32(limit)) if limit else made)
        return layers[-1]

    def _transitions(self, kind: Any, layer: Any, cells: Any, state: Any) -> Any:
        for j in cells:
            state = self._cell(kind, f"{layer}.{j}", None, state)
        return state

    def _cell(self, kind: Any, name: str, read: Any, state: Any) -> Any:
        """Returns the state after a step of a cell; `read`: its mapped input, from `_maps`."""
        own = self._maps(kind, name, _said(kind, state), prefix="state_")
        if kind == "gru":
            d = state.shape[1]
            if read is None:
                read = np.zeros_like(own)
                read[:, 2 * d :] = self.tensors.get(f"{name}.candidate.bias", 0)
            reset, update = np.split(sigmoid(read[:, : 2 * d] + own[:, : 2 * d]), 2, axis=1)
            return interpolated(update, state, tanh(read[:, 2 * d :] + reset * own[:, 2 * d :]))
        _, memory = np.split(state, 2, axis=1)
        forget, new, candidate, shown = np.split(own if read is None else read + own, 4, axis=1)
        memory = sigmoid(forget) * memory + sigmoid(new) * tanh(candidate)
        return np.concatenate([sigmoid(shown) * tanh(memory), memory], axis=1)

    def _maps(self, kind: Any, cell: Any, x: Any, context: Any = None, prefix: Any = "") -> Any:
        """Returns all products of a cell's input, side by side; with `prefix` its state's."""
        made = []
        for name in MAPS[kind]:
            product = self.weights.product(f"{cell}.{prefix}{name}.weight", x)
            if context is not None:
                product = product + self.weights.product(f"{cell}.context_{name}.weight", context)
            made.append(self._finished(f"{cell}.{prefix}{name}", product))
        norm = f"{cell}.{'state' if prefix else 'input'}_norm"
        return self._normed_where(norm, np.concatenate(made, axis=1))

    def _mapped(self, name: str, x: Any) -> Any:
        return self._finished(name, self.weights.product(f"{name}.weight", x))

    def _finished(self, name: str, product: Any) -> Any:
        """Adds bias and norm, if there are any."""
        bias = self.tensors.get(f"{name}.bias")
        return self._normed_where(f"{name}.norm", product if bias is None else product + bias)

    def _normed_where(self, norm: str, x: Any) -> Any:
        return self._normed(norm, x) if f"{norm}.scale" in self.tensors else x


def _said(kind: Any, state: Any) -> Any:
    """Returns the output of a cell: of an LSTM the first half of its state."""
    return np.split(state, 2, axis=1)[0] if kind == "lstm" else state
