"""The loss in parts against the loss over all logits at once."""

import pytest
import torch

from models.train import output_loss as module
from models.train.output_loss import output_loss, output_loss_reference


def inputs(tokens=11, size=30, d=8):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(tokens, d, generator=generator).requires_grad_()
    table = torch.randn(size, d, generator=generator).requires_grad_()
    bias = torch.randn(size, generator=generator).requires_grad_()
    return x, table, bias, torch.randint(0, size, (tokens,), generator=generator)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows_at_a_time", [1, 4, 100])
def test_loss_and_gradients_are_those_of_all_logits(monkeypatch, smoothing, rows_at_a_time):
    monkeypatch.setattr(module, "_LOGITS", rows_at_a_time * 30)
    *given, targets = inputs()
    found, expected = output_loss(*given, targets, smoothing), output_loss_reference(*given, targets, smoothing)
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad(3 * found[0], given)
    torch.testing.assert_close(gradients, torch.autograd.grad(3 * expected[0], given))


def test_the_plain_cross_entropy_has_no_gradient():
    *given, targets = inputs()
    gradients = torch.autograd.grad(output_loss(*given, targets, 0.1)[1], given)
    assert not any(gradient.any() for gradient in gradients)


def test_mixed_precision_is_near():
    *given, targets = inputs()
    expected = output_loss_reference(*given, targets, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        found = output_loss(*given, targets, 0.1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=1e-1)
    gradients = torch.autograd.grad(found[0], given)
    assert [gradient.dtype for gradient in gradients] == [torch.float32] * 3
