"""Attention in PyTorch against the formula in NumPy."""

import numpy as np
import torch

from models.train.network.attention import attention
from quantize.reference.formulas import attention as attention_reference


def test_it_is_the_formula_for_each_sentence_and_its_own_keys():
    generator = np.random.default_rng(1)
    q, k, v = (generator.normal(size=(3, n, 32)).astype(np.float32) for n in (4, 6, 6))
    lengths = [6, 1, 4]
    visible = torch.tensor([[[key < length for key in range(6)]] for length in lengths])
    found = attention(*map(torch.from_numpy, (q, k, v)), 2, visible)
    for row, length in enumerate(lengths):
        expected = attention_reference(q[row], k[row, :length], v[row, :length], 2)
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-5)


def test_keys_may_differ_between_queries():
    q, k, v = torch.randn(3, 1, 5, 32, generator=torch.Generator().manual_seed(1))
    found = attention(q, k, v, 2, torch.ones(1, 5, 5, dtype=torch.bool).tril())
    for i in range(5):
        only = attention(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1], 2, torch.ones(1, 1, i + 1, dtype=torch.bool))
        torch.testing.assert_close(found[:, i : i + 1], only)
