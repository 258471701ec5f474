"""Implements the formulae of the network as loops over float64: slow, and independent of the reference."""

import math

import numpy as np


def naive_positions(first, count, d):
    half = d // 2
    table = [[0.0] * d for _ in range(count)]
    for t in range(count):
        for i in range(half):
            angle = (first + t) / math.exp(math.log(10000) * i / (half - 1))
            table[t][i], table[t][half + i] = math.sin(angle), math.cos(angle)
    return np.array(table)


def naive_layer_norm(x, scale, bias, epsilon):
    out = []
    for row in x.tolist():
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + epsilon)
        out.append([(v - mean) / deviation * s + b for v, s, b in zip(row, scale, bias, strict=True)])
    return np.array(out)


def naive_attention(queries, keys, values, heads):
    head_dim = queries.shape[1] // heads
    out = np.zeros(queries.shape)
    for h in range(heads):
        columns = range(h * head_dim, (h + 1) * head_dim)
        for i, query in enumerate(queries):
            scores = [sum(query[c] * key[c] for c in columns) / math.sqrt(head_dim) for key in keys]
            weights = [math.exp(score - max(scores)) for score in scores]
            for c in columns:
                out[i, c] = sum(w * value[c] for w, value in zip(weights, values, strict=True)) / sum(weights)
    return out


class NaiveNetwork:
    """Encoder and decoder in float64, which decode from the start at every call, without any state."""

    def __init__(self, config, tensors):
        self.config = config
        self.tensors = {name: array.astype(np.float64) for name, array in tensors.items()}

    def affine(self, name, x):
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return np.array([[row @ weight[:, j] + bias[j] for j in range(len(bias))] for row in x])

    def norm(self, name, x):
        return naive_layer_norm(x, self.tensors[f"{name}.norm.scale"], self.tensors[f"{name}.norm.bias"], 1e-6)

    def attend(self, name, x, memory):
        queries, keys, values = (
            self.affine(f"{name}.{part}", of) for part, of in (("query", x), ("key", memory), ("value", memory))
        )
        heads = naive_attention(queries, keys, values, self.config.architecture.heads)
        return self.norm(name, x + self.affine(f"{name}.output", heads))

    def feed(self, name, x):
        inner = self.affine(f"{name}.inner", x)
        return self.norm(name, x + self.affine(f"{name}.outer", np.where(inner > 0, inner, 0)))

    def encode(self, ids):
        x = self.tensors["embedding"][ids] * math.sqrt(self.config.architecture.model_dim) + naive_positions(
            0, len(ids), self.config.architecture.model_dim
        )
        for i in range(self.config.architecture.encoder_layers):
            x = self.attend(f"encoder.{i}.self_attention", x, x)
            x = self.feed(f"encoder.{i}.feed_forward", x)
        return x

    def logits(self, source, target):
        """Returns logits after each proper prefix of `target`, (len(target), vocab_size)."""
        d, memory = self.config.architecture.model_dim, self.encode(source)
        embedded = [np.zeros(d)] + [self.tensors["embedding"][token] for token in target[:-1]]
        x = np.array(embedded) * math.sqrt(d) + naive_positions(0, len(target), d)
        for p in self.config.architecture.decoder_parameters:
            cell, blocks = np.zeros(d), []
            forget_logits = self.affine(f"decoder.{p}.cell.forget", x)
            for row, logit in zip(x, forget_logits, strict=True):
                forget = np.array([1 / (1 + math.exp(-value)) for value in logit])
                cell = forget * cell + (1 - forget) * (row @ self.tensors[f"decoder.{p}.cell.candidate.weight"])
                blocks.append([max(value, 0) for value in cell])
            x = self.norm(f"decoder.{p}.cell", x + np.array(blocks))
            x = self.attend(f"decoder.{p}.cross_attention", x, memory)
            x = self.feed(f"decoder.{p}.feed_forward", x)
        return x @ self.tensors["embedding"].T + self.tensors["output.bias"]
