"""Recurrent cells over a whole sequence, with or without attention, forwards and backwards.

A step of a layer is one or several cells: the first reads the layer's input, the others only the state of the cell
before. One of them may also read the attention's context, with the state before that cell as the query:

    e[s] = score . tanh(keys[s] + state Q);  a = softmax(e);  context = sum a[s] values[s]

Only products of the state and, with attention, of the context are computed step by step. The gradients of all weights
are products over all steps at once, after the last; the tanh of every pair of positions is recomputed there, not
stored. Everything is by time: (time, rows, ...).
"""

from typing import NamedTuple

import torch

from models.train.recurrent.cells import CELLS
from models.train.recurrent.products import empty_rows, filled_up, transposed_product

_tanh_backward = torch.ops.aten.tanh_backward


class CellWeights(NamedTuple):
    """Parameters of a cell with a state of H, and G = 3 H (GRU) or 4 H (LSTM) numbers before its gates."""

    state: torch.Tensor  # (H, G)
    outer: torch.Tensor | None = None  # (G,): biases of a cell that does not read the layer's input
    inner: torch.Tensor | None = None  # (H,): a GRU's candidate bias inside the reset gate


class Attended(NamedTuple):
    """Inputs of attention, and the cell that reads it; A is its width, C the context's."""

    cell: int
    keys: torch.Tensor  # (rows, source time, A)
    values: torch.Tensor  # (rows, source time, C)
    visible: torch.Tensor  # (rows, source time), bool
    score: torch.Tensor  # (A,)
    query: torch.Tensor  # (H, A)
    weight: torch.Tensor  # (C, G): the cell's map of the context


class Outputs(NamedTuple):
    """The results of all steps; attention's are None without it."""

    states: torch.Tensor  # (time, rows, H) float32: outputs of the last cell
    contexts: torch.Tensor | None  # (time, rows, C) float32
    attention: torch.Tensor | None  # (time, rows, source time) float32
    last: tuple[torch.Tensor, ...]  # the state after the last step, without gradient


def recurrence(
    kind: str, x: torch.Tensor, first: tuple, cells: list[CellWeights], attended: Attended | None = None
) -> Outputs:
    """Runs all steps of a layer. `x` (time, rows, G) is the first cell's map of its input, biases included."""
    parts = [None] * 5 if attended is None else [getattr(attended, name) for name in _LEARNT]
    plan = _Plan(kind, None if attended is None else attended.cell, None if attended is None else attended.visible)
    memory = first[1] if len(first) > 1 else None
    made = _Recurrence.apply(plan, x, first[0], memory, *parts, *(tensor for cell in cells for tensor in cell))
    return Outputs(*made[:3], made[3:])


_LEARNT = ("keys", "values", "score", "query", "weight")


