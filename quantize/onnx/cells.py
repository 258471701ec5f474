"""The decoder's cells as ONNX nodes: their input and states in, their output and new states out.

States of a decoder layer: one, [hypotheses, d], zero at first. Self-attention has keys and values,
[hypotheses, heads, steps, d / heads], with no step at first.
"""

import numpy as np

from cpunmt.model.config import ModelConfig
from quantize.onnx.blocks import Blocks


def state_shapes(config: ModelConfig) -> dict[str, list]:
    """Suffix of a state's name -> its shape; a size that is text varies."""
    if config.architecture.cell == "self_attention":
        return {
            part: ["hypotheses", config.architecture.heads, "steps", config.architecture.head_dim]
            for part in ("_keys", "_values")
        }
    return {"": ["hypotheses", config.architecture.model_dim]}


def add_cell(blocks: Blocks, block: str, x: str, states: list[str], position: str) -> tuple[str, list[str]]:
    """(the block's output, its new states) for input x [hypotheses, d] of the step `position`."""
    return _CELLS[blocks.config.architecture.cell](blocks, block, x, states, position)


def _ssru(blocks, block, x, states, position):
    x = blocks.before(block, x)
    cell = _forgetting(blocks, block, x, *states)
    return _projected(blocks, block, blocks.graph.node("Relu", cell)), [cell]


def _sru(blocks, block, x, states, position):
    x = blocks.before(block, x)
    cell = _forgetting(blocks, block, x, *states)
    reset = blocks.sigmoid(blocks.linear(f"{block}.reset", x))
    return _projected(blocks, block, blocks.mixed(reset, blocks.graph.node("Tanh", cell), x)), [cell]


def _forgetting(blocks, block, x, cell):
    forget = blocks.sigmoid(blocks.linear(f"{block}.forget", x))
    return blocks.mixed(forget, cell, blocks.linear(f"{block}.candidate", x, bias=False))


def _projected(blocks, block, x):
    return blocks.linear(f"{block}.output", x) if blocks.config.architecture.cell_projection else x


def _self_attention(blocks, block, x, states, position):
    graph, config = blocks.graph, blocks.config
    x = blocks.before(block, x)
    one = graph.constant([-1, config.architecture.heads, 1, config.architecture.head_dim], np.int64)
    queries = graph.node("Reshape", blocks.query(block, x), one)
    new = [graph.node("Reshape", blocks.linear(f"{block}.{name}", x), one) for name in ("key", "value")]
    keys, values = (graph.node("Concat", past, now, axis=2) for past, now in zip(states, new, strict=True))
    weights = blocks.attention_weights(queries, graph.node("Transpose", keys, perm=[0, 1, 3, 2]), None)
    return blocks.attended(block, weights, values), [keys, values]


def _average_attention(blocks, block, x, states, position):
    graph, config = blocks.graph, blocks.config
    cell = graph.node("Add", states[0], x)
    steps = graph.node("Add", position, graph.constant(1, np.int64))
    y = blocks.before(block, graph.node("Div", cell, graph.node("CastLike", steps, cell)))
    for name in ["inner", *(f"middle.{i}" for i in range(config.architecture.average_depth - 2))][
        : config.architecture.average_depth - 1
    ]:
        y = blocks.activation(config.architecture.average_activation, blocks.linear(f"{block}.{name}", y))
    if config.architecture.average_dim != config.architecture.model_dim:
        y = blocks.linear(f"{block}.outer", y)
    if config.architecture.average_gate:
        kept = graph.node("Mul", blocks.sigmoid(blocks.linear(f"{block}.input_gate", x)), x)
        renewed = graph.node("Mul", blocks.sigmoid(blocks.linear(f"{block}.forget_gate", y)), y)
        y = graph.node("Add", kept, renewed)
    return y, [cell]


_CELLS = {
    "ssru": _ssru,
    "sru": _sru,
    "self_attention": _self_attention,
    "average_attention": _average_attention,
}
