"""The encoder as an ONNX graph: ids in; keys and values of the decoder's cross-attention out.

Inputs and outputs:

    ids        int64 [batch, source]     padded with any id
    lengths    int64 [batch]             ids of each sentence, </s> included
    keys_P     float32 [batch, heads, d / heads, source]    of each decoder parameter set P
    values_P   float32 [batch, heads, source, d / heads]
    mask       float32 [batch, 1, 1, source]                0, and very negative where there is padding
"""

import numpy as np

from quantize.onnx.blocks import MASKED, Blocks


def add_encoder(blocks: Blocks):
    """Add the encoder to an empty graph, with its inputs and outputs."""
    graph, config = blocks.graph, blocks.config
    ids = graph.input("ids", np.int64, ["batch", "source"])
    lengths = graph.input("lengths", np.int64, ["batch"])
    size = graph.node("Shape", ids)
    apart = graph.node(
        "Concat", size, graph.constant([config.architecture.heads, config.architecture.head_dim], np.int64), axis=0
    )
    mask = _mask(graph, size, lengths)
    x = _input(blocks, ids, size)
    for i in range(config.architecture.encoder_layers):
        block = f"encoder.{i}.self_attention"
        made = _self_attention(blocks, block, blocks.before(block, x), apart, mask)
        x = blocks.after(block, made, x)
        x = blocks.feed_forward(f"encoder.{i}.feed_forward", x, config.architecture.ffn_depth)
    if config.architecture.top_norm:
        x = blocks.norm("encoder.top_norm", x)
    heads, width = config.architecture.heads, config.architecture.head_dim
    for p in range(config.architecture.decoder_sets):
        block = f"decoder.{p}.cross_attention"
        keys = blocks.split_heads(blocks.linear(f"{block}.key", x), apart, keys=True)
        graph.output(keys, f"keys_{p}", np.float32, ["batch", heads, width, "source"])
        values = blocks.split_heads(blocks.linear(f"{block}.value", x), apart)
        graph.output(values, f"values_{p}", np.float32, ["batch", heads, "source", width])
    graph.output(mask, "mask", np.float32, ["batch", 1, 1, "source"])


def _mask(graph, size, lengths):
    length = graph.node("Gather", size, graph.constant(1, np.int64))
    places = graph.node("Range", graph.constant(0, np.int64), length, graph.constant(1, np.int64))
    ends = graph.node("Unsqueeze", lengths, graph.constant([1, 2, 3], np.int64))
    inside = graph.node("Less", places, ends)
    return graph.node("Where", inside, graph.constant(0, np.float32), graph.constant(MASKED, np.float32))


def _input(blocks, ids, size):
    """Embeddings with positions, [batch source, d]."""
    graph, config = blocks.graph, blocks.config
    x = graph.node("Gather", blocks.table("source"), ids)
    if config.architecture.scale_embedding:
        x = graph.node("Mul", x, graph.constant(blocks.embedding_scale, np.float32))
    end = graph.node("Slice", size, *(graph.constant([value], np.int64) for value in (1, 2)))
    signal = graph.node("Slice", blocks.position_table(), graph.constant([0], np.int64), end)
    x = graph.node("Add", x, signal)
    x = graph.node("Reshape", x, graph.constant([-1, config.architecture.model_dim], np.int64))
    return blocks.norm("encoder.embedding_norm", x) if config.architecture.embedding_norm else x


def _self_attention(blocks, block, x, apart, mask):
    queries = blocks.query(block, x)
    keys, values = (blocks.linear(f"{block}.{name}", x) for name in ("key", "value"))
    weights = blocks.attention_weights(
        blocks.split_heads(queries, apart), blocks.split_heads(keys, apart, keys=True), mask
    )
    return blocks.attended(block, weights, blocks.split_heads(values, apart))
