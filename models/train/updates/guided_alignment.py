"""Guided alignment: head 0 of the aligning layer learns to attend to the translated source pieces.

Chen et al. 2016, https://arxiv.org/abs/1607.01628: the cross-entropy between the attention and given alignment points.
"""

import numpy as np
import torch

from models.train.text.batches import Batch, Examples
from models.train.text.word_alignment import DIAGONAL, LEAST, SURE, Aligner, LexicalTable, train_aligner

MOST_POINTS = 12_000_000  # pairs of positions in the tables' training
_CELLS = 1 << 22  # pairs of positions at a time: 32 MB for each array of them


def aligner_of(examples: Examples, source_size: int, target_size: int, seed: int) -> Aligner:
    """Trains an aligner on random examples, a random source (or segmentation) and the first target of each."""
    random = np.random.default_rng((seed, 2))
    order = random.permutation(len(examples.repeat))
    sources = examples.source_bounds[:-1][order] + random.integers(np.diff(examples.source_bounds)[order])
    targets = examples.target_bounds[:-1][order]
    points = np.cumsum(examples.sources.lengths[sources] * examples.targets.lengths[targets])
    count = max(1, int(np.searchsorted(points, MOST_POINTS)))
    texts = [
        [side[number][:-1] for number in numbers[:count]]
        for side, numbers in ((examples.sources, sources), (examples.targets, targets))
    ]
    return train_aligner(*texts, source_size, target_size)


class Alignments:
    """`Aligner.points` of whole batches, computed where the network is, which waits for nothing."""

    def __init__(self, aligner: Aligner, device: torch.device):
        self._forward, self._backward = (_Table(table, device) for table in aligner)

    @torch.no_grad()
    def points(self, batch: Batch) -> torch.Tensor:
        """Returns which positions are aligned: bool (rows, target time, source time)."""
        rows = max(1, _CELLS // (batch.sources.shape[1] * batch.targets.shape[1]))
        return torch.cat(
            [self._points(*(x[k : k + rows] for x in batch[:4])) for k in range(0, len(batch.sources), rows)]
        )

    def _points(self, sources, source_lengths, targets, target_lengths):
        n, m = (lengths[:, None] - 1 for lengths in (source_lengths, target_lengths))  # without </s>
        i, j = (torch.arange(side.shape[1], device=n.device) for side in (sources, targets))
        apart = ((2 * i + 1) * m)[:, :, None] - ((2 * j + 1) * n)[:, None]
        near = torch.exp(-DIAGONAL / 2 / (n * m).clamp(min=1).double()[:, :, None] * apart.abs())
        near = near.masked_fill_(~((i < n)[:, :, None] & (j < m)[:, None]), 0)
        forward = self._forward.lookup(sources[:, :, None], targets[:, None]) * near
        backward = self._backward.lookup(targets[:, None], sources[:, :, None]) * near
        most, source = forward.max(1)
        mutual = backward.argmax(2).gather(1, source) == j
        found = (source[:, :, None] == i) & (mutual & (most > SURE) & (j < m))[:, :, None]
        return found | ((i == n)[:, None] & (j == m)[:, :, None])


class _Table:
    """A LexicalTable on a device."""

    def __init__(self, table: LexicalTable, device):
        self._keys, self._probabilities = (torch.from_numpy(x).to(device) for x in (table.keys, table.probabilities))
        self._targets = table.targets

    def lookup(self, sources, targets):
        wanted = sources * self._targets + targets
        place = torch.searchsorted(self._keys, wanted).clamp_(max=len(self._keys) - 1)
        return torch.where(self._keys[place] == wanted, self._probabilities[place], LEAST)


def alignment_loss(alignment: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Returns the mean of -log attention over the points; `alignment` is the log of the attention (rows, time, source
    time).
    """
    return -torch.where(points, alignment, 0.0).sum() / points.sum()
