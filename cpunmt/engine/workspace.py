"""The memory of one call: allocated before it, divided here, and used by one call at a time."""

import mmap
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cpunmt.architectures.families import family_of
from cpunmt.architectures.memory import Allocate, MemorySize, place
from cpunmt.architectures.records import ROW
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, output_table
from cpunmt.search.records import ENDED, FUSED_ROWS, HYPOTHESIS, ITEM, LOGITS, MEMBER, SLOT, WORKSPACE
from cpunmt.simd import isa

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
    bounded: int = 0  # 1: for search.bounded_output
    together: int = 0  # 1: slots share an output layer of common candidates


class Workspace:
    """`record`: a WORKSPACE record whose buffers, `bytes` in all, live as long as it does.

    Two of them are `history` and `sentences`.
    `memories` are the records of the architectures, one of each model.

    Memory is only reserved: the operating system provides the pages that a call touches.
    """

    def __init__(self, members: Sequence[Member], size: Size) -> None:
        from cpunmt.simd import tile_shapes  # imported by engines, not by all importers of this module

        self.size = size
        config = members[0].model.config  # all have its pieces
        slots, beam, steps, tokens, source, candidates, attention, by_row, bounded, together = size
        full, live, stride = not candidates, slots * beam, -(-source // PANEL) * PANEL
        panels = -(-candidates // PANEL)
        everything = -(-config.vocab_size // PANEL)
        shared = min(slots * panels, everything) + 1
        logit_rows = LOGIT_ROWS if full or together else 1 if by_row else beam
        columns = PANEL * (everything if full else shared if together else panels)
        layers = (slots, panels)
        if together:  # they are parts of one
            others = min(slots * panels, everything) if tile_shapes.COMMON_SHARE > 0 else 0
            layers = (1, shared + others)
        self._kept: list[np.ndarray] = []
        self.bytes = 0
        self.record = np.zeros(1, WORKSPACE)
        self.address = self.record.ctypes.data
        fields: Any = self.record[0]
        wanted = MemorySize(slots, beam, steps, max(live, tokens, source), stride)
        self.memories: list[np.ndarray] = []
        searching: Any = np.zeros(len(members), MEMBER)
        for member, part in zip(members, searching, strict=True):
            self._member(part, member, wanted, None if full or by_row else layers, bool(together))
        self._kept.append(searching)
        fields["models"], fields["members"] = len(members), searching.ctypes.data
        fields["slots"], fields["beam"], fields["steps"], fields["tokens"] = slots, beam, steps, tokens
        fields["source_stride"], fields["candidate_panels"], fields["logit_rows"] = stride, panels, logit_rows

        buffer, float32 = partial(place, self._buffer, fields), np.float32
        buffer("pointers", np.int64, PANEL)
        buffer("logits", float32, max(len(members) * logit_rows * columns, LOGITS, FUSED_ROWS * records.BLOCK))
        buffer("wanted", records.WANTED, live)
        buffer("weights", float32, columns)
        if bounded:
            possible: Any = buffer("possible", records.POSSIBLE, live)
            for name, kind in (("pieces", np.int32), ("most", float32)):
                lists = self._buffer(kind, live, columns)
                possible[name] = lists.ctypes.data + lists.strides[0] * np.arange(live)
            buffer("ended_wanted", records.WANTED, FUSED_ROWS)
            buffer("output_rows", np.uint8, slots, steps, isa.activation_planes() * config.architecture.model_dim)
            buffer("output_scales", float32, slots, steps, 2)
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
        if by_row or together:
            buffer("own_counts", np.int64, live)
            buffer("own_logits", float32, live, records.BLOCK)
        if by_row == 2:
            buffer("row_pieces", np.int32, live, PANEL * panels)
        if not full and by_row != 1:
            fields["together"], fields["room_panels"] = together, layers[1]
            fields["common_share"] = tile_shapes.COMMON_SHARE
            buffer("candidate_ids", np.int32, slots, PANEL * panels)
            if together:
                buffer("common_ids", np.int32, PANEL * shared)
                buffer("places", np.int32, config.vocab_size)[:] = -1
                buffer("other_ids", np.int32, PANEL * panels)
                buffer("columns", np.int32, slots, PANEL * panels)
                buffer("other_logits", float32, len(members), logit_rows, PANEL * panels)
                buffer("other_rows", np.int64, live)
                buffer("both", float32, PANEL * (shared + panels))
                buffer("picked", float32, 2, PANEL * panels)

    def _member(
        self, fields: Any, member: Member, wanted: MemorySize, layers: tuple[int, int] | None, parts: bool
    ) -> None:
        """Fills in a MEMBER record.

        `layers`: (number of its own output layers, panels of each); `parts`: there is one, behind parts of it.
        """
        config = member.model.config
        memory = family_of(config.architecture).memory(config.architecture, wanted, self._buffer)
        self.memories.append(memory.record)
        fields["model"], fields["weight"] = member.model.record.ctypes.data, member.weight
        fields["memory"], fields["hidden"] = memory.record.ctypes.data, memory.hidden.ctypes.data
        fields["quantized"], fields["row_scales"] = memory.quantized.ctypes.data, memory.row_scales.ctypes.data
        fields["room"] = memory.room.ctypes.data
        if layers:
            outputs = output_layers(config, *layers, self._buffer)
            if parts:
                outputs = np.concatenate([np.zeros(wanted.slots + 1, records.LINEAR), outputs])
                outputs["panels"] = layers[1]
            self._kept.append(outputs)
            fields["outputs"] = outputs.ctypes.data

    def _buffer(self, dtype: Any, *shape: int) -> np.ndarray:
        """Returns an uninitialized array, aligned to a cache line, with a spare line at the end."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + 128, np.uint8) if size < _PAGES else _own_pages(size + 128)
        self.bytes += memory.nbytes
        begin = -memory.ctypes.data % 64
        array: np.ndarray = memory[begin : begin + size].view(dtype).reshape(shape)
        self._kept.append(array)
        return array


def _own_pages(size: int) -> np.ndarray:
    """Maps `size` bytes of memory, which the system takes back with the array: uint8 [size]."""
    private: dict[str, Any] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    pages = mmap.mmap(-1, size, **private)  # otherwise a forked child would write to the same pages
    if size >= _HUGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy does
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)


def multiplied(config: ModelConfig) -> str:
    """Returns the type of the integers that the output layer multiplies."""
    return SCHEMES[config.scheme_of(output_table(config))]


def output_layers(
    config: ModelConfig, count: int, panels: int, allocate: Allocate, weight_bytes: int | None = None
) -> np.ndarray:
    """Makes LINEAR [count], each with room for `panels` panels of the output layer, which `gather_output` fills in."""
    scheme, depth = records.MULTIPLIED[multiplied(config)], config.architecture.model_dim
    weight_bytes = weight_bytes or PANEL * panels * depth * records.WEIGHT_BYTES[scheme]
    sizes: dict[str, tuple[Any, int]] = {"weights": (np.uint8, weight_bytes)}
    sizes |= dict.fromkeys(("scales", "start", "totals", "bias"), (np.float32, PANEL * panels))
    found = np.zeros(count, records.LINEAR)
    found["scheme"], found["depth"] = scheme, depth
    for name, (dtype, size) in sizes.items():
        array = allocate(dtype, count, size)
        found[name] = array.ctypes.data + np.arange(count) * array.strides[0]
    return found
