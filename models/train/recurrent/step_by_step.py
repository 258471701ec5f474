"""`recurrence` by autograd, one step after the other: for layer norms, and to compare with."""

import torch

from models.train.recurrent.cells import CELLS
from models.train.recurrent.products import product
from models.train.recurrent.recurrence import Outputs


def step_by_step(network, layer, x, first, memory, attending: int | None) -> Outputs:
    """Runs all steps of a layer on `x`; its cell number `attending` reads the attention to `memory`."""
    beside = attending is not None and bool(layer[attending].context_gates)  # context and input are one sum
    given = product(x, network.weight(layer[0], layer[0].gates))
    given = given if beside else network.finished(layer[0], layer[0].gates, given)
    state, states, contexts, attention = first, [], [], []
    for t in range(len(x)):
        for j, cell in enumerate(layer):
            inputs = given[t] if j == 0 else None
            if j == attending:
                context, alphas = network.attended(memory, state[0])
                contexts.append(context)
                attention.append(alphas)
                if beside:
                    read = context @ network.weight(cell, cell.context_gates)
                    inputs = network.finished(cell, cell.gates, inputs + read)
                else:
                    inputs = network.mapped(cell, cell.gates, context)
            recurrent = network.mapped(cell, cell.state_gates, state[0]).float()
            if inputs is None:
                inputs = _late(network, cell, recurrent)
            state, _ = CELLS[cell.kind].forward(inputs.float(), recurrent, None, state)
        states.append(state[0])
    made = [torch.stack(steps) if steps else None for steps in (states, contexts, attention)]
    return Outputs(*made, tuple(part.detach() for part in state))


def _late(network, cell, recurrent):
    """Adds the late biases of a cell without an input."""
    zeros = recurrent.new_zeros(recurrent.shape[1])
    if cell.late_bias:
        zeros = torch.cat([zeros[: -cell.dim], network.tensors[f"{cell.name}.candidate.bias"]])
    return zeros
