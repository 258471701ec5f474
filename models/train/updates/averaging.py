"""Averages of parameters, which translate better than single ones."""

import numpy as np
import torch


def average_weight(update: int, least: float) -> float:
    """Returns the weight of an update's parameters, as in Marian: large at the beginning, `least` in the long run."""
    return max(least, 1 - (update + 1) / (update + 10))


@torch.no_grad()
def update_average(means: dict[str, torch.Tensor], tensors: dict[str, torch.Tensor], weight: float):
    """Updates the exponential moving average: means += weight (tensors - means), in place."""
    torch._foreach_lerp_(list(means.values()), [tensors[name].detach() for name in means], weight)


def averaged(checkpoints: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Returns the mean of several checkpoints of one model.

    Raises ValueError if they are not of one model.
    """
    shapes = [{name: array.shape for name, array in checkpoint.items()} for checkpoint in checkpoints]
    if not shapes or any(shape != shapes[0] for shape in shapes):
        raise ValueError("checkpoints of different models, or none; expected some of one model")
    return {
        name: np.mean([checkpoint[name] for checkpoint in checkpoints], axis=0, dtype=np.float64).astype(np.float32)
        for name in checkpoints[0]
    }
