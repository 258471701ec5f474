"""The memory of one call: allocated before it, carved up here, never touched by two calls at once."""

from typing import NamedTuple

import numpy as np

from cpunmt.architectures.families import family_of
from cpunmt.architectures.memory import MemorySize
from cpunmt.architectures.records import ROW
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import output_table
from cpunmt.search.records import ENDED, HYPOTHESIS, ITEM, SLOT, WORKSPACE


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
        full, live, stride = not candidates, slots * beam, -(-source // PANEL) * PANEL
        panels = -(-candidates // PANEL)
        logit_rows = 8 if full else beam
        columns = PANEL * (-(-config.vocab_size // PANEL) if full else panels)
        self._kept, self.bytes = [], 0
        self.record = np.zeros(1, WORKSPACE)
        self.address = self.record.ctypes.data
        fields = self.record[0]
        architecture = config.architecture
        wanted = MemorySize(slots, beam, steps, max(live, tokens, source), stride)
        memory = family_of(architecture).memory(architecture, wanted, self._buffer)
        self._kept.append(memory.record)
        fields["memory"], fields["hidden"] = memory.record.ctypes.data, memory.hidden.ctypes.data
        fields["quantized"], fields["row_scales"] = memory.quantized.ctypes.data, memory.row_scales.ctypes.data
        fields["slots"], fields["beam"], fields["steps"], fields["tokens"] = slots, beam, steps, tokens
        fields["source_stride"], fields["candidate_panels"], fields["logit_rows"] = stride, panels, logit_rows

        def buffer(name, dtype, *shape):
            array = self._buffer(dtype, *shape)
            fields[name] = array.ctypes.data
            return array

        float32 = np.float32
        buffer("pointers", np.int64, PANEL)
        buffer("logits", float32, logit_rows, columns)
        buffer("marks", np.int64, config.vocab_size // 64 + 1)[:] = 0
        for name in ("free_slots", "begun", "active"):
            buffer(name, np.int64, slots)
        buffer("sentences", SLOT, slots)
        for turn in ("", "next_"):
            buffer(turn + "rows", ROW, live)
            buffer(turn + "hypotheses", HYPOTHESIS, live)
        buffer("best_columns", np.int64, live, beam)
        buffer("best_logits", float32, live, beam)
        buffer("history", ITEM, slots, steps, beam)
        buffer("ended", ENDED, slots, beam)
        buffer("coverage", float32, stride)
        if attention:
            buffer("attention", float32, slots, steps, beam, stride)
        if not full:
            self._outputs(config, slots, panels)

    def _outputs(self, config, slots, panels):
        """Room for the candidates of each slot, and the LINEAR records over them."""
        columns, scheme = PANEL * panels, records.MULTIPLIED[SCHEMES[config.scheme_of(output_table(config))]]
        sizes = {"weights": (np.uint8, columns * config.architecture.model_dim * records.WEIGHT_BYTES[scheme])}
        sizes |= dict.fromkeys(("scales", "start", "totals", "bias"), (np.float32, columns))
        outputs = np.zeros(slots, records.LINEAR)
        outputs["scheme"], outputs["depth"] = scheme, config.architecture.model_dim
        for name, (dtype, size) in sizes.items():
            array = self._buffer(dtype, slots, size)
            outputs[name] = array.ctypes.data + np.arange(slots) * array.strides[0]
        self._kept.append(outputs)
        fields = self.record[0]
        fields["candidate_ids"] = self._buffer(np.int32, slots, columns).ctypes.data
        fields["outputs"] = outputs.ctypes.data

    def _buffer(self, dtype, *shape):
        """Uninitialized array, aligned to a cache line, with a line to spare at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8)
        self.bytes += memory.nbytes
        begin = -memory.ctypes.data % 64
        array = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array
