"""The memory of one call, which is allocated before the call and used by one call at a time."""

import mmap
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.architectures.families import family_of
from cpunmt.architectures.memory import MemorySize
from cpunmt.architectures.records import ROW
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ModelConfig
from cpunmt.model.model import Model
from cpunmt.model.tensors import output_table
from cpunmt.search.records import ENDED, FUSED_ROWS, HYPOTHESIS, ITEM, LOGITS, MEMBER, SLOT, WORKSPACE

LOGIT_ROWS = 16  # rows that share an output layer and are scored at once
# Bytes. Larger buffers get their own pages from the system: on the C library's heap, memory allocated between them
# would keep the heap from shrinking.
_PAGES, _HUGE_PAGES = 1 << 18, 1 << 22


class Member(NamedTuple):
    """One of the models that search together."""

    model: Model
    weight: float = 1.0  # of its log-probabilities; all weights add up to 1


class Size(NamedTuple):
    """The capacity of a Workspace."""

    slots: int  # sentences decoded in parallel
    beam: int  # hypotheses of each
    steps: int  # pieces of each
    tokens: int  # source pieces encoded at once
    source: int  # pieces of the longest source
    candidates: int  # the most target pieces a sentence chooses from; 0: the whole vocabulary
    attention: int  # 1: attention is stored
    by_row: int = 0  # 1: each hypothesis has its own candidates, 2: and its sentence's


