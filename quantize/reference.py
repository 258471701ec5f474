"""The network, written down in NumPy float32: the definition that everything else is compared with.

A post-norm Transformer encoder and an SSRU decoder with cross-attention, one sentence at a time, without any
of the runtime's code. Equations as in Marian, for which the models are trained:

    encoder input    x[t] = sqrt(d) embedding[ids[t]] + position[t]
    every block      x = layer_norm(x + block(x)), for block = attention, SSRU, feed-forward
    attention        softmax(q k^T / sqrt(d / heads)) v for each head; Vaswani et al. 2017,
                     https://arxiv.org/abs/1706.03762, section 3.2
    feed-forward     relu(x W1 + b1) W2 + b2
    SSRU             f = sigmoid(x Wf + bf);  c = f c' + (1 - f) (x W);  block(x) = relu(c); Kim et al. 2019,
                     https://aclanthology.org/D19-5632, section 3.1
    decoder input    y[t] = sqrt(d) embedding[ids[t - 1]] + position[t], the first embedding being zero
    logits           y embedding^T + output bias

Shapes: d = model_dim; "rows" are the hypotheses of one sentence, which share the encoded source.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.config import ModelConfig


class State(NamedTuple):
    """What a decoder step needs; never written in place."""

    position: int  # tokens emitted so far
    cells: list[np.ndarray]  # SSRU cell of each decoder layer, (rows, d)
    memories: list[tuple[np.ndarray, np.ndarray]]  # keys and values of each decoder layer, (source_length, d)
    alignment: np.ndarray | None = None  # of the last step: what the last layer's head 0 attends to, (rows, source)

    def rows(self, chosen) -> "State":
        """The state of chosen rows, in that order."""
        return self._replace(cells=[cell[chosen] for cell in self.cells])


class Translation(NamedTuple):
    """What `greedy` found."""

    ids: list[int]  # with the final end-of-sentence id, unless truncated
    log_prob: float
    truncated: bool  # the length limit was reached before the end of sentence


class Reference:
    """The network with its weights. To calibrate or to simulate integers, override `product` and `embed`.

    `tensors` maps canonical names to float32 arrays as `cpunmt.model_files` reads them: weights [in, out].
    """

    def __init__(self, config: ModelConfig, tensors: Mapping[str, np.ndarray]):
        self.config = config
        self.tensors = tensors

    def product(self, name: str, x: np.ndarray) -> np.ndarray:
        """x W for the weight called `name`; "embedding" is the output layer, a product with its transpose."""
        weight = self.tensors[name]
        return x @ (weight.T if name == "embedding" else weight)

    def embed(self, ids: Sequence[int]) -> np.ndarray:
        """Embedding of each id, unscaled: (len(ids), d)."""
        return self.tensors["embedding"][np.asarray(ids, np.int64)]

    def encode(self, ids: Sequence[int]) -> np.ndarray:
        """Encoder output (source_length, d) for source ids that end with the end-of-sentence id."""
        x = self._scaled(self.embed(ids)) + positions(0, len(ids), self.config.model_dim)
        for i in range(self.config.encoder_layers):
            attention, feed_forward = f"encoder.{i}.self_attention", f"encoder.{i}.feed_forward"
            x = self._normed(attention, x + self._attention(attention, x, *self._keys_values(attention, x)))
            x = self._normed(feed_forward, x + self._feed_forward(feed_forward, x))
        return x

    def start(self, encoded: np.ndarray, rows: int = 1) -> State:
        """State before the first token."""
        cells = [np.zeros((rows, self.config.model_dim), np.float32) for _ in self.config.decoder_parameters]
        memories = [self._keys_values(f"decoder.{p}.cross_attention", encoded) for p in self.config.decoder_parameters]
        return State(0, cells, memories)

    def step(self, state: State, previous: Sequence[int], candidates=None) -> tuple[np.ndarray, State]:
        """Logits (rows, vocab_size) of the next token, and the state after `previous`.

        `previous` has one id for each row and is ignored at position 0. With `candidates` (sorted ids) the
        logits are theirs only: (rows, len(candidates)).
        """
        embedded = self.embed(previous) if state.position else np.zeros_like(state.cells[0])
        x = self._scaled(embedded) + positions(state.position, 1, self.config.model_dim)
        cells, alignment = [], None
        for p, cell, memory in zip(self.config.decoder_parameters, state.cells, state.memories, strict=True):
            forget = sigmoid(self._affine(f"decoder.{p}.cell.forget", x))
            cells.append(forget * cell + (1 - forget) * self.product(f"decoder.{p}.cell.candidate.weight", x))
            x = self._normed(f"decoder.{p}.cell", x + relu(cells[-1]))
            block, feed_forward = f"decoder.{p}.cross_attention", f"decoder.{p}.feed_forward"
            queries = self._affine(f"{block}.query", x)
            alignment = attention_weights(queries, memory[0], self.config.heads)[0]
            context = attention(queries, *memory, self.config.heads)
            x = self._normed(block, x + self._affine(f"{block}.output", context))
            x = self._normed(feed_forward, x + self._feed_forward(feed_forward, x))
        logits = self.product("embedding", x) + self.tensors["output.bias"]
        if candidates is not None:
            logits = logits[:, candidates]
        return logits, State(state.position + 1, cells, state.memories, alignment)

    def greedy(self, source: Sequence[int], candidates=None, max_length_factor: float | None = None) -> Translation:
        """The most probable token at every step (the lowest id of equals), until the end of sentence.

        `source` ends with the end-of-sentence id; with nothing before it the translation is that id, at log
        probability 0. `candidates` (sorted ids, normally with the end of sentence) restricts the softmax.
        The unknown id is barred after the log-softmax, so it keeps its share of the probability. At most
        ceil(max_length_factor * len(source)) tokens; the default factor is the config's.
        """
        config = self.config
        if list(source) == [config.eos_id]:
            return Translation([config.eos_id], 0.0, False)
        vocabulary = np.arange(config.vocab_size) if candidates is None else np.asarray(candidates)
        factor = config.max_length_factor if max_length_factor is None else max_length_factor
        state, ids, log_prob = self.start(self.encode(source)), [], 0.0
        while len(ids) < math.ceil(factor * len(source)):
            logits, state = self.step(state, ids[-1:], candidates)
            log_probs = log_softmax(logits[0])
            best = int(np.argmax(np.where(vocabulary == config.unk_id, -np.inf, log_probs)))
            ids.append(int(vocabulary[best]))
            log_prob += float(log_probs[best])
            if ids[-1] == config.eos_id:
                return Translation(ids, log_prob, False)
        return Translation(ids, log_prob, True)

    def _affine(self, name, x):
        return self.product(f"{name}.weight", x) + self.tensors[f"{name}.bias"]

    def _normed(self, block, x):
        scale, bias = self.tensors[f"{block}.norm.scale"], self.tensors[f"{block}.norm.bias"]
        return layer_norm(x, scale, bias, self.config.layer_norm_epsilon)

    def _scaled(self, embedded):
        return np.float32(math.sqrt(self.config.model_dim)) * embedded

    def _keys_values(self, name, x):
        return self._affine(f"{name}.key", x), self._affine(f"{name}.value", x)

    def _attention(self, name, x, keys, values):
        heads = attention(self._affine(f"{name}.query", x), keys, values, self.config.heads)
        return self._affine(f"{name}.output", heads)

    def _feed_forward(self, name, x):
        return self._affine(f"{name}.outer", relu(self._affine(f"{name}.inner", x)))


def positions(first: int, count: int, d: int) -> np.ndarray:
    """Position signals (count, d): sine of p 10000^(-i / (d/2 - 1)) for i < d/2, then the cosines.

    Marian divides by d/2 - 1, where others divide by d/2.
    """
    angles = np.arange(first, first + count)[:, None] * 10000.0 ** (-np.arange(d // 2) / (d // 2 - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def attention(queries, keys, values, heads: int) -> np.ndarray:
    """Scaled dot-product attention: (queries, d). Head h owns columns h d/heads to (h + 1) d/heads."""
    weights = attention_weights(queries, keys, heads)
    return (weights @ _by_head(values, heads)).transpose(1, 0, 2).reshape(queries.shape)


def attention_weights(queries, keys, heads: int) -> np.ndarray:
    """How much each query takes of each value: (heads, queries, keys)."""
    q, k = _by_head(queries, heads), _by_head(keys, heads)
    return softmax(q @ k.transpose(0, 2, 1) / np.float32(math.sqrt(q.shape[2])))


def _by_head(x, heads):
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def layer_norm(x, scale, bias, epsilon: float) -> np.ndarray:
    """Each row to mean 0 and (biased) variance 1, then scale and bias.

    Ba et al. 2016, https://arxiv.org/abs/1607.06450, section 3.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    return scale * centred / np.sqrt(variance + np.float32(epsilon)) + bias


def relu(x):
    return np.maximum(x, np.float32(0))


def sigmoid(x):
    return np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * x))  # 1 / (1 + exp(-x)), without overflow


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
