"""Dropout's share of zeros, its mean, its gradient and its seed."""

import pytest
import torch

from models.train.network.dropout import dropout


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_share_of_zeros_and_mean(probability):
    torch.manual_seed(1)
    made = dropout(torch.ones(1000, 301), probability)
    assert abs((made == 0).float().mean().item() - probability) < 0.005
    assert abs(made.mean().item() - 1) < 0.01
    assert len(made.unique()) == 2


def test_every_byte_decides_alike():
    torch.manual_seed(2)
    zeros = (dropout(torch.ones(20000, 8), 0.25) == 0).float().mean(0)
    assert (zeros - 0.25).abs().max() < 0.02


def test_what_is_dropped_gets_no_gradient():
    torch.manual_seed(3)
    x = torch.ones(100, requires_grad=True)
    made = dropout(x, 0.3)
    made.sum().backward()
    torch.testing.assert_close(x.grad, made.detach())


def test_the_seed_decides():
    first, again = ((torch.manual_seed(4), dropout(torch.ones(50), 0.5))[1] for _ in range(2))
    assert torch.equal(first, again)