class Workspace:
    """A WORKSPACE `record` with its buffers, `bytes` in all, which live as long as this object.

    Two of the buffers are `history` and `sentences`. `memories` are the records of the architectures, one for each
    model.

    Memory is only reserved: the operating system provides the pages that a call touches.
    """

    def __init__(self, members: Sequence[Member], size: Size):
        from cpunmt.simd import tile_shapes  # imported by engines, not by all importers of this module

        self.size = size
        config = members[0].model.config  # all have its pieces
        slots, beam, steps, tokens, source, candidates, attention, by_row = size
        full, live, stride = not candidates, slots * beam, -(-source // PANEL) * PANEL
        panels = -(-candidates // PANEL)
        everything = -(-config.vocab_size // PANEL)
        # One output layer for the candidates of all slots is a product of many rows, used if such products are fast.
        multiplied = {_multiplied(member.model.config) for member in members}
        shared_by = slots if not full and not by_row and multiplied == {"int8"} else 1
        together = int(shared_by > 1 and beam <= tile_shapes.TOGETHER)
        shared = min(slots * panels, everything) + 1
        logit_rows = LOGIT_ROWS if full or together else 1 if by_row else beam
        columns = PANEL * (everything if full else shared if together else panels)
        self._kept, self.bytes = [], 0
        self.record = np.zeros(1, WORKSPACE)
        self.address = self.record.ctypes.data
        fields = self.record[0]
        wanted = MemorySize(slots, beam, steps, max(live, tokens, source), stride)
        layers = (1, shared) if together else (slots, panels)
        self.memories, searching = [], np.zeros(len(members), MEMBER)
        for member, part in zip(members, searching, strict=True):
            self._member(part, member, wanted, None if full or by_row else layers)
        self._kept.append(searching)
        fields["models"], fields["members"] = len(members), searching.ctypes.data
        fields["slots"], fields["beam"], fields["steps"], fields["tokens"] = slots, beam, steps, tokens
        fields["source_stride"], fields["candidate_panels"], fields["logit_rows"] = stride, panels, logit_rows

        def buffer(name, dtype, *shape):
            array = self._buffer(dtype, *shape)
            fields[name] = array.ctypes.data
            return array

        float32 = np.float32
        buffer("pointers", np.int64, PANEL)
        buffer("logits", float32, max(len(members) * logit_rows * columns, LOGITS, FUSED_ROWS * records.BLOCK))
        buffer("wanted", records.WANTED, live)
        buffer("weights", float32, columns)
        buffer("marks", np.int64, config.vocab_size // 64 + 1)[:] = 0
        for name in ("free_slots", "begun", "active"):
            buffer(name, np.int64, slots)
        self.sentences = buffer("sentences", SLOT, slots)
        for turn in ("", "next_"):
            buffer(turn + "rows", ROW, live)
            buffer(turn + "hypotheses", HYPOTHESIS, live)
        buffer("best_columns", np.int64, live, beam)
        buffer("best_logits", float32, live, beam)
        self.history = buffer("history", ITEM, slots, steps, beam)
        buffer("ended", ENDED, slots, beam)
        buffer("coverage", float32, stride)
        buffer("totals", float32, beam, beam)
        buffer("others", np.int32, beam)
        buffer("said", np.int32, steps)
        buffer("said_logits", float32, steps)
        if attention:
            buffer("attention", float32, slots, steps, beam, stride)
        if attention and len(members) > 1:
            buffer("own_attention", float32, live, stride)
        if by_row:
            buffer("own_counts", np.int64, live)
        if by_row == 2:
            buffer("row_pieces", np.int32, live, PANEL * panels)
        if not full and by_row != 1:
            fields["together"] = together
            buffer("candidate_ids", np.int32, slots, PANEL * panels)
            if together:
                buffer("united_ids", np.int32, PANEL * shared)
                buffer("places", np.int32, config.vocab_size)
                buffer("columns", np.int32, slots, PANEL * panels)
                buffer("picked", float32, 2, PANEL * panels)
                buffer("own_counts", np.int64, live)
                buffer("own_logits", float32, live, records.BLOCK)

    def _member(self, fields, member, wanted, layers):
        """Fills in a MEMBER record. `layers`: (number of its own output layers, panels of each)."""
        config = member.model.config
        memory = family_of(config.architecture).memory(config.architecture, wanted, self._buffer)
        self.memories.append(memory.record)
        fields["model"], fields["weight"] = member.model.record.ctypes.data, member.weight
        fields["memory"], fields["hidden"] = memory.record.ctypes.data, memory.hidden.ctypes.data
        fields["quantized"], fields["row_scales"] = memory.quantized.ctypes.data, memory.row_scales.ctypes.data
        if layers:
            outputs = output_layers(config, *layers, self._buffer)
            self._kept.append(outputs)
            fields["outputs"] = outputs.ctypes.data

    def _buffer(self, dtype, *shape):
        """Returns an uninitialized array, aligned to a cache line, with a spare line at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8) if size < _PAGES else _own_pages(size + 128)
        self.bytes += memory.nbytes
        begin = -memory.ctypes.data % 64
        array = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array


def _own_pages(size: int) -> np.ndarray:
    """Maps `size` bytes of memory as uint8 [size]; the system frees them with the array."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    pages = mmap.mmap(-1, size, **private)  # otherwise a forked child would write to the same pages
    if size >= _HUGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy does
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)


def _multiplied(config: ModelConfig) -> str:
    """Returns the type of the integers that the output layer multiplies."""
    return SCHEMES[config.scheme_of(output_table(config))]


def output_layers(config: ModelConfig, count: int, panels: int, allocate: Callable) -> np.ndarray:
    """Makes LINEAR [count], each with room for `panels` panels of the output layer, which `gather_output` fills in.

    `allocate(dtype, *shape)` returns an uninitialized array that lives as long as they do.
    """
    scheme, depth = records.MULTIPLIED[_multiplied(config)], config.architecture.model_dim
    sizes = {"weights": (np.uint8, PANEL * panels * depth * records.WEIGHT_BYTES[scheme])}
    sizes |= dict.fromkeys(("scales", "start", "totals", "bias"), (np.float32, PANEL * panels))
    found = np.zeros(count, records.LINEAR)
    found["scheme"], found["depth"] = scheme, depth
    for name, (dtype, size) in sizes.items():
        array = allocate(dtype, count, size)
        found[name] = array.ctypes.data + np.arange(count) * array.strides[0]
    return found
