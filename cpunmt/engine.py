"""Ids in, ids out: one compiled call per batch, and the memory it needs."""

import threading
from typing import NamedTuple

import numpy as np

from cpunmt import program, records
from cpunmt.kernels.packing import GROUP, PANEL, panels
from cpunmt.model import Model
from cpunmt.search.workspace import Workspace

SLOTS = 64  # sentences decoded side by side
TOKENS = 96  # source pieces encoded at once: enough rows for full speed, few enough for the second cache


class Translation(NamedTuple):
    """One translated sentence."""

    ids: np.ndarray  # int32: target pieces, with the final </s> unless the length limit cut it off
    log_prob: float  # sum over the pieces, </s> included
    truncated: bool  # the length limit was reached


class Engine:
    """Runs a Model, with or without a Shortlist. Safe to share between threads: memory belongs to a call."""

    def __init__(self, model: Model, shortlist=None):
        """`shortlist` has `first`, `offsets` (int64 [words + 1]) and `ids` (int32)."""
        self.model = model
        self.shortlist = shortlist
        self._program = program.load()
        self._workspaces = []  # of finished calls: append and pop are atomic
        self._full_output = None
        self._lock = threading.Lock()

    def translate(self, sources: list, limits: list[int], full: bool = False, slots: int = SLOTS) -> list[Translation]:
        """Greedy translations, in order.

        Parameters
        ----------
        sources : one sequence of source ids per sentence, each with its final </s>
        limits : at most this many target ids for each, </s> included
        full : score the whole vocabulary, not the shortlist's candidates
        """
        if not sources:
            return []
        full = full or self.shortlist is None
        lengths = np.fromiter(map(len, sources), np.int64, len(sources))
        offsets = np.zeros(len(sources) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        ids = np.empty(offsets[-1], np.int32)
        for source, begin in zip(sources, offsets, strict=False):
            ids[begin : begin + len(source)] = source
        output_offsets = np.zeros(len(sources) + 1, np.int64)
        limits = np.asarray(limits, np.int64)
        np.cumsum(limits, out=output_offsets[1:])
        self.model.reserve_positions(int(max(limits.max(), lengths.max())))

        output = np.empty(output_offsets[-1], np.int32)
        written = np.zeros(len(sources), np.int64)
        log_probs = np.zeros(len(sources), np.float32)
        batch = np.zeros(1, records.BATCH)
        fields = batch[0]
        fields["sentences"] = len(sources)
        fields["ids"], fields["offsets"], fields["limits"] = ids.ctypes.data, offsets.ctypes.data, limits.ctypes.data
        fields["output_offsets"], fields["output"] = output_offsets.ctypes.data, output.ctypes.data
        fields["lengths"], fields["log_probs"] = written.ctypes.data, log_probs.ctypes.data
        candidates = 0
        if full:
            fields["full_output"] = self._output()
        else:
            fields["shortlist"] = self._shortlist_record()
            candidates = self._most_candidates(ids, offsets)
        workspace = self._workspace(min(slots, len(sources)), int(lengths.max()), candidates, full)
        self._program.translate_greedy(self.model.record, batch, workspace.record)
        self._workspaces.append(workspace)

        eos = self.model.config.eos_id
        results = []
        for begin, count, log_prob in zip(output_offsets.tolist(), written.tolist(), log_probs.tolist(), strict=False):
            piece_ids = output[begin : begin + count]
            results.append(Translation(piece_ids, log_prob, int(piece_ids[-1]) != eos))
        return results

    def _shortlist_record(self):
        table = self.shortlist
        shared = int(self.model.config.shared_vocabulary)
        return (table.offsets.ctypes.data, table.ids.ctypes.data, table.first, len(table.offsets) - 1, shared)

    def _most_candidates(self, ids, offsets) -> int:
        """No sentence of the batch has more candidates than this."""
        table = self.shortlist
        words = len(table.offsets) - 1
        known = np.minimum(ids, words - 1)
        per_piece = table.offsets[known + 1] - table.offsets[known] + 1
        most = np.add.reduceat(per_piece, offsets[:-1]).max()
        return int(min(table.first + most + 8, self.model.config.vocab_size + 8))

    def _workspace(self, slots, source, candidates, full) -> Workspace:
        """One that no call uses, at least as large as asked for."""
        wanted = (slots, min(TOKENS, max(source, slots * 8)), source, candidates, full)
        try:
            workspace = self._workspaces.pop()
            have = workspace.size
            if have[4] == full and all(h >= w for h, w in zip(have, wanted, strict=True)):
                return workspace
            wanted = tuple(max(h, w) for h, w in zip(have, wanted, strict=True))[:4] + (full,)
        except IndexError:
            pass
        slots, tokens, source, candidates, full = wanted
        return Workspace(self.model.config, slots, tokens, -(-source // 32) * 32, -(-candidates // 256) * 256, full)

    def _output(self):
        """LINEAR record of the output layer over the whole vocabulary; packed on first use."""
        with self._lock:
            if self._full_output is None:
                self._full_output = self._pack_output()
            return self._full_output[0]

    def _pack_output(self):
        config = self.model.config
        count = panels(config.vocab_size)
        quantized = config.scheme == "int8"
        shape = (count, config.model_dim // GROUP, PANEL, GROUP) if quantized else (count, config.model_dim, PANEL)
        weights = np.empty(shape, np.int8 if quantized else np.float32)
        vectors = np.empty((3, count * PANEL), np.float32)
        record = np.zeros(1, records.LINEAR)
        addresses = [weights.ctypes.data] + [vector.ctypes.data for vector in vectors]
        record[0] = (records.INT8 if quantized else records.FLOAT32, config.model_dim, count, *addresses)
        embedding = self.model.record["embedding"]
        pointers = np.empty(PANEL, np.int64)
        self._program.gather_output(embedding, 0, config.vocab_size, config.model_dim, pointers, record)
        return record[0], weights, vectors
