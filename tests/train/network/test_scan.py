"""The recurrence and its gradient against the loop that autograd differentiates."""

import torch

from models.train.network.scan import scan, scan_reference


def inputs(rows=3, steps=7, d=5):
    generator = torch.Generator().manual_seed(1)
    keep = torch.rand(rows, steps, d, generator=generator, dtype=torch.float64)
    new = torch.randn(rows, steps, d, generator=generator, dtype=torch.float64)
    first = torch.randn(rows, d, generator=generator, dtype=torch.float64)
    return [x.float().requires_grad_() for x in (keep, new, first)]


def test_states_and_gradients_are_those_of_the_loop():
    given = inputs()
    weights = torch.randn(3, 7, 5, generator=torch.Generator().manual_seed(2))
    found = scan(*given)
    gradients = torch.autograd.grad((found * weights).sum(), given)
    expected = scan_reference(*given)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients, torch.autograd.grad((expected * weights).sum(), given))


def test_one_step():
    keep, new, first = inputs(steps=1)
    torch.testing.assert_close(scan(keep, new, first)[:, 0], keep[:, 0] * first + new[:, 0])


def test_it_stays_float32_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        keep, new, first = inputs()
        assert scan(keep.bfloat16(), new.bfloat16(), first).dtype == torch.float32
