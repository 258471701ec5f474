"""One step of the decoder as an ONNX graph, for `hypotheses` = batch x beam rows, those of a sentence side by side.

    previous     int64 [hypotheses]      ids of the step before; of no effect at position 0
    position     int64 []                tokens emitted so far
    mask, keys_P, values_P               as the encoder gives them: [batch, ...], not repeated for the beam
    state_L      of each decoder layer L: see `onnx_cells`
    logits       float32 [hypotheses, pieces]
    new_state_L  the states after this step
    alignment    float32 [hypotheses, source]    what the aligning head attends to

Over all pieces, or over candidates: then the output layer is an input, which a graph of its own has gathered,
once for many steps.

    output_weight  float32 [candidates, d]
    output_bias    float32 [candidates]
"""

import numpy as np

from quantize.onnx.blocks import Blocks
from quantize.onnx.cells import add_cell, state_shapes


def add_candidates(blocks: Blocks):
    """Add what gathers the output layer: candidates int64 [candidates] -> output_weight, output_bias."""
    graph, d = blocks.graph, blocks.config.architecture.model_dim
    candidates = graph.input("candidates", np.int64, ["candidates"])
    weight = graph.node("Gather", blocks.table("output"), candidates)
    graph.output(weight, "output_weight", np.float32, ["candidates", d])
    bias = graph.node("Gather", _output_bias(blocks), candidates)
    graph.output(bias, "output_bias", np.float32, ["candidates"])


def add_step(blocks: Blocks, candidates: bool = False):
    """Add a step of the decoder to an empty graph, with its inputs and outputs."""
    graph, config = blocks.graph, blocks.config
    heads, width, d = config.architecture.heads, config.architecture.head_dim, config.architecture.model_dim
    previous = graph.input("previous", np.int64, ["hypotheses"])
    position = graph.input("position", np.int64, [])
    mask = graph.input("mask", np.float32, ["batch", 1, 1, "source"])
    memories = [
        (
            graph.input(f"keys_{p}", np.float32, ["batch", heads, width, "source"]),
            graph.input(f"values_{p}", np.float32, ["batch", heads, "source", width]),
        )
        for p in range(config.architecture.decoder_sets)
    ]
    shapes = state_shapes(config)
    states = [
        [graph.input(f"state_{layer}{part}", np.float32, shape) for part, shape in shapes.items()]
        for layer in range(config.architecture.decoder_layers)
    ]
    batch = graph.node("Slice", graph.node("Shape", mask), *(graph.constant([i], np.int64) for i in (0, 1)))
    apart = graph.node("Concat", batch, graph.constant([-1, heads, width], np.int64), axis=0)
    x = _input(blocks, previous, position)
    aligning = (
        config.architecture.decoder_layers - 1
        if config.architecture.alignment_layer is None
        else config.architecture.alignment_layer
    )
    made = []
    for layer, p in enumerate(config.architecture.decoder_parameters):
        block = f"decoder.{p}.cell"
        y, new = add_cell(blocks, block, x, states[layer], position)
        made.append(new)
        x = blocks.after(block, y, x)
        block, (keys, values) = f"decoder.{p}.cross_attention", memories[p]
        queries = blocks.split_heads(blocks.query(block, blocks.before(block, x)), apart)
        weights = blocks.attention_weights(queries, keys, mask)
        x = blocks.after(block, blocks.attended(block, weights, values), x)
        x = blocks.feed_forward(f"decoder.{p}.feed_forward", x, config.architecture.decoder_ffn_depth)
        if layer == aligning:
            first = graph.node("Gather", weights, graph.constant(0, np.int64), axis=1)
            alignment = graph.node("Flatten", first, axis=2)
    if config.architecture.top_norm:
        x = blocks.norm("decoder.top_norm", x)
    if candidates:
        output = graph.input("output_weight", np.float32, ["candidates", d])
        output = output, graph.input("output_bias", np.float32, ["candidates"])
    else:
        output = blocks.table("output"), _output_bias(blocks)
    pieces = "candidates" if candidates else config.vocab_size
    graph.output(graph.node("Gemm", x, *output, transB=1), "logits", np.float32, ["hypotheses", pieces])
    for layer, new in enumerate(made):
        for value, (part, shape) in zip(new, shapes.items(), strict=True):
            shape = ["steps_now" if size == "steps" else size for size in shape]
            graph.output(value, f"new_state_{layer}{part}", np.float32, shape)
    graph.output(alignment, "alignment", np.float32, ["hypotheses", "source"])


def _output_bias(blocks):
    return blocks.graph.tensor("output.bias", blocks.tensors["output.bias"])


def _input(blocks, previous, position):
    graph, config = blocks.graph, blocks.config
    scales = np.full(blocks.positions, blocks.embedding_scale, np.float32)
    scales[0] = 0  # before the first token there is nothing
    scale = graph.node("Gather", graph.tensor("embedding_scales", scales), position)
    x = graph.node("Mul", graph.node("Gather", blocks.table("target"), previous), scale)
    x = graph.node("Add", x, graph.node("Gather", blocks.position_table(), position))
    return blocks.norm("decoder.embedding_norm", x) if config.architecture.embedding_norm else x
