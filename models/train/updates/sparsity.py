"""A loss that increases the zeros of ReLUs' outputs; the matching rows of the next weight matrix need not be read.

Trained Transformers are sparse by themselves (Li et al. 2023, https://arxiv.org/abs/2210.06313). A loss on the sum of
the outputs would only shrink them, and the next matrix would compensate. The loss is therefore the squared Hoyer
measure (Yang et al. 2020, https://arxiv.org/abs/1908.09979), which does not depend on scale:

    (sum y)^2 / (n sum y^2),   1 where all n outputs of a row are equal, 1 / n where all but one are zero

Its gradient makes small outputs smaller and large ones larger.
"""

import torch

_NOTHING = 1e-12  # added to the sum of squares: a row of zeros has density 0, and no gradient


def share_of_nonzeros(outputs: torch.Tensor) -> float:
    """Returns the share of outputs of any shape."""
    return float((outputs != 0).float().mean())


def density_loss(outputs: torch.Tensor, target: float) -> torch.Tensor:
    """Returns the mean of the squared Hoyer measure of the rows (rows, n) of a ReLU's outputs; 0 once their share of
    nonzeros has reached the target.
    """
    if not len(outputs) or share_of_nonzeros(outputs) <= target:
        return outputs.new_zeros((), dtype=torch.float32)
    y = outputs.float()
    return (y.sum(1).square() / (y.square().sum(1) + _NOTHING)).mean() / y.shape[1]
