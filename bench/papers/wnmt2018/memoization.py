"""Weights quantized and laid out once, or for each mini-batch."""

import time
from functools import partial

from bench.harness.texts import STUDENT
from bench.harness.timing import seconds_of
from bench.papers.wngt2019.workload import Workload
from bench.papers.wnmt2018.students import SCHEMES
from bench.students import length_limits, random_checkpoint
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary

BATCHES = (1, 32)


def measure(size: str, lines: list[str], rounds: int) -> list[dict]:
    """Returns rows by scheme for a random student of one of bench.students.SIZES: words/s by size of mini-batch.

    Least CPU time of all rounds. Without memoization it is a sum: the mini-batch's time and the weights'.
    """
    vocabulary, rows = Vocabulary(STUDENT / "vocabulary.spm"), []
    shortlist = Shortlist.load(STUDENT / "shortlist.bin", vocabulary, vocabulary)
    config, tensors = random_checkpoint(size, vocabulary.size)
    for name, scheme in SCHEMES.items():
        engine, packing = None, float("inf")
        for _ in range(rounds):
            began = time.process_time()
            engine = Engine(Model(*packed_tensors(config, tensors, scheme)), shortlist)
            packing = min(packing, time.process_time() - began)
        speeds = {}
        for batch in BATCHES:
            work = Workload(lines, batch)
            seconds = min(seconds_of(partial(_translate, engine, vocabulary, work), rounds + 1))
            without = seconds + packing * len(work.batches)
            speeds[batch] = {"memoized": work.words / seconds, "not memoized": work.words / without}
        rows.append({"name": name, "seconds_of_weights": packing, "batches": speeds})
    return rows


def _translate(engine: Engine, vocabulary: Vocabulary, work: Workload) -> None:
    for batch in work.batches:
        sources = vocabulary.encode_batch(batch)
        engine.translate(sources, length_limits(sources))


def show(size: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nMemoization: a random student of size {size}, words/s with weights made once, and for each batch")
    for row in rows:
        told = [
            f"batch {batch}: {speeds['memoized']:.0f}, {speeds['not memoized']:.0f}"
            for batch, speeds in row["batches"].items()
        ]
        print(f"{row['name']:10} weights {1e3 * row['seconds_of_weights']:8.1f} ms   {'   '.join(told)}", flush=True)
