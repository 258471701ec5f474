"""The memory of one call: allocated before it, carved up here, never touched by two calls at once."""

import numpy as np

from cpunmt import records
from cpunmt.config import ModelConfig
from cpunmt.kernels.packing import PANEL
from cpunmt.simd import isa


class Workspace:
    """`record`: a WORKSPACE record whose buffers live as long as this object.

    Memory is reserved, not used: the operating system gives pages to what a call really touches.
    """

    def __init__(self, config: ModelConfig, slots: int, tokens: int, source: int, candidates: int, full: bool):
        """Room for `slots` sentences side by side, `tokens` source pieces encoded at once, no source longer than
        `source` pieces, and `candidates` target pieces per sentence; `full` for the whole vocabulary instead."""
        self.size = (slots, tokens, source, candidates, full)
        d, layers, sets = config.model_dim, config.decoder_layers, len(set(config.decoder_parameters))
        widest = max(d, config.ffn_dim)
        rows = max(slots, tokens, source)
        stride = -(-source // PANEL) * PANEL
        panels = -(-candidates // PANEL)
        logit_rows = 8 if full else 1
        columns = PANEL * (-(-config.vocab_size // PANEL) if full else panels)
        quantized = config.scheme == "int8"
        self._kept = []
        self.record = np.zeros(1, records.WORKSPACE)
        self.address = self.record.ctypes.data
        fields = self.record[0]
        fields["slots"], fields["tokens"], fields["source_stride"] = slots, tokens, stride
        fields["candidate_panels"], fields["logit_rows"] = panels, logit_rows

        def buffer(name, dtype, *shape):
            fields[name] = self._buffer(dtype, *shape).ctypes.data

        float32 = np.float32
        buffer("x", float32, rows, d)
        buffer("wide", float32, rows, max(config.ffn_dim, 3 * d))
        buffer("y", float32, rows, d)
        buffer("context", float32, rows, d)
        buffer("quantized", np.uint8, rows, isa.activation_planes() * widest)
        buffer("row_scales", float32, rows)
        buffer("scores", float32, max(stride, config.heads), stride)
        buffer("sums", float32, max(stride, config.heads))
        buffer("transposed", float32, config.head_dim, stride)
        buffer("pointers", np.int64, 16)
        buffer("logits", float32, logit_rows, columns)
        buffer("keys", float32, slots, sets, d, stride)
        buffer("values", float32, slots, sets, stride, d)
        buffer("cells", float32, layers, slots, d)
        for name in ("row_slot", "row_sentence", "row_step", "row_previous", "free_slots", "source_lengths", "barred"):
            buffer(name, np.int64, slots)
        marks = self._buffer(np.int64, config.vocab_size // 64 + 1)
        marks[:] = 0
        fields["marks"] = marks.ctypes.data
        if not full:
            self._outputs(config, slots, panels, quantized)

    def _outputs(self, config, slots, panels, quantized):
        """Room for the candidates of each slot, and the LINEAR records over them."""
        columns = PANEL * panels
        pieces = self._buffer(np.int32, slots, columns)
        outputs = np.zeros(slots, records.LINEAR)
        size = 1 if quantized else 4
        weights = self._buffer(np.uint8, slots, columns * config.model_dim * size)
        vectors = self._buffer(np.float32, slots, 3, columns)
        outputs["scheme"] = records.INT8 if quantized else records.FLOAT32
        outputs["depth"] = config.model_dim
        slot = np.arange(slots)
        outputs["weights"] = weights.ctypes.data + slot * weights.strides[0]
        for i, name in enumerate(("scales", "start", "bias")):
            outputs[name] = vectors.ctypes.data + slot * vectors.strides[0] + i * vectors.strides[1]
        self._kept.append(outputs)
        fields = self.record[0]
        fields["candidate_ids"], fields["outputs"] = pieces.ctypes.data, outputs.ctypes.data

    def _buffer(self, dtype, *shape):
        """Uninitialized array, aligned to a cache line, with a line to spare at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8)
        begin = -memory.ctypes.data % 64
        array = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array
