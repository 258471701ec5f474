"""Figure 2 in kind: clusters for each target language, or one set for all; a trained model of several languages."""

import numpy as np

from bench.papers.clusters2022.recorded import Recorded, made_clusters
from bench.papers.clusters2022.trained import Judged, told

OWN = "of its own"


def measure(
    tests: dict[str, Judged], texts: dict[str, Recorded], count: int, top: int, rounds: int, backend: str
) -> list[dict]:
    """Returns rows by target language: `count` clusters of its own, as many for all, as many for all as all have
    together.
    """
    config = next(iter(tests.values())).model.config
    numbered, begin = [], 0
    for text in texts.values():
        numbered.append(text._replace(sentences=text.sentences + begin))
        begin += int(text.sentences.max()) + 1
    together = Recorded(*map(np.concatenate, zip(*numbered, strict=True)))
    shared = {
        f"{number} for all": made_clusters(config, together, number, top, backend)
        for number in (count, len(texts) * count)
    }
    rows = []
    for piece, test in tests.items():
        sets = {OWN: made_clusters(config, texts[piece], count, top, backend), **shared}
        for name, clusters in sets.items():
            rows.append({"language": piece, "sets": name, **test.figures(clusters, rounds)})
            show([rows[-1]])
    return rows


def show(rows: list[dict]):
    """Prints lines of the table."""
    for row in rows:
        print(f"{row['language']:12} {row['sets']:14} {told(row)}", flush=True)
