"""Figures 3 and 4 in kind: numbers of clusters, and of best pieces from each state; a trained model.

The text is translated once, over the whole vocabulary: all settings use the same states.
"""

from bench.papers.clusters2022.recorded import Recorded, centroids
from bench.papers.clusters2022.trained import Judged, told
from quantize.clusters.active_sets import clusters_of


def measure(test: Judged, text: Recorded, counts: list[int], tops: list[int], rounds: int, backend: str) -> list[dict]:
    """Returns rows by number of clusters and of best pieces."""
    rows = []
    for count in counts:
        found = centroids(text, count, backend)
        for top in tops:
            clusters = clusters_of(test.model.config, found, [text.top(top)])
            rows.append({"top": top, **test.figures(clusters, rounds)})
            show([rows[-1]])
    return rows


def show(rows: list[dict]):
    """Prints lines of the table."""
    for row in rows:
        print(f"{row['clusters']:6} clusters, top {row['top']:3}: {told(row)}", flush=True)
