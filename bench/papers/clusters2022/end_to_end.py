"""Whole translations: over the whole vocabulary and over clusters; and the memory of clusters."""

import statistics
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from bench.harness.timing import in_turn, median_ratio
from bench.papers.clusters2022.planted import Task
from bench.papers.clusters2022.projection import FULL
from bench.papers.clusters2022.recorded import bytes_of
from bench.students import length_limits
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.kernels.records import ENTRY
from cpunmt.search.settings import Search
from cpunmt.text.shortlists.clusters import Clusters


class Mode(NamedTuple):
    """The settings of translating sentences."""

    beam: int
    batch: int  # sentences in one call; 0: all

    @property
    def search(self) -> Search:
        """Returns a search over the whole vocabulary. Greedy search computes no scores."""
        return Search(beam_size=self.beam, full=True, scored=self.beam > 1)


MODES = {
    "one at a time, greedy": Mode(1, 1),
    "batches of 20, beam 2": Mode(2, 20),
    "in bulk, greedy": Mode(1, 0),
}


def measure(task: Task, sets: Mapping[str, Clusters], rounds: int) -> list[dict]:
    """Returns rows by set of clusters and mode: target pieces/s, times the speed over FULL (medians of rounds in turn,
    CPU time), and the share of equal translations.
    """
    engines = {FULL: Engine(task.engine.model)}
    engines |= {name: Engine(task.engine.model, clusters={OTHERS: clusters}) for name, clusters in sets.items()}
    rows = []
    for mode_name, mode in MODES.items():
        ways = {name: partial(_translated, engine, task.timed, mode, name != FULL) for name, engine in engines.items()}
        seconds, said = in_turn(ways, rounds, warm=1)
        pieces = sum(map(len, said[FULL]))
        for name in engines:
            rows.append(
                {
                    "mode": mode_name,
                    "sets": name,
                    "pieces_per_second": pieces / statistics.median(seconds[name]),
                    "speedup": median_ratio(seconds[FULL], seconds[name]),
                    "same": sum(a == b for a, b in zip(said[name], said[FULL], strict=True)) / len(said[FULL]),
                }
            )
    return rows


def _translated(engine: Engine, sources, mode: Mode, clustered: bool) -> list[list[int]]:
    found, batch = [], mode.batch or len(sources)
    for first in range(0, len(sources), batch):
        part = sources[first : first + batch]
        search = mode.search._replace(clusters=clustered)
        found += engine.translate(part, length_limits(part), search, slots=mode.batch or None)
    return [hypotheses[0].ids for hypotheses in found]


def memory(task: Task, sets: Mapping[str, Clusters]) -> list[dict]:
    """Returns rows by set of clusters: bytes of the model's weights and of the clusters, and each search's additional
    memory.

    The whole vocabulary's layer is laid out anew for products; clusters are packed centroids, and each piece's scale
    and bias once more.
    """
    config, weights = task.engine.model.config, task.engine.model.bytes
    return [
        {
            "sets": name,
            "model": weights,
            "clusters": bytes_of(clusters),
            "share": bytes_of(clusters) / weights,
            "beside_rows": ENTRY.itemsize * config.vocab_size,
            "packed_centroids": clusters.centroids.nbytes,
            "whole_layer": config.vocab_size * config.architecture.model_dim,
        }
        for name, clusters in sets.items()
    ]


def show(title: str, rows: list[dict], sizes: list[dict]):
    """Prints the tables."""
    print(f"\nWhole translations, {title}: target pieces/s (times {FULL}), translations that are the same")
    for mode in MODES:
        told = [
            f"{row['sets']} {row['pieces_per_second']:.0f} ({row['speedup']:.2f}; {100 * row['same']:.0f} %)"
            for row in rows
            if row["mode"] == mode
        ]
        print(f"{mode:24}{', '.join(told)}", flush=True)
    print(f"\nMemory, {title}: MB")
    for row in sizes:
        print(
            f"{row['sets']:12}clusters {row['clusters'] / 1e6:.2f}, {100 * row['share']:.2f} % of the model's "
            f"{row['model'] / 1e6:.1f}; in memory also {row['packed_centroids'] / 1e6:.2f} of packed centroids and "
            f"{row['beside_rows'] / 1e6:.2f} beside rows, where all pieces have {row['whole_layer'] / 1e6:.1f} packed",
            flush=True,
        )
