"""The ways to decode a workload, timed in turn, and the number of rows of each of their steps."""

import ctypes
import math
import statistics
from functools import partial
from typing import NamedTuple

from bench.harness.timing import in_turn, median_ratio
from bench.top_up.mini_batches import MiniBatches
from cpunmt.engine.engine import Engine
from cpunmt.search.records import WORKSPACE
from cpunmt.search.settings import Search


class Way(NamedTuple):
    """The rule by which sentences leave a batch and enter it."""

    padded: bool = False  # whether sources are, see mini_batches
    stays: bool = False  # whether an ended sentence stays until its whole mini-batch has ended
    refill: float = 1.0  # see Engine.translate


PADDED, MINI_BATCHES, REMOVAL = "padded mini-batches", "mini-batches", "removal"
HALF, AT_ONCE = "top-up, 1/2 free", "top-up at once"
WAYS = {
    PADDED: Way(padded=True, stays=True),
    MINI_BATCHES: Way(stays=True),
    REMOVAL: Way(),
    "top-up, 3/4 free": Way(refill=0.75),
    HALF: Way(refill=0.5),
    "top-up, 1/4 free": Way(refill=0.25),
    AT_ONCE: Way(refill=0.0),
}


class Work(NamedTuple):
    """Sentences to decode, in this order."""

    sources: list[list[int]]  # ids with their </s>
    limits: list[int]
    pieces: int  # of all sources

    @classmethod
    def limited(cls, sources: list[list[int]], factor: float) -> "Work":
        """Returns a work whose translations have at most `factor` pieces for each of the source's, </s> included."""
        return cls(sources, [math.ceil(factor * len(source)) for source in sources], sum(map(len, sources)))

    def sorted(self, together: int | None = None) -> "Work":
        """Returns the longest source first, as a Translator sorts them; with `together` within each maxi-batch of so
        many sentences.
        """
        count = len(self.sources)
        order = sorted(range(count), key=lambda i: (i // (together or count), -len(self.sources[i])))
        return Work([self.sources[i] for i in order], [self.limits[i] for i in order], self.pieces)


class Decoders:
    """Engines of one model."""

    def __init__(self, engine: Engine):
        self._engine, self._staying = engine, {}

    def of(self, way: Way) -> Engine:
        """Returns the engine that decodes in this way."""
        if not way.stays:
            return self._engine
        if way.padded not in self._staying:
            self._staying[way.padded] = MiniBatches(self._engine.model, self._engine.shortlist, way.padded)
        return self._staying[way.padded]

    def run(self, way: Way, work: Work, search: Search, slots: int) -> list:
        """Returns the translations in order."""
        return self.of(way).translate(work.sources, work.limits, search, slots=slots, refill=way.refill)

    def rows(self, way: Way, work: Work, search: Search, slots: int) -> list[int]:
        """Returns the number of hypotheses in each step."""
        engine = self.of(way)
        record, memory, *kept = engine._prepared(work.sources, work.limits, search, None, slots, way.refill)
        state = {
            name: ctypes.c_int64.from_address(memory.address + WORKSPACE.fields[name][1])
            for name in ("waiting", "row_count", "filling")
        }
        found, begin, more, begun = [], 1, True, 0
        while more:
            before, waited = (0, 0) if begin else (state["row_count"].value, state["waiting"].value)
            more = engine._program.translate(record.buffer_info()[0], memory.address, begin, 1)
            begin = 0
            begun += state["waiting"].value - waited
            if not state["filling"].value:  # else no step was made, and new sentences are rows already
                found.append(before + state["waiting"].value - waited)
        del kept  # compiled code has read it
        return found


def measure(decoders: Decoders, work: Work, search: Search, slots: int, rounds: int) -> list[dict]:
    """Returns rows for WAYS: source pieces/s, and the speed over that of padded mini-batches and of removal; CPU time.

    Raises RuntimeError if their translations differ.
    """
    said = {name: decoders.run(way, work, search, slots) for name, way in WAYS.items()}  # caches, memory
    if any(found != said[REMOVAL] for found in said.values()):
        raise RuntimeError("not all ways say the same")
    seconds = in_turn(
        {name: partial(decoders.run, way, work, search, slots) for name, way in WAYS.items()}, rounds
    ).seconds
    found = []
    for name, way in WAYS.items():
        rows = decoders.rows(way, work, search, slots)
        found.append(
            {
                "name": name,
                "pieces_per_second": work.pieces / statistics.median(seconds[name]),
                "over_padded": median_ratio(seconds[PADDED], seconds[name]),
                "over_removal": median_ratio(seconds[REMOVAL], seconds[name]),
                "steps": len(rows),
                "rows_per_step": sum(rows) / len(rows),
            }
        )
    return found
