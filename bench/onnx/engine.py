"""Greedy and beam search over onnxruntime sessions, in the place of `cpunmt.engine.engine.Engine`.

`OnnxEngine.translate` has the engine's parameters and results, so that a Translator runs with either: both then segment
text into pieces and join them by the same code. Batches are of sentences of similar length, padded; finished sentences
leave a batch once there are enough of them. With a shortlist a batch chooses from the union of its sentences'
candidates, as in Marian.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from bench.onnx.graphs import session
from bench.onnx.search import Batch
from cpunmt.engine.engine import Hypothesis
from cpunmt.model.config import ModelConfig
from cpunmt.search.settings import GREEDY, Search
from quantize.onnx.export import state_shapes


class OnnxEngine:
    """An engine of the graphs of a directory, with or without a Shortlist."""

    def __init__(self, folder: Path, config: ModelConfig, shortlist=None, batch: int = 32):
        """`batch`: largest number of sentences in a batch."""
        self.model = SimpleNamespace(config=config)
        self.shortlist, self.clusters = shortlist, None
        self.batch = batch
        self._sessions = {}
        self._folder = folder
        self._shapes = {
            f"state_{layer}{part}": shape
            for layer in range(config.architecture.decoder_layers)
            for part, shape in state_shapes(config).items()
        }
        self._memory = [
            f"{kind}_{p}" for p in range(config.architecture.decoder_sets) for kind in ("keys", "values")
        ] + ["mask"]
        self._wanted = ["logits", *(f"new_{name}" for name in self._shapes)]

    def _session(self, name):
        if name not in self._sessions:
            self._sessions[name] = session(self._folder / f"{name}.onnx")
        return self._sessions[name]

    def translate(self, sources, limits, search: Search = GREEDY, prefixes=None) -> list[list[Hypothesis]]:
        """Returns translations in order; see `Engine.translate`. Greedy search computes no log-probabilities."""
        if prefixes is not None or search.min_length or search.coverage_penalty or search.attention:
            raise ValueError("this driver knows no prefixes, min_length, coverage_penalty and attention")
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        found = [None] * len(sources)
        for first in range(0, len(order), self.batch):
            chosen = order[first : first + self.batch]
            batch = Batch(self, [sources[i] for i in chosen], [limits[i] for i in chosen], search.full)
            made = batch.greedy() if search.beam_size == 1 else batch.beam(search)
            for i, hypotheses in zip(chosen, made, strict=True):
                found[i] = hypotheses
        return found

    def encode(self, sources) -> dict[str, np.ndarray]:
        """Returns keys, values and mask of a batch for the decoder's steps."""
        lengths = np.array([len(source) for source in sources])
        ids = np.zeros((len(sources), lengths.max()), np.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        made = self._session("encoder").run(self._memory, {"ids": ids, "lengths": lengths})
        return dict(zip(self._memory, made, strict=True))

    def start(self, rows: int) -> dict[str, np.ndarray]:
        """Returns the states before the first token."""
        sizes = {"hypotheses": rows, "steps": 0}
        return {
            name: np.zeros([sizes.get(size, size) for size in shape], np.float32)
            for name, shape in self._shapes.items()
        }

    def output_layer(self, candidates) -> dict[str, np.ndarray]:
        """Returns the output layer of some pieces, for `step`."""
        names = ["output_weight", "output_bias"]
        made = self._session("candidates").run(names, {"candidates": candidates.astype(np.int64)})
        return dict(zip(names, made, strict=True))

    def step(self, memory, states, previous, position, output=None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Returns (logits, new states); `output`: of candidates, else the logits are of all pieces."""
        given = {"previous": previous, "position": np.array(position), **memory, **states}
        graph = "step"
        if output is not None:
            given.update(output)
            graph = "candidates_step"
        logits, *new = self._session(graph).run(self._wanted, given)
        return logits, dict(zip(states, new, strict=True))