class _Plan(NamedTuple):
    kind: str
    attending: int | None
    visible: torch.Tensor | None


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(context, plan, x, first, memory, keys, values, score, query, into, *parameters):
        device = x.device.type
        mixed = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        with torch.autocast(device, enabled=False):
            cell, steps = CELLS[plan.kind], len(x)
            cells = [CellWeights(*parameters[i : i + 3]) for i in range(0, len(parameters), 3)]
            weights = [c.state for c in cells]
            attention = None
            if plan.attending is not None:
                weights[plan.attending] = torch.cat([weights[plan.attending], query], 1)
                keys, values = keys.float().contiguous(), values.to(mixed).contiguous()
                attention = _Attention(plan.visible, keys, values, score.float())
                into = into.to(mixed)
            weights = [weight.to(mixed) for weight in weights]
            if attention is not None:
                found, all_found = empty_rows(steps, len(first), values.shape[2], into)
            width = first.shape[1] * cell.gates
            x = x.float()
            given, all_given = zip(*(empty_rows(steps, *first.shape, weights[0]) for _ in cells), strict=True)
            state = (first.float(),) if memory is None else (first.float(), memory.float())
            before, kept, attentions, shown = [], [], [], []
            for t in range(steps):
                for j, one in enumerate(cells):
                    given[j][t] = state[0]
                    product = (given[j][t] @ weights[j]).float()
                    inputs = x[t] if j == 0 else one.outer
                    if j == plan.attending:
                        read, alphas = attention.forward(product[:, width:])
                        attentions.append(alphas)
                        found[t] = read
                        inputs = (found[t] @ into).float() + inputs
                    before.append(state)
                    state, what = cell.forward(inputs, product[:, :width], one.inner, state)
                    kept.append((what, product[:, width:]))
                shown.append(state[0])
            states = torch.stack(shown)
        context.plan, context.cells, context.kept, context.before = plan, cells, kept, before
        context.weights, context.attention, context.into, context.mixed = weights, attention, into, mixed
        context.shape, context.given = (steps, *first.shape), all_given
        context.attentions, context.found = attentions, all_found if attention else None
        last = tuple(part.clone() for part in state)
        context.mark_non_differentiable(*last)
        context.set_materialize_grads(False)
        if attention is None:
            return states, None, None, *last
        return states, found.float(), torch.stack(attentions), *last

    @staticmethod
    def backward(context, to_states, to_found, to_attention, *_):
        plan, cells, mixed = context.plan, context.cells, context.mixed
        cell, attention, weights = CELLS[plan.kind], context.attention, context.weights
        steps, rows, d = context.shape
        width, count = d * cell.gates, len(cells)
        device = to_states.device.type if to_states is not None else context.given[0].device.type
        with torch.autocast(device, enabled=False):
            to_given = [weights[0].new_empty(steps, rows, width, dtype=torch.float32) for _ in cells]
            to_product, all_products = zip(
                *(empty_rows(steps, rows, weight.shape[1], weight) for weight in weights), strict=True
            )
            back = [weight.T for weight in weights]
            to_reads = None
            if attention is not None:
                attention.begin()
                to_reads = context.found.new_empty(steps, rows, context.found.shape[1])
                into_back = context.into.T
            zeros = weights[0].new_zeros(rows, d, dtype=torch.float32)
            to_state = (zeros,) * cell.states
            for t in range(steps - 1, -1, -1):
                if to_states is not None:
                    to_state = (to_state[0] + to_states[t], *to_state[1:])
                for j in range(count - 1, -1, -1):
                    what, query = context.kept[t * count + j]
                    product = to_product[j][t]
                    direct = cell.backward(to_state, context.before[t * count + j], what, to_given[j][t], product)
                    if j == plan.attending:
                        to_read = to_given[j][t].to(mixed) @ into_back
                        if to_found is not None:
                            to_read = to_read + to_found[t]
                        to_reads[t] = to_read
                        alphas, wanted = context.attentions[t], None if to_attention is None else to_attention[t]
                        product[:, width:] = attention.backward(to_reads[t], wanted, alphas, query)
                    through = (product @ back[j]).float()
                    to_state = (through if direct[0] is None else through.add_(direct[0]), *direct[1:])
            found = []
            for j, one in enumerate(cells):
                gradient = transposed_product(context.given[j], all_products[j])
                to_outer = None if one.outer is None else to_given[j].sum((0, 1))
                to_inner = None
                if one.inner is not None:
                    to_inner = to_product[j][..., 2 * d : 3 * d].sum((0, 1), dtype=torch.float32)
                found += [gradient[:, :width].float(), to_outer, to_inner]
                if j == plan.attending:
                    to_query = gradient[:, width:].float()
            parts = [None] * 5
            if attention is not None:
                to_into = transposed_product(context.found, filled_up(to_given[plan.attending].flatten(0, 1), mixed))
                alphas = torch.stack(context.attentions).permute(1, 2, 0).to(mixed)
                to_values = (alphas @ to_reads.transpose(0, 1)).float()
                parts = [attention.to_keys, to_values, attention.to_score, to_query, to_into.float()]
        memory = to_state[1] if len(to_state) > 1 else None
        return None, to_given[0], to_state[0], memory, *parts, *found


class _Attention:
    """One step of attention, and its derivatives."""

    def __init__(self, visible, keys, values, score):
        self.hidden, self.keys, self.values, self.score = ~visible, keys, values, score
        self.to_keys = self.to_score = None

    def forward(self, query):
        """Returns the context, (rows, C), and the weight of each position, (rows, source time)."""
        scores = torch.tanh_(self.keys + query[:, None]) @ self.score
        alphas = scores.masked_fill_(self.hidden, torch.finfo(scores.dtype).min).softmax(1)
        return (alphas.to(self.values.dtype)[:, None] @ self.values)[:, 0], alphas

    def begin(self):
        """Prepares for the last step's `backward`."""
        self.to_keys, self.to_score = torch.zeros_like(self.keys), torch.zeros_like(self.score)

    def backward(self, to_read, to_alphas, alphas, query):
        """Returns the query's gradient; adds to the gradients of keys and score."""
        wanted = (self.values @ to_read[:, :, None])[:, :, 0].float()
        if to_alphas is not None:
            wanted = wanted + to_alphas
        to_scores = alphas * wanted
        to_scores -= alphas * to_scores.sum(1, keepdim=True)
        energy = torch.tanh_(self.keys + query[:, None])
        self.to_score += to_scores.flatten() @ energy.flatten(0, 1)
        through = _tanh_backward(to_scores[:, :, None] * self.score, energy)
        self.to_keys += through
        return through.sum(1)
