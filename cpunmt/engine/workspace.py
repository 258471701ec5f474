"""The memory of one call: allocated before it, carved up here, never touched by two calls at once."""

from collections.abc import Callable
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

LOGIT_ROWS = 16  # that share an output layer and are scored at once


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
    """`record`: a WORKSPACE record whose buffers, `bytes` in all, one of them `history`, live as long as it does.

    `memory` is the architecture's record.

    Memory is reserved, not used: the operating system gives pages to what a call really touches.
    """

    def __init__(self, config: ModelConfig, size: Size):
        from cpunmt.simd import tile_shapes  # which an engine has imported, not those who import this module

        self.size = size
        slots, beam, steps, tokens, source, candidates, attention = size
        full, live, stride = not candidates, slots * beam, -(-source // PANEL) * PANEL
        panels = -(-candidates // PANEL)
        everything = -(-config.vocab_size // PANEL)
        # One output layer for the candidates of all slots is a product of many rows: where those are fast.
        multiplied = SCHEMES[config.scheme_of(output_table(config))]
        together = int(not full and slots > 1 and beam <= tile_shapes.TOGETHER and multiplied == "int8")
        shared = min(slots * panels, everything) + 1
        logit_rows = LOGIT_ROWS if full or together else beam
        columns = PANEL * (everything if full else shared if together else panels)
        self._kept, self.bytes = [], 0
        self.record = np.zeros(1, WORKSPACE)
        self.address = self.record.ctypes.data
        fields = self.record[0]
        architecture = config.architecture
        wanted = MemorySize(slots, beam, steps, max(live, tokens, source), stride)
        memory = family_of(architecture).memory(architecture, wanted, self._buffer)
        self.memory = memory.record
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
        self.history = buffer("history", ITEM, slots, steps, beam)
        buffer("ended", ENDED, slots, beam)
        buffer("coverage", float32, stride)
        if attention:
            buffer("attention", float32, slots, steps, beam, stride)
        if not full:
            outputs = (
                output_layers(config, 1, shared, self._buffer)
                if together
                else output_layers(config, slots, panels, self._buffer)
            )
            self._kept.append(outputs)
            fields["outputs"], fields["together"] = outputs.ctypes.data, together
            buffer("candidate_ids", np.int32, slots, PANEL * panels)
            if together:
                buffer("united_ids", np.int32, PANEL * shared)
                buffer("places", np.int32, config.vocab_size)
                buffer("columns", np.int32, slots, PANEL * panels)
                buffer("picked", float32, PANEL * panels)

    def _buffer(self, dtype, *shape):
        """Uninitialized array, aligned to a cache line, with a line to spare at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8)
        self.bytes += memory.nbytes
        begin = -memory.ctypes.data % 64
        array = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array


def output_layers(config: ModelConfig, count: int, panels: int, allocate: Callable) -> np.ndarray:
    """LINEAR [count], each with room for so many panels of the output layer, which `gather_output` fills in.

    `allocate(dtype, *shape)` gives an uninitialized array that lives as long as they do.
    """
    scheme, depth = records.MULTIPLIED[SCHEMES[config.scheme_of(output_table(config))]], config.architecture.model_dim
    sizes = {"weights": (np.uint8, PANEL * panels * depth * records.WEIGHT_BYTES[scheme])}
    sizes |= dict.fromkeys(("scales", "start", "totals", "bias"), (np.float32, PANEL * panels))
    found = np.zeros(count, records.LINEAR)
    found["scheme"], found["depth"] = scheme, depth
    for name, (dtype, size) in sizes.items():
        array = allocate(dtype, count, size)
        found[name] = array.ctypes.data + np.arange(count) * array.strides[0]
    return found
