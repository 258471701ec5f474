"""Means of parameters."""

import numpy as np
import pytest
import torch

from models.train.updates.averaging import average_weight, averaged, update_average


def test_marians_weight():
    assert [average_weight(update, 1e-4) for update in (1, 10, 90)] == pytest.approx([9 / 11, 9 / 20, 9 / 100])
    assert average_weight(10**6, 1e-4) == 1e-4


def test_means_move_towards_the_parameters():
    means, tensors = {"a": torch.tensor([0.0, 4.0])}, {"a": torch.tensor([1.0, 0.0], requires_grad=True)}
    update_average(means, tensors, 0.25)
    assert means["a"].tolist() == [0.25, 3.0] and tensors["a"].tolist() == [1.0, 0.0]


def test_the_mean_of_checkpoints():
    made = averaged([{"a": np.float32([1, 2])}, {"a": np.float32([3, 6])}])
    assert made["a"].tolist() == [2, 4] and made["a"].dtype == np.float32


@pytest.mark.parametrize("checkpoints", [[], [{"a": np.zeros(2)}, {"a": np.zeros(3)}], [{"a": np.zeros(2)}, {}]])
def test_checkpoints_of_other_models(checkpoints):
    with pytest.raises(ValueError, match="expected some of one model"):
        averaged(checkpoints)
