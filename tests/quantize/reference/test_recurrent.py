"""The recurrent networks' definition beside PyTorch's cells and layers; its laws are in test_reference."""

import numpy as np
import pytest

from quantize.reference.network import Reference
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import make_config

torch = pytest.importorskip("torch", reason="PyTorch, of the extra `train`, is the oracle here")

SOURCE = [7, 31, 4, 18, 5, 22, 0]
TARGET = [9, 9, 31, 4, 27]
CLOSE = {"rtol": 1e-4, "atol": 2e-5}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def as_torch(kind, tensors, cell, dim):
    """Returns (weight_ih, weight_hh, bias_ih, bias_hh) of a cell of PyTorch's, [gates, in]: i, f, g, o or r, z, n."""
    order = (1, 0, 2, 3) if kind == "lstm" else (0, 1, 2)
    names = ("gates",) if kind == "lstm" else ("gates", "candidate")

    def of(prefix, ending, width):
        found = [tensors.get(f"{cell}.{prefix}{name}.{ending}") for name in names]
        sizes = [len(order) * dim] if kind == "lstm" else [2 * dim, dim]
        zeros = [np.zeros((*width, size), np.float32) for size in sizes]
        columns = np.concatenate([z if f is None else f for f, z in zip(found, zeros, strict=True)], axis=-1)
        parts = np.split(columns, len(order), axis=-1)
        return torch.from_numpy(np.concatenate([parts[i] for i in order], axis=-1).T.copy())

    inputs = tensors[f"{cell}.gates.weight"].shape[0]
    return of("", "weight", (inputs,)), of("state_", "weight", (dim,)), of("", "bias", ()), of("state_", "bias", ())


class Torch:
    """A network of one bidirectional encoder layer, in PyTorch's own modules; decodes from the start at every call."""

    def __init__(self, config, tensors):
        self.config = config.architecture
        self.tensors = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
        self.arrays = tensors

    def recurrent(self, kind, cell, dim, x):
        """Runs PyTorch's nn.LSTM or nn.GRU on x [positions, width]."""
        made = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](x.shape[1], dim)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        made.load_state_dict(dict(zip(names, as_torch(kind, self.arrays, cell, dim), strict=True)))
        return made(x)[0]

    def cell(self, kind, name, x, state):
        """Runs one step of nn.LSTMCell or nn.GRUCell."""
        dim = (state[0] if kind == "lstm" else state).shape[1]
        made = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}[kind](x.shape[1], dim)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        made.load_state_dict(dict(zip(names, as_torch(kind, self.arrays, name, dim), strict=True)))
        return made(x, state)

    def linear(self, name, x):
        weight, bias = self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias")
        return torch.nn.functional.linear(x, weight.T, bias)

    def encode(self, ids):
        x = self.tensors["embedding"][ids]
        kind, dim = self.config.encoder_cell, self.config.encoder_dim
        forward = self.recurrent(kind, "encoder.forward.0.0", dim, x)
        backward = self.recurrent(kind, "encoder.backward.0.0", dim, x.flip(0)).flip(0)
        return torch.cat([forward, backward], dim=1)

    def stack(self, x):
        """Runs Devlin's layers as published: h1 = relu(W1 h0), h2 = relu(W2 h1), h3 = relu(W3 h2 + h1),
        h4 = relu(W4 h3), h5 = relu(W5 h4 + h3) and so on.
        """
        limit = self.config.relu_limit
        relu = torch.nn.Hardtanh(0.0, limit) if limit else torch.nn.ReLU()
        layers = [f"relu.{i}" for i in range(len(self.config.stack))]
        if layers:
            x = relu(self.linear(layers[0], x))
        for inner, outer in zip(layers[1::2], layers[2::2], strict=False):
            x = relu(self.linear(outer, relu(self.linear(inner, x))) + x)
        return relu(self.linear(layers[-1], x)) if layers and len(layers) % 2 == 0 else x

    def logits(self, source, target):
        """Returns logits after each proper prefix of a target: attention from the state before, one cell, a stack,
        tanh.
        """
        config, kind, encoded = self.config, self.config.decoder_cell, self.encode(source)
        state = torch.tanh(self.linear("start", encoded.mean(0, keepdim=True)))
        state = (state, state) if kind == "lstm" else state
        y, found, weight = torch.zeros(1, config.model_dim), [], dict(self.arrays)
        for name in ("gates", "candidate") if kind == "gru" else ("gates",):  # one product of both inputs side by side
            parts = [self.arrays[f"decoder.0.0.{prefix}{name}.weight"] for prefix in ("", "context_")]
            weight[f"decoder.0.0.{name}.weight"] = np.concatenate(parts)
        self.arrays = weight
        for token in target:
            query = state[0] if kind == "lstm" else state
            scores = torch.tanh(self.linear("attention.key", encoded) + self.linear("attention.query", query))
            taken = torch.softmax(scores @ self.tensors["attention.score"], dim=0)
            state = self.cell(kind, "decoder.0.0", torch.cat([y, (taken @ encoded)[None]], dim=1), state)
            x = self.stack(state[0] if kind == "lstm" else state)
            top = torch.tanh(self.linear("top", x))
            found.append((top @ self.tensors["embedding"].T + self.tensors["output.bias"])[0])
            y = self.tensors["embedding"][token][None]
        return torch.stack(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder_cell": "lstm", "decoder_cell": "lstm"},
        {"encoder_cell": "lstm", "stack": (64, 48)},
        {"decoder_cell": "lstm", "stack": (80, 48, 80, 64), "relu_limit": 0.4},
        {"stack": (48,) * 7, "relu_limit": 10.0, "attention_dim": 16},
    ],
)
def test_it_is_what_pytorch_makes(options):
    config = make_config(attention="input", top="tanh", **options)
    tensors = random_tensors(config, 5)
    reference = Reference(config, tensors)
    encoded = reference.encode(SOURCE)
    state, found = reference.start(encoded), []
    for i in range(len(TARGET)):
        logits, state = reference.step(state, TARGET[i - 1 : i])
        assert logits.dtype == np.float32 and logits.shape == (1, config.vocab_size)
        found.append(logits[0])
    with torch.no_grad():
        network = Torch(config, tensors)
        np.testing.assert_allclose(encoded, network.encode(SOURCE), **CLOSE)
        np.testing.assert_allclose(found, network.logits(SOURCE, TARGET), **CLOSE)
