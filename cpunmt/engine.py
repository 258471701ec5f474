"""Ids in, ids out: one compiled call per batch, and the memory it needs."""

import itertools
import threading
from typing import NamedTuple

import numpy as np

from cpunmt import program, records
from cpunmt.kernels.packing import GROUP, PANEL, panels
from cpunmt.model import Model
from cpunmt.search.workspace import Workspace

SLOTS = 16  # sentences decoded side by side: with more, their keys, values and candidates leave the second cache
TOKENS = 96  # source pieces encoded at once: enough rows for full speed, few enough for the second cache


class Translation(NamedTuple):
    """One translated sentence."""

    ids: list[int]  # target pieces, with the final </s> unless the length limit cut it off
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
        self._model_at = _address(model.record)
        if shortlist is not None:
            shared = int(model.config.shared_vocabulary)
            words = len(shortlist.offsets) - 1
            self._shortlist_fields = [
                _address(shortlist.offsets),
                _address(shortlist.ids),
                shortlist.first,
                words,
                shared,
            ]
            self._longest_list = int(np.diff(shortlist.offsets).max())

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
        lengths = [len(source) for source in sources]
        longest = max(lengths)
        self.model.reserve_positions(max(longest, *limits))
        # Python talks to one sentence at a time for some 50 us: few and plain objects keep it at that
        count = len(sources)
        ids = np.array([i for source in sources for i in source], np.int32)
        offsets = [0, *itertools.accumulate(lengths)]
        places = [0, *itertools.accumulate(limits)]
        numbers = np.array([*offsets, *limits, *places, *lengths], np.int64)  # `lengths` is overwritten
        output = np.empty(places[-1], np.int32)
        log_probs = np.empty(count, np.float32)
        first = _address(numbers)
        places_at = first + 8 * (2 * count + 1)
        batch = [count, _address(ids), first, first + 8 * (count + 1), places_at, _address(output)]
        batch += [places_at + 8 * (count + 1), _address(log_probs)]
        batch += [0] * 5 + self._output() if full else self._shortlist_fields + [0] * 7
        candidates = 0 if full else self._most_candidates(longest)
        workspace = self._workspace(min(slots, count), longest, candidates, full)
        record = np.array(batch, np.int64)  # a BATCH record, whose fields are all int64
        self._program.translate_greedy(self._model_at, _address(record), workspace.address)
        self._workspaces.append(workspace)

        eos = self.model.config.eos_id
        results = []
        for place, written, log_prob in zip(places, numbers[-count:].tolist(), log_probs.tolist(), strict=False):
            pieces = output[place : place + written].tolist()
            results.append(Translation(pieces, log_prob, pieces[-1] != eos))
        return results

    def _most_candidates(self, longest: int) -> int:
        """No sentence of `longest` pieces has more candidates than this."""
        most = self.shortlist.first + (self._longest_list + 1) * longest + records.CANDIDATES_MULTIPLE
        return min(most, self.model.config.vocab_size + records.CANDIDATES_MULTIPLE)

    def _workspace(self, slots, source, candidates, full) -> Workspace:
        """One that no call uses, at least as large as asked for."""
        wanted = (slots, min(TOKENS, max(source, slots * 8)), source, candidates, full)
        try:
            workspace = self._workspaces.pop()
            have = workspace.size
            if have[4] == full and all(h >= w for h, w in zip(have, wanted, strict=True)):
                return workspace
            wanted = (*[max(h, w) for h, w in zip(have[:4], wanted[:4], strict=True)], full)
        except IndexError:
            pass
        slots, tokens, source, candidates, full = wanted
        return Workspace(self.model.config, slots, tokens, -(-source // 32) * 32, -(-candidates // 256) * 256, full)

    def _output(self):
        """Fields of the LINEAR record of the output layer over the whole vocabulary; packed on first use."""
        with self._lock:
            if self._full_output is None:
                self._full_output = self._pack_output()
            return list(self._full_output[0].item())

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


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]  # a third of the time of array.ctypes.data
