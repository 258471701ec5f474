"""The working memory of a recurrent network."""

from functools import partial
from typing import Any

import numpy as np

from cpunmt.architectures.memory import Allocate, Memory, MemorySize, place
from cpunmt.architectures.recurrent import tensors
from cpunmt.architectures.recurrent.cells import cells, decoder_layers, encoder_stacks
from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.recurrent.records import MEMORY
from cpunmt.kernels.matmul.packing import PANEL, room_bytes
from cpunmt.kernels.records import LIST_DEPTHS
from cpunmt.simd import isa


def recurrent_memory(config: RecurrentConfig, size: MemorySize, allocate: Allocate) -> Memory:
    slots, beam, _, rows, stride = size
    live, d, float32 = slots * beam, config.model_dim, np.float32
    record = np.zeros(1, MEMORY)
    fields: Any = record[0]
    scratch = fields["scratch"]
    found, every = tensors.linears(config), cells(config)
    encoder = [cell for stack in encoder_stacks(config).values() for layer in stack for cell in layer]
    decoder = [cell for layer in decoder_layers(config) for cell in layer]
    deepest, widest = (max(getattr(linear, name) for linear in found) for name in ("depth", "columns"))
    context, query = tensors.decoder_context(config).columns, tensors.decoder_query(config).columns
    fields["slots"], fields["beam"], fields["rows"], fields["source_stride"] = slots, beam, rows, stride

    buffer = partial(place, allocate)
    hidden = buffer(scratch, "x", float32, rows, d)
    quantized = buffer(scratch, "quantized", np.uint8, rows, max(2, isa.activation_planes()) * deepest)
    row_scales = buffer(scratch, "row_scales", float32, rows, 2)
    depth, lists = max((linear.depth for linear in found if linear.rectified), default=0), scratch["lists"]
    for name, dtype, length in LIST_DEPTHS:
        buffer(lists, name, dtype, length * depth + 32)
    buffer(lists, "sums", np.int32, widest + 64)
    buffer(scratch, "sums", float32, live)
    room = buffer(scratch, "room", np.uint8, room_bytes(max(d, deepest)))

    buffer(fields, "pieces", np.int64, rows)
    buffer(fields, "places", np.int64, 2, rows)
    buffer(fields, "missed", np.int64, rows)
    firsts = tensors.encoder_input(config), tensors.decoder_input(config)
    buffer(fields, "first", float32, rows, max(linear.columns for linear in firsts))
    buffer(fields, "order", np.int64, slots)
    for name in ("said", "below"):
        buffer(fields, name, float32, 2, rows, 2 * config.encoder_dim)
    state = max(cell.state for cell in encoder)
    buffer(fields, "cell_states", float32, 2, slots, state)
    width = max(2 * max(cell.width for cell in encoder), config.attention_width, context, config.decoder_dim)
    buffer(fields, "wide", float32, rows, width)

    value = max(config.context_dim, context)
    fields["value_width"] = value
    buffer(fields, "keys", float32, slots, stride, config.attention_width)
    buffer(fields, "values", float32, slots, stride, value)
    layers, state = config.decoder_layers, max(cell.state for cell in decoder)
    if config.top == "recurrent":
        layers, state = layers + 1, max(state, every[-1].state)
    fields["state_bytes"] = 4 * state
    for name in ("states", "next_states"):
        buffer(fields, name, float32, layers, live + slots, state)[:, live:] = 0
    for name in ("parents", "askers", "shared"):
        buffer(fields, name, np.int64, live)
    buffer(fields, "marks", np.int64, live + slots)[:] = -1
    narrow = max(config.context_dim, *(cell.dim for cell in every))
    buffer(fields, "gathered", float32, live, narrow)
    gates = max(cell.width for cell in every)
    buffer(fields, "state_gates", float32, live, gates)
    buffer(fields, "asked", float32, live, query)
    buffer(fields, "attended", float32, live, -(-stride // PANEL) * PANEL)
    buffer(fields, "summed", float32, live, value)
    buffer(fields, "made", float32, live, context)
    level = max(config.decoder_dim, *config.stack, 0)
    fields["level_bytes"] = buffer(fields, "levels", float32, 3, live, level)[0].nbytes
    buffer(fields, "product", float32, live, gates)
    return Memory(record, hidden, quantized, row_scales, room)
