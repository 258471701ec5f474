"""Products of filled-up rows against plain ones, with their gradients."""

import pytest
import torch

from models.train.recurrent.products import ROWS, empty_rows, filled_up, product


@pytest.mark.parametrize("rows", [1, ROWS // 2 - 1, ROWS // 2 + 3, ROWS, ROWS + 1, 2 * ROWS + 7])
def test_a_product_and_its_gradients(rows):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 2, 5, generator=generator).requires_grad_()
    weight = torch.randn(5, 7, generator=generator).requires_grad_()
    weights = torch.randn(rows, 2, 7, generator=generator)
    found, expected = product(x, weight), x @ weight
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad((found * weights).sum(), (x, weight))
    torch.testing.assert_close(
        gradients, torch.autograd.grad((expected * weights).sum(), (x, weight)), rtol=1e-4, atol=1e-4
    )


def test_only_what_is_wanted_is_differentiated():
    x, weight = torch.randn(ROWS, 4), torch.randn(4, 3).requires_grad_()
    product(x, weight).sum().backward()
    assert weight.grad is not None and x.grad is None


def test_under_autocast_it_is_a_product_of_that_type():
    x, weight = torch.randn(ROWS + 5, 16).requires_grad_(), torch.randn(16, 8).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = product(x, weight)
        assert torch.equal(found, x @ weight)
    found.float().sum().backward()
    assert x.grad.dtype == weight.grad.dtype == torch.float32


def test_rows_behind_are_zeros():
    filled = filled_up(torch.ones(ROWS + 3, 2), torch.bfloat16)
    assert filled.shape == (2 * ROWS, 2) and filled.dtype == torch.bfloat16
    assert filled[: ROWS + 3].all() and not filled[ROWS + 3 :].any()
    part, whole = empty_rows(3, 5, 4, torch.full((1,), torch.nan))
    part.fill_(1.0)
    assert whole.shape == (ROWS, 4) and whole[:15].all() and not whole[15:].any()
