"""The recurrence of SSRU and SRU over a whole sequence: c[t] = keep[t] c[t - 1] + new[t]."""

import torch


class _Scan(torch.autograd.Function):
    """A fused multiply-add for each step, forwards and backwards: nothing else depends on the step before."""

    @staticmethod
    def forward(context, keep, new, first):
        states, state = torch.empty_like(new), first
        for t in range(new.shape[0]):
            state = torch.addcmul(new[t], keep[t], state, out=states[t])
        context.save_for_backward(keep, states, first)
        return states

    @staticmethod
    def backward(context, gradient):
        keep, states, first = context.saved_tensors
        past = torch.cat([first[None], states[:-1]])  # c[t - 1]
        total = gradient.clone(memory_format=torch.contiguous_format)
        for t in range(len(total) - 2, -1, -1):
            total[t].addcmul_(keep[t + 1], total[t + 1])
        return total * past, total, keep[0] * total[0]


def scan(keep: torch.Tensor, new: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Returns states c of every step, float32 (batch, time, d), for gates and inputs of that shape and the state
    before.

    Autocast has no effect here: a sum over a sentence stays float32.
    """
    by_time = (x.float().transpose(0, 1).contiguous() for x in (keep, new))  # the rows of one step are adjacent
    return _Scan.apply(*by_time, first.float()).transpose(0, 1)


def scan_reference(keep, new, first):
    """Computes the same step by step, differentiated by autograd."""
    states = []
    for t in range(new.shape[1]):
        first = keep[:, t] * first + new[:, t]
        states.append(first)
    return torch.stack(states, 1)
