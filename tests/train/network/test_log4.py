"""4 bits: nearest levels, and scales that lose little."""

import numpy as np
import torch

from models.train.network.log4 import LARGEST, Rounding, fitted_scales, refitted_scales, rounded

LEVELS = np.array([0, *(sign * 2.0**power for sign in (-1, 1) for power in range(7))])


def weights(depth=64, columns=5, seed=1):
    return torch.randn(depth, columns, generator=torch.Generator().manual_seed(seed))


def test_levels_are_the_nearest():
    given, scales = weights(200), torch.tensor([0.01, 0.02, 0.03, 0.05, 0.5])
    found = rounded(given, scales).numpy()
    ratio = (given / scales).numpy()
    expected = LEVELS[np.abs(ratio[..., None] - LEVELS).argmin(-1)]
    np.testing.assert_array_equal(found, expected)
    assert np.abs(found).max() == LARGEST


def test_zero_and_the_borders():
    given = torch.tensor([[0.0], [0.49], [0.51], [1.49], [1.51], [-2.9], [-3.1], [95.0], [97.0], [1e6]])
    assert rounded(given, torch.ones(1))[:, 0].tolist() == [0, 0, 1, 1, 2, -2, -4, 64, 64, 64]


def test_scales_are_nearly_the_best():
    given = weights(256, 4)
    error = (given - fitted_scales(given) * rounded(given, fitted_scales(given))).square().sum(0)
    for column in range(4):
        tried = torch.linspace(0.2, 1.2, 400) * given[:, column].abs().max() / LARGEST
        errors = [(given[:, column] - s * rounded(given[:, column, None], s[None])[:, 0]).square().sum() for s in tried]
        assert error[column] < 1.03 * min(errors)


def test_a_column_of_zeros():
    given = torch.zeros(4, 2)
    given[1, 1] = 3.0
    scales = fitted_scales(given)
    assert torch.equal(scales * rounded(given, scales), given)


def test_tables_have_a_scale_for_each_row_and_vectors_stay():
    rounding, table = Rounding({"embedding"}), weights(6, 40)
    torch.testing.assert_close(rounding("embedding", table), rounding("x.weight", table.T).T)
    bias = torch.randn(3)
    assert rounding("x.bias", bias) is bias


def test_scales_are_those_of_the_first_weights_until_they_follow():
    rounding, given = Rounding({"table"}), weights()
    scales, larger = fitted_scales(given), 1.2 * given
    for name, turned in (("w", lambda matrix: matrix), ("table", lambda matrix: matrix.T)):
        for matrix in (given, larger):
            torch.testing.assert_close(rounding(name, turned(matrix)), turned(scales * rounded(matrix, scales)))
    rounding.follow({"w": larger, "table": larger.T, "bias": torch.ones(3)})
    followed = refitted_scales(larger, scales)
    torch.testing.assert_close(rounding.scales, {"w": followed, "table": followed})
    assert not torch.allclose(followed, scales, rtol=0.01)
    errors = [
        (given - some * rounded(given, some)).square().sum(0)
        for some in (scales * 1.3, refitted_scales(given, scales * 1.3))
    ]
    assert (errors[1] < errors[0]).all()  # where less is lost
