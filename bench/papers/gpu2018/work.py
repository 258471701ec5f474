"""Workloads: a random student whose output layer is over all pieces, or a packed model on text."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bench.harness.texts import read_lines
from bench.students import length_limits, random_checkpoint
from bench.top_up.ways import Work
from bench.top_up.workload import LENGTHS, drawn, sources
from cpunmt import Translator
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model

MAXI_BATCH = 1280  # sentences that A sorts by length, before it cuts them into mini-batches
ORDERS: dict[str, Callable[[Work], Work]] = {
    "unsorted": lambda work: work,
    "maxi-batches": lambda work: work.sorted(MAXI_BATCH),
}


class Task(NamedTuple):
    """A model, and its sentences by the name of a workload; its search is over the whole vocabulary."""

    name: str
    engine: Engine
    works: dict[str, Work]


def random_task(size: str, vocabulary: int, sentences: int) -> Task:
    """Returns a random student. Targets are 1.05 times as long as sources, see bench.students."""
    config, tensors = random_checkpoint(size, vocabulary)
    generator, works = np.random.default_rng(1), {}
    for name, lengths in LENGTHS.items():
        counts = drawn(lengths, sentences)
        found = [[*generator.integers(2, vocabulary, count).tolist(), config.eos_id] for count in counts]
        works[name] = Work(found, length_limits(found), sum(map(len, found)))
    engine = Engine(Model(*packed_tensors(config, tensors, "int8")))
    return Task(f"a random student of size {size}, {vocabulary:,} pieces", engine, works)


def trained_task(model: str, text, sentences: int) -> Task:
    """Returns a packed Transformer with sentences cut from a text."""
    translator, lines, works = Translator(model), [line for line in read_lines(text) if line.strip()], {}
    for name, lengths in LENGTHS.items():
        works[name] = Work.limited(sources(translator.source_vocabulary, lines, lengths, sentences), 2)
    return Task(f"{model}, {translator.config.vocab_size:,} pieces", translator.loaded.engine, works)
