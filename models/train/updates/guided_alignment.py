"""Guided alignment: head 0 of the aligning layer learns to attend to the translated source pieces.

Chen et al. 2016, https://arxiv.org/abs/1607.01628: the cross-entropy between the attention and given alignment points.
"""

import numpy as np
import torch

from models.train.text.batches import Examples
from models.train.text.word_alignment import Aligner, train_aligner

MOST_POINTS = 12_000_000  # pairs of positions in the tables' training
MOST_KEPT = 2_000_000  # pairs of texts whose points are cached: 1 GB


def aligner_of(examples: Examples, source_size: int, target_size: int, seed: int) -> Aligner:
    """Trains an aligner on random examples, the first source and target of each."""
    order = np.random.default_rng((seed, 2)).permutation(len(examples.repeat))
    sources, targets = examples.source_bounds[:-1][order], examples.target_bounds[:-1][order]
    points = np.cumsum(examples.sources.lengths[sources] * examples.targets.lengths[targets])
    count = max(1, int(np.searchsorted(points, MOST_POINTS)))
    texts = [
        [side[number][:-1] for number in numbers[:count]]
        for side, numbers in ((examples.sources, sources), (examples.targets, targets))
    ]
    return train_aligner(*texts, source_size, target_size)


class Alignments:
    """Alignment points of the pairs of an epoch, cached."""

    def __init__(self, aligner: Aligner, examples: Examples):
        self._aligner, self._examples = aligner, examples
        self._found = {}  # (source, target) numbers -> points

    def points(self, pairs: np.ndarray) -> torch.Tensor:
        """Returns (points, 3) of a batch: row, source position, target position."""
        found = [np.insert(self._points(*pair), 0, row, axis=1) for row, pair in enumerate(pairs.tolist())]
        return torch.from_numpy(np.concatenate(found))

    def _points(self, source, target):
        known = self._found.get((source, target))
        if known is None:
            known = self._aligner.points(self._examples.sources[source], self._examples.targets[target])
            if len(self._found) < MOST_KEPT:
                self._found[source, target] = known
        return known


def alignment_loss(alignment: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Returns the mean of -log attention over the points; `alignment` is the log of the attention (rows, time, source
    time).
    """
    rows, source, target = points.T
    return -alignment[rows, target, source].mean()
