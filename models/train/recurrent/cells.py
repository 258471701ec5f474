"""The elementwise parts of a GRU and an LSTM, and their derivatives, written out.

Equations: `quantize.reference.recurrent`. H is the width of the state. A cell takes

    given      the map of its input, biases included: float32 (rows, G), or (G,) for a cell without an input
    recurrent  the product of its state: float32 (rows, G)
    inner      a bias of the candidate's recurrent product, inside the reset gate, float32 (H,), or None
    state      the state before, a tuple of float32 (rows, H)

and returns the state after, and the values that its derivatives need.
"""

from typing import NamedTuple

import torch

_sigmoid_backward, _tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


class Gru:
    """G = 3 H: reset, update, candidate. The state is one tensor."""

    gates, states = 3, 1

    class Kept(NamedTuple):
        gates: torch.Tensor  # (rows, 2 H)
        candidate: torch.Tensor
        recurrent: torch.Tensor  # the reset gate's other factor

    @staticmethod
    def forward(given, recurrent, inner, state):
        (h,) = state
        d = h.shape[1]
        gates = torch.sigmoid_(given[..., : 2 * d] + recurrent[:, : 2 * d])
        renewed = recurrent[:, 2 * d :]
        if inner is not None:
            renewed = renewed + inner
        candidate = torch.addcmul(given[..., 2 * d :], gates[:, :d], renewed).tanh_()
        return (torch.lerp(candidate, h, gates[:, d:]),), Gru.Kept(gates, candidate, renewed)

    @staticmethod
    def backward(gradients, state, kept, to_given, to_recurrent):
        """Writes the gradients of `given` and `recurrent`; returns the state's, without the product's part."""
        (gradient,), (h,) = gradients, state
        d = h.shape[1]
        update = kept.gates[:, d:]
        to_candidate = _tanh_backward(torch.addcmul(gradient, gradient, update, value=-1), kept.candidate)
        to_gates = torch.empty_like(kept.gates)
        torch.mul(to_candidate, kept.recurrent, out=to_gates[:, :d])
        torch.mul(gradient, h - kept.candidate, out=to_gates[:, d:])
        to_gates = _sigmoid_backward(to_gates, kept.gates)
        to_given[:, : 2 * d] = to_gates
        to_given[:, 2 * d :] = to_candidate
        to_recurrent[:, : 2 * d] = to_gates
        to_recurrent[:, 2 * d : 3 * d] = to_candidate.mul_(kept.gates[:, :d])
        return (gradient * update,)


class Lstm:
    """G = 4 H: forget, input, candidate, output. The state is the output and the memory."""

    gates, states = 4, 2

    class Kept(NamedTuple):
        opened: torch.Tensor  # (rows, 4 H): forget, input, candidate, output
        shown: torch.Tensor  # tanh of the memory

    @staticmethod
    def forward(given, recurrent, inner, state):
        _, memory = state
        d = memory.shape[1]
        opened = given + recurrent
        opened = torch.cat(
            [opened[:, : 2 * d].sigmoid(), opened[:, 2 * d : 3 * d].tanh(), opened[:, 3 * d :].sigmoid()], 1
        )
        forget, new, candidate, output = opened.chunk(4, 1)
        memory = torch.addcmul(forget * memory, new, candidate)
        shown = torch.tanh(memory)
        return (output * shown, memory), Lstm.Kept(opened, shown)

    @staticmethod
    def backward(gradients, state, kept, to_given, to_recurrent):
        """Writes gradients as `Gru.backward`; the state's output has only the product's part."""
        (to_output, to_memory), (_, memory) = gradients, state
        d = memory.shape[1]
        forget, new, candidate, output = kept.opened.chunk(4, 1)
        to_memory = to_memory + _tanh_backward(to_output * output, kept.shown)
        made = torch.empty_like(kept.opened)
        torch.mul(to_memory, memory, out=made[:, :d])
        torch.mul(to_memory, candidate, out=made[:, d : 2 * d])
        made[:, : 2 * d] = _sigmoid_backward(made[:, : 2 * d], kept.opened[:, : 2 * d])
        made[:, 2 * d : 3 * d] = _tanh_backward(to_memory * new, candidate)
        made[:, 3 * d :] = _sigmoid_backward(to_output * kept.shown, output)
        to_given.copy_(made)
        to_recurrent[:, : 4 * d] = made
        return None, to_memory * forget


CELLS = {"gru": Gru, "lstm": Lstm}
