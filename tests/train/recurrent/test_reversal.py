"""Sentences the other way round."""

import torch

from models.train.recurrent.reversal import reversal, reversed_by


def test_each_within_its_own_length():
    x = torch.tensor([[1, 5, 8], [2, 6, 0], [3, 0, 0]]).float()[..., None]  # by time
    turned = reversal(torch.tensor([3, 2, 1]), 3)
    assert reversed_by(x, turned)[..., 0].tolist() == [[3, 6, 8], [2, 5, 0], [1, 0, 0]]
    assert torch.equal(reversed_by(reversed_by(x, turned), turned), x)


def test_its_gradient_goes_back():
    x = torch.randn(4, 2, 3).requires_grad_()
    weights = torch.randn(4, 2, 3)
    turned = reversal(torch.tensor([2, 4]), 4)
    (reversed_by(x, turned) * weights).sum().backward()
    assert torch.equal(x.grad, reversed_by(weights, turned))
