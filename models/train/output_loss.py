"""Cross-entropy with label smoothing, and the output layer with it, a few hundred tokens at a time.

The logits of all tokens would be most of the memory of a step, written and read several times. Here each part of them
is made, turned into its own gradient where it lies, and dropped: the sums of losses and the gradients are kept.

    loss = log sum exp(z) - (1 - smoothing) z[target] - smoothing mean(z),   z = output layer of x
"""

import torch
from torch.nn import functional

_LOGITS = 1 << 21  # at a time: 8 MB, which a last-level cache holds; a GPU takes more


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(context, x, table, bias, targets, smoothing):
        size = len(table)
        device = x.device.type
        part = max(1, (_LOGITS if device == "cpu" else 32 * _LOGITS) // size)
        mixed = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        with torch.autocast(device, enabled=False):
            x_mixed, table_mixed = x.to(mixed), table.to(mixed)
            to_x, to_table = torch.empty_like(x_mixed), torch.zeros_like(table)
            to_bias, total = torch.zeros_like(bias), x.new_zeros(2, dtype=torch.float32)
            for begin in range(0, len(x), part):
                rows, wanted = slice(begin, begin + part), targets[begin : begin + part, None]
                z = (x_mixed[rows] @ table_mixed.T).float().add_(bias)
                z.sub_(z.amax(1, keepdim=True))
                mean, right = z.mean(1), z.gather(1, wanted)[:, 0]
                gradient = z.exp_()
                sums = gradient.sum(1)
                normalizer = sums.log()
                total[0] += (normalizer - (1 - smoothing) * right - smoothing * mean).sum()
                total[1] += (normalizer - right).sum()
                gradient.div_(sums[:, None]).sub_(smoothing / size)
                gradient.scatter_add_(1, wanted, gradient.new_full(wanted.shape, smoothing - 1))
                to_bias += gradient.sum(0)
                gradient = gradient.to(mixed)
                to_x[rows] = gradient @ table_mixed
                to_table += gradient.T @ x_mixed[rows]
        context.save_for_backward(to_x, to_table, to_bias)
        return total

    @staticmethod
    def backward(context, gradient):
        to_x, to_table, to_bias = context.saved_tensors
        return gradient[0] * to_x, gradient[0] * to_table, gradient[0] * to_bias, None, None


def output_loss(x, table, bias, targets, smoothing: float = 0.0) -> torch.Tensor:
    """Sums over tokens, float32 (2,): the loss, and the cross-entropy without smoothing, which has no gradient.

    x (tokens, d), table (vocabulary, d), bias (vocabulary,), targets (tokens,).
    """
    return _OutputLoss.apply(x, table, bias, targets, smoothing)


def output_loss_reference(x, table, bias, targets, smoothing: float = 0.0) -> torch.Tensor:
    """The same, all logits at once, differentiated by autograd."""
    z = x @ table.T + bias
    smoothed = functional.cross_entropy(z, targets, reduction="sum", label_smoothing=smoothing)
    return torch.stack([smoothed, functional.cross_entropy(z, targets, reduction="sum").detach()])
