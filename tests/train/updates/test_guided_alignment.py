"""The loss of guided alignment, and that head 0 learns from it."""

import math

import torch

from models.train.network.network import Network, initial_tensors
from models.train.text.batches import make_batch
from models.train.updates.configs import settings_of
from models.train.updates.guided_alignment import Alignments, aligner_of, alignment_loss
from models.train.updates.updates import Updates


def test_the_loss_is_the_mean_over_points():
    attention = torch.tensor([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.125, 0.875]]])
    points = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 1]])  # row, source position, target position
    expected = -(math.log(0.5) + math.log(0.25) + math.log(0.125)) / 3
    assert abs(alignment_loss(attention.log(), points).item() - expected) < 1e-6


def test_head_0_learns_the_points(toy):
    torch.manual_seed(1)
    network = Network(toy.config, initial_tensors(toy.config, 1))
    aligner = aligner_of(toy.examples, toy.config.vocab_size, toy.config.vocab_size, seed=1)
    pairs = torch.arange(8).numpy().repeat(2).reshape(8, 2)
    alignments = Alignments(aligner, toy.examples)
    batch, points = make_batch(toy.examples, pairs, 0), alignments.points(pairs)
    assert points.shape[1] == 3 and len(points) > 2 * len(pairs)
    for row, (source, target) in enumerate(pairs):
        expected = aligner.points(toy.examples.sources[source], toy.examples.targets[target])
        assert points[points[:, 0] == row, 1:].tolist() == expected.tolist()
    assert torch.equal(alignments.points(pairs), points)
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
