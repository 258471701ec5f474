"""The network in NumPy float32: the definition that everything else is compared with.

One sentence at a time, without any of the runtime's code. Equations: `transformer`, `recurrent`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import tables
from quantize.reference.definition import State
from quantize.reference.recurrent import Recurrent
from quantize.reference.transformer import Transformer

DEFINITIONS = MappingProxyType({TransformerConfig: Transformer, RecurrentConfig: Recurrent})


class Reference:
    """The network with its weights. To calibrate or to simulate integers, override `product`, `affine` and `embed`.

    `tensors` maps canonical names to float32 arrays as `cpunmt.formats` reads them: weights [in, out].
    """

    definitions = DEFINITIONS

    def __init__(self, config: ModelConfig, tensors: Mapping[str, np.ndarray]) -> None:
        self.config = config
        self.tensors = tensors
        self.tables = tables(config)
        self._network: Any = self.definitions[type(config.architecture)](config, self)

    def product(self, name: str, x: np.ndarray) -> Any:
        """Returns x W for the weight called `name`; a table as the output layer is a product with its transpose."""
        weight = self.tensors[name]
        return x @ (weight.T if name in self.tables.values() else weight)

    def affine(self, name: str, x: np.ndarray) -> Any:
        """Returns x W + b for `name`.weight and `name`.bias."""
        return self.product(f"{name}.weight", x) + self.tensors[f"{name}.bias"]

    def embed(self, table: str, ids: Sequence[int]) -> Any:
        """Returns rows of a table, unscaled: (len(ids), d)."""
        return self.tensors[table][np.asarray(ids, np.int64)]

    def encode(self, ids: Sequence[int]) -> Any:
        """Returns encoder output (source_length, width) for source ids that end with the end-of-sentence id."""
        if not self.config.source_end and len(ids) > 1 and ids[-1] == self.config.eos_id:
            ids = ids[:-1]  # the model was trained without it
        return self._network.encode(ids)

    def start(self, encoded: np.ndarray, rows: int = 1) -> Any:
        """Returns the state before the first token."""
        return self._network.start(encoded, rows)

    def step(self, state: State, previous: Sequence[int], candidates: Any = None) -> Any:
        """Returns logits (rows, vocab_size) of the next token, and the state after `previous`.

        `previous` has one id for each row and is ignored at position 0. With `candidates` (sorted ids) the logits are
        theirs only: (rows, len(candidates)).
        """
        return self._network.step(state, previous, candidates)
