"""The loss in parts against the loss over all logits at once."""

import pytest
import torch

from models.train.network import output_loss as module
from models.train.network.output_loss import Prediction, output_loss, output_loss_reference


def inputs(tokens=11, size=30, d=8):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(tokens, d, generator=generator).requires_grad_()
    table = torch.randn(size, d, generator=generator).requires_grad_()
    bias = torch.randn(size, generator=generator).requires_grad_()
    return Prediction(x, table, bias), torch.randint(0, size, (tokens,), generator=generator)


def teacher(tokens=11, size=30, d=5):
    """Returns another model's prediction, of another dimension."""
    generator = torch.Generator().manual_seed(2)
    shapes = (tokens, d), (size, d), (size,)
    return Prediction(*(torch.randn(shape, generator=generator).requires_grad_() for shape in shapes))


@pytest.mark.parametrize("smoothing, taught", [(0.0, None), (0.1, None), (0.1, teacher())])
@pytest.mark.parametrize("rows_at_a_time", [1, 4, 100])
def test_loss_and_gradients_are_those_of_all_logits(monkeypatch, smoothing, taught, rows_at_a_time):
    monkeypatch.setattr(module, "_LOGITS", rows_at_a_time * 30)
    given, targets = inputs()
    found = output_loss(given, targets, smoothing, taught)
    expected = output_loss_reference(given, targets, smoothing, taught)
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad(3 * found[0], given)
    torch.testing.assert_close(gradients, torch.autograd.grad(3 * expected[0], given))


def test_the_plain_cross_entropy_has_no_gradient():
    given, targets = inputs()
    gradients = torch.autograd.grad(output_loss(given, targets, 0.1)[1], given)
    assert not any(gradient.any() for gradient in gradients)


def test_mixed_precision_is_near():
    given, targets = inputs()
    expected = output_loss_reference(given, targets, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        found = output_loss(given, targets, 0.1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=1e-1)
    gradients = torch.autograd.grad(found[0], given)
    assert [gradient.dtype for gradient in gradients] == [torch.float32] * 3


def test_a_teacher_that_is_matched_leaves_nothing_to_learn_and_learns_nothing():
    given, targets = inputs()
    matched = Prediction(*(tensor.detach().clone().requires_grad_() for tensor in given))
    found = output_loss(given, targets, 0.1, matched)
    assert abs(found[0].item()) < 1e-5 < found[1].item()
    gradients = torch.autograd.grad(found[0], [*given, *matched], allow_unused=True)
    assert all(gradient.abs().max() < 1e-5 for gradient in gradients[:3])
    assert gradients[3:] == (None, None, None)
