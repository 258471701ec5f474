"""Reverses the sentences of a batch, each within its own length."""

import torch


def reversal(lengths: torch.Tensor, steps: int) -> torch.Tensor:
    """Returns indices for `reversed_by`, of sentences of these lengths in a batch of `steps`: (steps * rows,)."""
    time = torch.arange(steps, device=lengths.device)[:, None]
    turned = torch.where(time < lengths, lengths - 1 - time, time)
    return (turned * len(lengths) + torch.arange(len(lengths), device=lengths.device)).flatten()


class _Reversed(torch.autograd.Function):
    """A reversal, which is its own inverse; so is its gradient."""

    @staticmethod
    def forward(context, x, turned):
        context.turned = turned
        return _turned(x, turned)

    @staticmethod
    def backward(context, gradient):
        return _turned(gradient, context.turned), None


def reversed_by(x: torch.Tensor, turned: torch.Tensor) -> torch.Tensor:
    """Returns `x` (steps, rows, ...) with each sentence reversed, and the padding unchanged."""
    return _Reversed.apply(x, turned)


def _turned(x, turned):
    return x.flatten(0, 1).index_select(0, turned).view(x.shape)
