"""The working memory of a Transformer."""

from functools import partial
from typing import Any

import numpy as np

from cpunmt.architectures.memory import Allocate, Memory, MemorySize, place
from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.architectures.transformer.records import MEMORY
from cpunmt.architectures.transformer.tensors import linears
from cpunmt.kernels.matmul.packing import PANEL, room_bytes
from cpunmt.kernels.records import LIST_DEPTHS, PATH
from cpunmt.simd import isa


def transformer_memory(config: TransformerConfig, size: MemorySize, allocate: Allocate) -> Memory:
    slots, beam, steps, rows, stride = size
    d, layers, sets, cell = config.model_dim, config.decoder_layers, config.decoder_sets, CELLS[config.cell]
    width = config.attention_width
    found = linears(config)
    widest = max(linear.columns for linear in found)
    own_stride = -(-steps // PANEL) * PANEL if config.cell == "self_attention" else 0
    record, float32 = np.zeros(1, MEMORY), np.float32
    fields: Any = record[0]
    scratch = fields["scratch"]
    fields["slots"], fields["beam"], fields["steps"], fields["source_stride"] = slots, beam, steps, stride

    buffer = partial(place, allocate)
    hidden = buffer(scratch, "x", float32, rows, d)
    scratch["input"] = scratch["x"]
    if config.preprocess:
        buffer(scratch, "input", float32, rows, d)
    buffer(scratch, "wide", float32, rows, widest)
    if cell.state_gates or max(config.ffn_depth, config.decoder_ffn_depth, config.average_depth) > 2:
        buffer(scratch, "wider", float32, rows, widest)
    for name, size_ in (("y", max(d, width)), ("context", max(d, width)), ("gate", d)):
        buffer(scratch, name, float32, rows, size_)
    quantized = buffer(scratch, "quantized", np.uint8, rows, max(2, isa.activation_planes()) * widest)
    row_scales = buffer(scratch, "row_scales", float32, rows, 2)
    depth = max((linear.depth for linear in found if linear.rectified), default=0)
    lists = scratch["lists"]
    for name, dtype, length in LIST_DEPTHS:
        buffer(lists, name, dtype, length * depth + 32)
    buffer(lists, "sums", np.int32, widest + 64)
    buffer(scratch, "scores", float32, max(stride, config.heads), max(stride, own_stride))
    buffer(scratch, "sums", float32, config.heads)
    buffer(scratch, "packed", float32, config.head_dim, stride)
    buffer(scratch, "pointers", np.int64, PANEL)
    room = buffer(scratch, "room", np.uint8, room_bytes(max(d, *(linear.depth for linear in found))))
    if config.relative_positions:
        reach = config.relative_positions
        buffer(scratch, "relative", float32, max((2 * reach + 1) * stride, config.heads * (reach + PANEL)))
    buffer(fields, "keys", float32, slots, sets, stride * width)
    buffer(fields, "values", float32, slots, sets, stride * width)
    fields["state_bytes"] = 4 * cell.state * d
    for name in ("states", "next_states"):
        buffer(fields, name, float32, layers, slots * beam + 1, cell.state * d)[:, slots * beam] = 0
    if own_stride:
        panels = fields["own_panels"] = -(-steps * beam // PANEL)
        buffer(fields, "own_keys", float32, layers, slots, panels, width, PANEL)
        buffer(fields, "own_values", float32, layers, slots, panels, width, PANEL)
        buffer(fields, "own_parents", np.int32, slots, steps, beam)
        paths, least = buffer(fields, "paths", PATH, slots * beam), min(steps, panels)
        places = allocate(np.int64, slots * beam, 2 * steps + least)  # of each: columns, values, panels of keys
        first = places.ctypes.data + np.arange(slots * beam) * places.strides[0]
        paths["columns"], paths["values"], paths["keys"] = first, first + 8 * steps, first + 16 * steps
        paths["scores"] = allocate(float32, config.heads, PANEL * least).ctypes.data  # one room for all
    return Memory(record, hidden, quantized, row_scales, room)
