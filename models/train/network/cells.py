"""The decoder's cells over a whole sequence at once. Equations: `quantize.reference.transformer`.

A cell takes the network, the name of its block, its input x (batch, time, d), the state before, and the number of
earlier steps; it returns its output and its state. So a sequence may come whole, as in training, or piece by piece, as
in sampling: the result is the same.
"""

import torch
from torch.nn import functional

from cpunmt.architectures.transformer.cells.kinds import CELLS as KINDS
from models.train.network.scan import scan


def empty_state(config, rows: int, like: torch.Tensor) -> torch.Tensor:
    """Returns the state of one layer before the first step."""
    d, cell = config.architecture.model_dim, config.architecture.cell
    if cell == "self_attention":
        return like.new_zeros(rows, 0, 2 * d)
    return like.new_zeros(rows, KINDS[cell].state * d, dtype=torch.float32)


def ssru(network, block, x, state, steps):
    """Computes the SSRU of Kim et al. 2019, https://aclanthology.org/D19-5632, section 3.1."""
    x = network.before(block, x)
    states = _forgetting(network, block, x, state)
    y = network.relu(block, states) if network.architecture.cell_projection else functional.relu(states)
    return _projected(network, block, y), states[:, -1]


def sru(network, block, x, state, steps):
    """Computes the SRU of Lei et al. 2018, https://arxiv.org/abs/1709.02755."""
    x = network.before(block, x)
    states = _forgetting(network, block, x, state)
    reset = torch.sigmoid(network.affine(f"{block}.reset", x).float())
    return _projected(network, block, reset * torch.tanh(states) + (1 - reset) * x), states[:, -1]


def self_attention(network, block, x, state, steps):
    """Attends to each step and to earlier ones: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762."""
    x = network.before(block, x)
    new = torch.cat(network.keys_values(block, x), -1)
    seen = torch.cat([state.to(new.dtype), new], 1)
    size, total = x.shape[1], seen.shape[1]
    visible = torch.ones(size, total, dtype=torch.bool, device=x.device).tril(total - size)[None]
    return network.attended(block, x, *seen.chunk(2, -1), visible), seen


def average_attention(network, block, x, state, steps):
    """Computes the average attention of Zhang et al. 2018, https://arxiv.org/abs/1805.00631."""
    config = network.architecture
    sums = state[:, None] + x.float().cumsum(1)
    y = sums / torch.arange(steps + 1, steps + 1 + x.shape[1], device=x.device)[:, None]
    y = network.before(block, y)
    for name in ["inner", *(f"middle.{i}" for i in range(config.average_depth - 2))][: config.average_depth - 1]:
        y = network.hidden(f"{block}.{name}", y, config.average_activation)
    if config.average_dim != config.model_dim:
        y = network.affine(f"{block}.outer", y)
    if config.average_gate:
        keep = torch.sigmoid(network.affine(f"{block}.input_gate", x))
        renew = torch.sigmoid(network.affine(f"{block}.forget_gate", y))
        y = keep * x + renew * y
    return y, sums[:, -1]


def gru(network, block, x, state, steps):
    """Computes a GRU (Cho et al. 2014, https://arxiv.org/abs/1406.1078) step by step, as gates read the state."""
    x, states = network.before(block, x), []
    gates, candidates = (network.affine(f"{block}.{name}", x) for name in ("gates", "candidate"))
    for t in range(x.shape[1]):
        given = torch.sigmoid((gates[:, t] + network.product(f"{block}.state_gates.weight", state)).float())
        reset, update = given.chunk(2, -1)
        renewed = reset * network.product(f"{block}.state_candidate.weight", state)
        state = update * state + (1 - update) * torch.tanh((candidates[:, t] + renewed).float())
        states.append(state)
    return _projected(network, block, torch.stack(states, 1)), state


def lstm(network, block, x, state, steps):
    """Computes an LSTM (Hochreiter and Schmidhuber 1997), step by step."""
    gates, outputs = network.affine(f"{block}.gates", network.before(block, x)), []
    hidden, memory = state.chunk(2, -1)
    for t in range(x.shape[1]):
        made = (gates[:, t] + network.product(f"{block}.state_gates.weight", hidden)).float()
        forget, new, candidate, shown = made.chunk(4, -1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(new) * torch.tanh(candidate)
        hidden = torch.sigmoid(shown) * torch.tanh(memory)
        outputs.append(hidden)
    return _projected(network, block, torch.stack(outputs, 1)), torch.cat([hidden, memory], -1)


CELLS = {cell.__name__: cell for cell in (ssru, sru, self_attention, average_attention, gru, lstm)}


def _forgetting(network, block, x, state):
    forget = torch.sigmoid(network.affine(f"{block}.forget", x).float())
    return scan(forget, (1 - forget) * network.product(f"{block}.candidate.weight", x), state)


def _projected(network, block, x):
    return network.affine(f"{block}.output", x) if network.architecture.cell_projection else x
