"""The loss of guided alignment, and that head 0 learns from it."""

import math
from unittest import mock

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.train.network.network import Network, initial_tensors
from models.train.text.batches import Batches, Examples, Texts
from models.train.text.word_alignment import train_aligner
from models.train.updates import guided_alignment
from models.train.updates.configs import settings_of
from models.train.updates.guided_alignment import Alignments, aligner_of, alignment_loss
from models.train.updates.updates import Updates


def test_the_loss_is_the_mean_over_points():
    attention = torch.tensor([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.125, 0.875]]])
    points = torch.tensor([[[False, True], [True, False]], [[False, False], [True, False]]])  # row, target, source
    expected = -(math.log(0.5) + math.log(0.25) + math.log(0.125)) / 3
    assert abs(alignment_loss(attention.log(), points).item() - expected) < 1e-6


@given(st.lists(st.tuples(*[st.lists(st.integers(1, 7), max_size=9)] * 2), min_size=1, max_size=6), st.integers(1, 200))
def test_points_of_a_batch_are_those_of_each_pair(pairs, cells):
    known = [[1, 2, 3, 4, 5, 6], [2, 1, 7, 3], [5, 6, 7]]
    aligner = train_aligner([np.array(ids) for ids in known], [np.array(ids)[::-1] for ids in known], 8, 8)
    sources, targets = ([np.array([*ids, 0]) for ids in side] for side in zip(*pairs, strict=True))
    texts = [Texts(np.concatenate(side), np.cumsum([0, *map(len, side)])) for side in (sources, targets)]
    numbers = np.arange(len(pairs))
    bounds = np.arange(len(pairs) + 1)
    batch = Batches(Examples(*texts, bounds, bounds, np.ones(len(pairs))), 0).of(np.stack([numbers, numbers], 1))
    with mock.patch.object(guided_alignment, "_CELLS", cells):  # some rows at a time
        found = Alignments(aligner, torch.device("cpu")).points(batch).nonzero()
    found = found[:, [0, 2, 1]].tolist()
    expected = [(row, *point) for row in numbers for point in aligner.points(sources[row], targets[row]).tolist()]
    assert sorted(map(tuple, found)) == sorted(expected)


def test_head_0_learns_the_points(toy):
    torch.manual_seed(1)
    network = Network(toy.config, initial_tensors(toy.config, 1))
    aligner = aligner_of(toy.examples, toy.config.vocab_size, toy.config.vocab_size, seed=1)
    pairs = torch.arange(8).numpy().repeat(2).reshape(8, 2)
    batch = Batches(toy.examples, 0).of(pairs)
    points = Alignments(aligner, torch.device("cpu")).points(batch)
    assert points.shape == (len(pairs), batch.targets.shape[1], batch.sources.shape[1])
    assert points.sum() > 2 * len(pairs)
    settings = settings_of("smoke", guided_alignment=1.0)
    updates = Updates(network, settings, torch.device("cpu"))

    def loss():
        with torch.no_grad():
            decoded = network.teacher_forced(batch.sources, batch.source_lengths, batch.targets, align=True)
        return alignment_loss(decoded.alignment, points).item()

    before = loss()
    for _ in range(40):
        updates.update([(batch, points)])
    assert loss() < before / 3
