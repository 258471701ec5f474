"""Projection steps in the memory of a search: states of translations instead of a decoder's."""

import ctypes
import itertools
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bench.operands import Arena, quantize
from cpunmt.architectures.records import ROW
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.engine.workspace import output_layers
from cpunmt.kernels.matmul.packing import panels
from cpunmt.layers.schemes import SCHEMES
from cpunmt.search.records import BATCH, HYPOTHESIS
from cpunmt.search.settings import Search
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import Step

STEPS = 512  # at most


class Setting(NamedTuple):
    """Numbers of sentences in a batch, and of hypotheses of each."""

    batch: int
    beam: int

    @property
    def rows(self) -> int:
        """Returns the hypotheses of a step."""
        return self.batch * self.beam

    def __str__(self) -> str:
        return "1 row" if self.rows == 1 else f"batch {self.batch} x beam {self.beam}"


def step_rows(steps: Iterable[Step], setting: Setting) -> Step:
    """Returns rows of at most STEPS steps, each of `setting.rows`: of sentences of similar lengths side by side.

    All hypotheses of a sentence are neighbours. Skips steps in which it has fewer than the beam.
    """
    of_sentence: dict[int, list[Step]] = {}
    for step in steps:
        for sentence in np.unique(step.sentences).tolist():
            rows = np.flatnonzero(step.sentences == sentence)
            if len(rows) == setting.beam:
                of_sentence.setdefault(sentence, []).append(Step(*(part[rows] for part in step)))
    ordered, found = sorted(of_sentence.values(), key=len), []
    groups = len(ordered) // setting.batch
    for group in np.random.default_rng(1).permutation(groups):  # short ones and long ones
        found += list(zip(*ordered[group * setting.batch :][: setting.batch], strict=False))
    if not found:
        raise ValueError(f"{len(ordered)} sentences, expected at least {setting.batch}")
    return Step(*map(np.concatenate, zip(*itertools.chain.from_iterable(found[:STEPS]), strict=True)))


class States:
    """Float32 states [steps * rows, model_dim], also quantized for an output layer's scheme: `record`, a STATES.

    `best` is int64 [steps * rows], the kernels' output.
    """

    def __init__(self, program, states: np.ndarray, scheme: str):
        from bench.papers.clusters2022.ways import STATES

        self._arena, self._x = Arena(), np.ascontiguousarray(states)
        quantized, scales = self._arena.zeros(2 * states.size, np.uint8), self._arena.zeros(2 * len(states))
        quantize(program, scheme, self._x, *states.shape, quantized, scales)
        self.best = np.zeros(len(states), np.int64)
        self.record = np.zeros(1, STATES)
        for name, array in (("x", self._x), ("quantized", quantized), ("row_scales", scales), ("best", self.best)):
            self.record[name] = array.ctypes.data


class Projection:
    """Steps of one setting, over the whole vocabulary or over clusters; `best` is the best piece of each row."""

    def __init__(self, program, engine: Engine, given: Step, setting: Setting, clusters: Clusters | None = None):
        config, self._rows, self._program = engine.model.config, setting.rows, program
        self.steps, self._next = len(given.states) // setting.rows, 0
        search = Search(beam_size=setting.beam, full=True, clusters=clusters is not None, scored=setting.beam > 1)
        self._engine = engine if clusters is None else Engine(engine.model, clusters={OTHERS: clusters})
        sources = [[2, config.eos_id]] * setting.batch
        prepared = self._engine._prepared(sources, [2] * setting.batch, search, None, setting.batch)
        self._batch, self._workspace, *self._kept = prepared
        self.workspace = self._workspace.address  # of a WORKSPACE record
        fields, sentences = self._workspace.record[0], self._workspace.sentences
        rows, hypotheses = (
            _seen(fields[name], kind, setting.rows) for name, kind in (("rows", ROW), ("hypotheses", HYPOTHESIS))
        )
        rows[:], rows["slot"], rows["step"], hypotheses[:] = 0, np.arange(setting.rows) // setting.beam, 1, 0
        sentences[:], sentences["live"], sentences["sentence"] = 0, setting.beam, np.arange(setting.batch)
        sentences["clusters"] = np.frombuffer(self._batch, BATCH)["clusters"]
        self._states = States(program, given.states, SCHEMES[config.scheme])
        self.best = self._states.best
        self._union = _Union(self._engine.model) if clusters is not None else None

    def seconds(self, steps: int, union: bool = False) -> float:
        """Returns CPU time of a step: of the next ones, cyclically."""
        if self._next + steps > self.steps:
            self._next = 0
        given = self._batch.buffer_info()[0], self.workspace, self._states.record, self._rows
        part = self._next, self._next + steps
        began = time.process_time()
        if union:
            self._program.union_steps(*given, *part, self._union.record)
        else:
            self._program.project_steps(*given, *part)
        self._next += steps
        return (time.process_time() - began) / steps

    def all(self, union: bool = False):
        """Runs every step once; returns the mean number of pieces in the union of a step's sets."""
        self._next = 0
        if self._union:
            self._union.size[:] = 0
        self.seconds(self.steps, union)
        return int(self._union.size[0]) / self.steps if union else None


class _Union:
    """Memory for the output layer over a union: `record`, a UNION."""

    def __init__(self, model):
        from bench.papers.clusters2022.ways import UNION

        def room(dtype, *shape):
            self._kept.append(np.empty(shape, dtype))  # memory is used only when written
            return self._kept[-1]

        size, self.size, self._kept = model.config.vocab_size, np.zeros(1, np.int64), []
        layer, pieces = output_layers(model.config, 1, panels(size), room), room(np.int32, size)
        layer["multiplier"] = model.record["output_multiplier"]
        self._kept.append(layer)
        self.record = np.zeros(1, UNION)
        for name, array in (("layer", layer), ("pieces", pieces), ("size", self.size)):
            self.record[name] = array.ctypes.data


def _seen(address, dtype, count):
    """Returns the array of that type at an address."""
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(int(address)), dtype)
