"""Cross-entropy with label smoothing, and the output layer with it, a few hundred tokens at a time.

The logits of all tokens would be most of the memory of a step, written and read several times. Here each part is
computed, turned into its own gradient in place, and dropped: only sums of losses and the gradients are kept.

    loss = log sum exp(z) - (1 - smoothing) z[target] - smoothing mean(z),   z = output layer of x

or, with a teacher, the divergence of the student's distribution from the teacher's (Hinton et al. 2015,
https://arxiv.org/abs/1503.02531, at temperature 1; Kim and Rush 2016, https://aclanthology.org/D16-1139, section 3.1):
loss = sum p (log p - log softmax(z)), p = softmax of the teacher's logits.
"""

from typing import NamedTuple

import torch
from torch.nn import functional

_LOGITS = 1 << 21  # at a time: 8 MB, which fit an L3 cache; a GPU takes more


class Prediction(NamedTuple):
    """The factors of logits: x (tokens, d), an output layer's table (vocabulary, d) and bias (vocabulary,)."""

    x: torch.Tensor
    table: torch.Tensor
    bias: torch.Tensor

    def mixed(self, dtype: torch.dtype) -> "Prediction":
        """Returns the same prediction, with its product in this type."""
        return Prediction(self.x.to(dtype), self.table.to(dtype), self.bias)

    def logits(self, rows: slice = slice(None)) -> torch.Tensor:
        """Returns the logits of some tokens: (rows, vocabulary), float32."""
        return (self.x[rows] @ self.table.T).float().add_(self.bias)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(context, x, table, bias, targets, smoothing, teacher):
        size = len(table)
        device = x.device.type
        part = max(1, (_LOGITS if device == "cpu" else 32 * _LOGITS) // size)
        mixed = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        with torch.autocast(device, enabled=False):
            student = Prediction(x, table, bias).mixed(mixed)
            teacher = teacher and teacher.mixed(mixed)
            to_x, to_table = torch.empty_like(student.x), torch.zeros_like(table)
            to_bias, total = torch.zeros_like(bias), x.new_zeros(2, dtype=torch.float32)
            for begin in range(0, len(x), part):
                rows, wanted = slice(begin, begin + part), targets[begin : begin + part, None]
                z = student.logits(rows)
                z.sub_(z.amax(1, keepdim=True))
                right = z.gather(1, wanted)[:, 0]
                if teacher is None:
                    total[0] -= ((1 - smoothing) * right + smoothing * z.mean(1)).sum()
                else:
                    goal = teacher.logits(rows).log_softmax(1)
                    probable = goal.exp()
                    total[0] += (probable * (goal - z)).sum()
                gradient = z.exp_()
                sums = gradient.sum(1)
                normalizer = sums.log()
                total[0] += normalizer.sum()
                total[1] += (normalizer - right).sum()
                gradient.div_(sums[:, None])
                if teacher is None:
                    gradient.sub_(smoothing / size)
                    gradient.scatter_add_(1, wanted, gradient.new_full(wanted.shape, smoothing - 1))
                else:
                    gradient.sub_(probable)
                to_bias += gradient.sum(0)
                gradient = gradient.to(mixed)
                to_x[rows] = gradient @ student.table
                to_table += gradient.T @ student.x[rows]
        context.save_for_backward(to_x, to_table, to_bias)
        return total

    @staticmethod
    def backward(context, gradient):
        to_x, to_table, to_bias = context.saved_tensors
        return gradient[0] * to_x, gradient[0] * to_table, gradient[0] * to_bias, None, None, None


def output_loss(
    student: Prediction, targets, smoothing: float = 0.0, teacher: Prediction | None = None
) -> torch.Tensor:
    """Returns sums over tokens, float32 (2,): the loss, and the cross-entropy without smoothing, which has no gradient.

    targets (tokens,). With a `teacher` the loss does not depend on `targets` and `smoothing`. The teacher's logits are
    of the same tokens and vocabulary; it gets no gradient.
    """
    return _OutputLoss.apply(*student, targets, smoothing, teacher)


def output_loss_reference(student, targets, smoothing: float = 0.0, teacher: Prediction | None = None) -> torch.Tensor:
    """Returns the same with all logits at once, differentiated by autograd."""
    z = student.logits()
    if teacher is None:
        loss = functional.cross_entropy(z, targets, reduction="sum", label_smoothing=smoothing)
    else:
        goal = teacher.logits().log_softmax(1)
        loss = functional.kl_div(z.log_softmax(1), goal, reduction="sum", log_target=True)
    return torch.stack([loss, functional.cross_entropy(z, targets, reduction="sum").detach()])
