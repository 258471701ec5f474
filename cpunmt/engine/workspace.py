"""The memory of one call: allocated before it, carved up here, never touched by two calls at once."""

from typing import NamedTuple

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.model.architecture import output_table
from cpunmt.model.config import SCHEMES, ModelConfig
from cpunmt.simd import isa


class Size(NamedTuple):
    """What a Workspace has room for."""

    slots: int  # sentences side by side
    beam: int  # hypotheses of each
    steps: int  # pieces of each
    tokens: int  # source pieces encoded at once
    source: int  # pieces of the longest source
    candidates: int  # target pieces that a sentence chooses from; 0: the whole vocabulary
    attention: int  # 1: attention is kept


class Workspace:
    """`record`: a WORKSPACE record whose buffers, `bytes` in all, live as long as this object.

    Memory is reserved, not used: the operating system gives pages to what a call really touches.
    """

    def __init__(self, config: ModelConfig, size: Size):
        self.size = size
        slots, beam, steps, tokens, source, candidates, attention = size
        full = not candidates
        d, layers, sets = config.model_dim, config.decoder_layers, config.decoder_sets
        widest = max(3 * d, config.ffn_dim, config.decoder_width, config.average_dim)
        live = slots * beam
        rows = max(live, tokens, source)
        stride = -(-source // PANEL) * PANEL
        own_stride = -(-steps // PANEL) * PANEL if config.cell == "self_attention" else 0
        panels = -(-candidates // PANEL)
        logit_rows = 8 if full else beam
        columns = PANEL * (-(-config.vocab_size // PANEL) if full else panels)
        self._kept, self.bytes = [], 0
        self.record = np.zeros(1, records.WORKSPACE)
        self.address = self.record.ctypes.data
        fields = self.record[0]
        fields["slots"], fields["beam"], fields["steps"], fields["tokens"] = slots, beam, steps, tokens
        fields["source_stride"], fields["candidate_panels"], fields["logit_rows"] = stride, panels, logit_rows

        def buffer(name, dtype, *shape):
            array = self._buffer(dtype, *shape)
            fields[name] = array.ctypes.data
            return array

        float32 = np.float32
        buffer("x", float32, rows, d)
        fields["input"] = fields["x"]
        if config.preprocess:
            buffer("input", float32, rows, d)
        buffer("wide", float32, rows, widest)
        if max(config.ffn_depth, config.decoder_ffn_depth, config.average_depth) > 2:
            buffer("wider", float32, rows, widest)
        buffer("y", float32, rows, d)
        buffer("context", float32, rows, d)
        buffer("gate", float32, rows, d)
        buffer("quantized", np.uint8, rows, max(2, isa.activation_planes()) * widest)
        buffer("row_scales", float32, rows, 2)
        buffer("scores", float32, max(stride, config.heads), max(stride, own_stride))
        buffer("sums", float32, config.heads)
        buffer("packed", float32, config.head_dim, stride)
        buffer("pointers", np.int64, 16)
        buffer("logits", float32, logit_rows, columns)
        buffer("marks", np.int64, config.vocab_size // 64 + 1)[:] = 0
        buffer("keys", float32, slots, sets, d, stride)
        buffer("values", float32, slots, sets, stride, d)
        buffer("free_slots", np.int64, slots)
        buffer("active", np.int64, slots)
        buffer("sentences", records.SLOT, slots)
        for turn in ("", "next_"):
            buffer(turn + "hypotheses", records.HYPOTHESIS, live)
            buffer(turn + "cells", float32, layers, live + 1, d)[:, live] = 0
        if own_stride:
            buffer("own_rows", float32, layers, slots, steps, beam, 3 * d)
            buffer("own_keys", float32, d, own_stride)
            buffer("own_values", float32, own_stride, d)
            buffer("own_places", np.int64, own_stride)
        buffer("best_columns", np.int64, live, beam)
        buffer("best_logits", float32, live, beam)
        buffer("history", records.ITEM, slots, steps, beam)
        buffer("ended", records.ENDED, slots, beam)
        buffer("coverage", float32, stride)
        if attention:
            buffer("attention", float32, slots, steps, beam, stride)
        if not full:
            self._outputs(config, slots, panels)

    def _outputs(self, config, slots, panels):
        """Room for the candidates of each slot, and the LINEAR records over them."""
        columns, scheme = PANEL * panels, records.MULTIPLIED[SCHEMES[config.scheme_of(output_table(config))]]
        pieces = self._buffer(np.int32, slots, columns)
        outputs = np.zeros(slots, records.LINEAR)
        size = records.WEIGHT_BYTES[scheme]
        weights = self._buffer(np.uint8, slots, columns * config.model_dim * size)
        vectors = self._buffer(np.float32, slots, 4, columns)
        outputs["scheme"] = scheme
        outputs["depth"] = config.model_dim
        slot = np.arange(slots)
        outputs["weights"] = weights.ctypes.data + slot * weights.strides[0]
        for i, name in enumerate(("scales", "start", "totals", "bias")):
            outputs[name] = vectors.ctypes.data + slot * vectors.strides[0] + i * vectors.strides[1]
        self._kept.append(outputs)
        fields = self.record[0]
        fields["candidate_ids"], fields["outputs"] = pieces.ctypes.data, outputs.ctypes.data

    def _buffer(self, dtype, *shape):
        """Uninitialized array, aligned to a cache line, with a line to spare at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8)
        self.bytes += memory.nbytes
        begin = -memory.ctypes.data % 64
        array = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array
