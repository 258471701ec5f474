"""Whole translations with and without fused output: random students with an output layer over the whole vocabulary."""

from functools import partial

import numpy as np

from bench.harness.timing import in_turn
from bench.students import length_limits, random_checkpoint
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search

MEAN, DEVIATION = 26.3, 14.9  # pieces of a source: Europarl, Table 1 of paper A in docs/papers.md


def sentences(count: int, vocabulary: int, seed: int = 1) -> list[list[int]]:
    """Returns sources of random ids, each with </s>, of the lengths of news."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.normal(MEAN, DEVIATION, count), 2, 100).astype(int)
    return [[*random.integers(2, vocabulary, length).tolist(), 0] for length in lengths]


def measure_whole(vocabulary: int, chosen) -> dict:
    """Returns seconds of each way by beam and batch; `chosen` has the bench's arguments."""
    config, tensors = random_checkpoint("base" if chosen.depth >= 512 else "tiny11", vocabulary)
    engine = Engine(Model(*packed_tensors(config, tensors, "int8")))
    sources = sorted(sentences(chosen.sentences, vocabulary), key=len)
    found = {}
    for beam in chosen.beams:
        fused = Search(beam_size=beam)
        ways = {"defined": fused._replace(stepwise=True), "fused": fused}
        if beam == 1:
            ways["argmax"] = fused._replace(scored=False)
        for batch in chosen.batches:
            part = sources if batch > 1 else sources[:: max(1, len(sources) // 8)]
            limits = length_limits(part)
            runs = {way: partial(_translate, engine, part, limits, batch, search) for way, search in ways.items()}
            seconds = in_turn(runs, max(2, chosen.rounds // 3)).seconds
            found[f"beam {beam}, batch {batch}"] = {way: min(values) for way, values in seconds.items()}
    return {"vocabulary": vocabulary, "seconds": found}


def _translate(engine, sources, limits, batch, search):
    for first in range(0, len(sources), batch):
        chunk = slice(first, first + batch)
        engine.translate(sources[chunk], limits[chunk], search, slots=batch)


def show_whole(results: list[dict]):
    for result in results:
        print(f"\nwhole translations, {result['vocabulary']} pieces, against our stepwise way")
        for name, seconds in result["seconds"].items():
            told = [
                f"{way} {100 * (1 - value / seconds['defined']):.1f} % less"
                for way, value in seconds.items()
                if way != "defined"
            ]
            print(f"{name:20s} {', '.join(told)}", flush=True)
