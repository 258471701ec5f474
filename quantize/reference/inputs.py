"""The inputs of a network's matrices, under forced decoding of given translations."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import linears, output_table
from quantize.reference.definition import State
from quantize.reference.formulas import attention
from quantize.reference.network import Reference
from quantize.reference.recurrent import Recurrent
from quantize.reference.transformer import Transformer

_SENTENCES = 64  # decoded in one batch


def hear_inputs(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    hear: Callable[[str, np.ndarray], None],
    done: Callable[[int], None] = lambda count: None,
) -> None:
    """Runs the network of a float32 checkpoint in NumPy.

    Parameters
    ----------
    sources, targets : ids with their </s>, in the model's order
    hear : called with the name of a linear layer, or of the output table, and its inputs, float32 [rows, depth]
    done : called with the number of sentences finished since the last call
    """
    network = _Hearing(config, tensors, hear)
    order = sorted(range(len(targets)), key=lambda i: -len(targets[i]))
    for begin in range(0, len(order), _SENTENCES):
        chosen = order[begin : begin + _SENTENCES]
        network.run([sources[i] for i in chosen], [targets[i] for i in chosen])
        done(len(chosen))


class _HearingTransformer(Transformer):
    """A Transformer with a row of the decoder for each sentence."""

    def __init__(self, config: Any, weights: Any) -> None:
        super().__init__(config, weights)
        self._aligning = None  # attends sentence by sentence, without an alignment of all

    def _attended(self, name: str, x: Any, keys: Any, values: Any) -> Any:
        if not isinstance(keys, tuple):
            return super()._attended(name, x, keys, values)
        queries = self._affine(f"{name}.query", x)
        sizes = self.architecture.heads, self.architecture.attention_scale
        heads = [
            attention(query[None], k, v, *sizes)
            for query, k, v in zip(queries, keys, values, strict=False)  # ended sentences are last
        ]
        return self._heads_output(name, np.concatenate(heads)), None


class _HearingRecurrent(Recurrent):
    """A recurrent network with a row of the decoder for each sentence."""

    def _attended(self, states: Any, keys: Any, encoded: Any) -> Any:
        queries = self._mapped("attention.query", states)
        made = [
            self._attention_weights(query[None], k) @ h for query, k, h in zip(queries, keys, encoded, strict=False)
        ]
        return np.concatenate(made), None


class _Hearing(Reference):
    """The network, a row of the decoder for each sentence."""

    definitions = MappingProxyType({TransformerConfig: _HearingTransformer, RecurrentConfig: _HearingRecurrent})

    def __init__(self, config: Any, tensors: Any, hear: Any) -> None:
        super().__init__(config, tensors)
        self._layers = {linear.parts[0][0]: linear.name for linear in linears(config)}  # all parts share one input
        self._output = output_table(config)
        self._layers[self._output] = self._output
        self._hear = hear

    def run(self, sources: Any, targets: Any) -> None:
        """Encodes sentences and decodes their translations, the longest of which comes first."""
        states = [self.start(self.encode(source)) for source in sources]
        cells = [np.concatenate(cell) for cell in zip(*(state.cells for state in states), strict=True)]
        # of each layer: (keys of each sentence, values of each sentence)
        memories = [
            tuple(zip(*layer, strict=True)) for layer in zip(*(state.memories for state in states), strict=True)
        ]
        state = State(0, cells, memories)
        for position in range(len(targets[0])):
            going = sum(len(target) > position for target in targets)
            state = state.rows(slice(going))
            previous = [target[position - 1] if position else 0 for target in targets[:going]]
            _, state = self.step(state, previous)

    def product(self, name: str, x: Any) -> Any:
        """Returns x W, and reports x."""
        if name in self._layers:
            self._hear(self._layers[name], x)
        if name == self._output:  # logits are not needed: the target is known
            return np.zeros((len(x), self.config.vocab_size), np.float32)
        return super().product(name, x)
