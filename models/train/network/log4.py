"""Weights rounded to 4 bits during training: scale times one of 0, +-1, +-2, +-4, ... +-64.

Straight-through: outputs and gradients are those of the rounded weights, and the gradients move the float weights
behind them; see Aji and Heafield 2019, https://aclanthology.org/D19-5614, who feed the rounding error back. Each output
column, or row of a table, has a scale; vectors (biases, layer norms) stay float.
"""

import torch

LARGEST = 64.0
_LOG_BORDER = 0.5849625007211562  # log2(1.5): halfway between 1 and 2


def rounded(weights: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Returns the nearest level of each weight, (depth, columns), for scales (columns,)."""
    size = weights.abs() / scales
    powers = torch.exp2(torch.floor(torch.log2(size.clamp(0.5, LARGEST)) + (1 - _LOG_BORDER)))
    return torch.where(size < 0.5, 0.0, powers.clamp(1.0, LARGEST)) * weights.sign()


def fitted_scales(weights: torch.Tensor, rounds: int = 4) -> torch.Tensor:
    """Returns scales (columns,) of small squared error; 1 for a column of zeros.

    The best of `refitted_scales` from several beginnings, since there are many local optima.
    """
    largest = weights.abs().amax(0)
    best = torch.where(largest > 0, largest / LARGEST, 1.0)
    least = torch.full_like(best, torch.inf)
    for part in (1.0, 0.84, 0.71, 0.59, 0.5, 0.42, 0.35, 0.25):
        scales = torch.where(largest > 0, part * largest / LARGEST, 1.0)
        scales = refitted_scales(weights, scales, rounds)
        error = (weights - scales * rounded(weights, scales)).square().sum(0)
        best, least = torch.where(error < least, scales, best), torch.minimum(error, least)
    return best


def refitted_scales(weights: torch.Tensor, scales: torch.Tensor, rounds: int = 4) -> torch.Tensor:
    """Returns better scales near these: fits levels to scales and scales to levels, in turn."""
    for _ in range(rounds):
        levels = rounded(weights, scales)
        square = levels.square().sum(0)
        scales = torch.where(square > 0, (weights * levels).sum(0) / square.clamp(min=1.0), scales)
    return scales


class Rounding:
    """Rounds matrices by their names, with scales fitted to the first matrix of each name.

    Only `follow` changes `scales`. The network is trained for these scales; others, even better ones, move the levels
    of whole columns at once.
    """

    def __init__(self, tables: set[str]):
        """`tables`: names of matrices whose rows have the scales."""
        self._tables = tables
        self.scales = {}

    @torch.no_grad()
    def __call__(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the rounded matrix; a vector, or trained positions, unchanged."""
        if not _is_rounded(name, tensor):
            return tensor
        weights = self._columns(name, tensor)
        if name not in self.scales:
            self.scales[name] = fitted_scales(weights)
        return self._columns(name, self.scales[name] * rounded(weights, self.scales[name]))

    @torch.no_grad()
    def follow(self, tensors: dict[str, torch.Tensor]):
        """Refits the scales to the matrices, from their current values."""
        for name, tensor in tensors.items():
            if _is_rounded(name, tensor):
                self.scales[name] = refitted_scales(self._columns(name, tensor), self.scales[name])

    def _columns(self, name, matrix):
        return matrix.T if name in self._tables else matrix


def _is_rounded(name, tensor):
    return tensor.dim() == 2 and name != "positions"
