"""A loss that makes more of the ReLUs' outputs zero, whose rows of the next weight matrix need not be read then.

Trained Transformers are sparse by themselves (Li et al. 2023, https://arxiv.org/abs/2210.06313); this goes on from
there. The sum of the outputs would fall with their size alone, which the next matrix makes good. What is learnt is
therefore the squared Hoyer measure (Yang et al. 2020, https://arxiv.org/abs/1908.09979), which no scale changes:

    (sum y)^2 / (n sum y^2),   1 where all n outputs of a row are equal, 1 / n where all but one are zero

Its gradient makes small outputs smaller and large ones larger.
"""

import torch

_NOTHING = 1e-12  # added to the sum of squares: a row of zeros has no density, and no gradient


def share_of_nonzeros(outputs: torch.Tensor) -> float:
    """Of outputs of any shape."""
    return float((outputs != 0).float().mean())


def density_loss(outputs: torch.Tensor, target: float) -> torch.Tensor:
    """Mean of the squared Hoyer measure of the rows (rows, n) of outputs of a ReLU; 0 where their share of nonzeros has
    reached the target."""
    if not len(outputs) or share_of_nonzeros(outputs) <= target:
        return outputs.new_zeros((), dtype=torch.float32)
    y = outputs.float()
    return (y.sum(1).square() / (y.square().sum(1) + _NOTHING)).mean() / y.shape[1]
