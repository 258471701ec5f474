"""Runs a batch in several calls of compiled code; between them Python handles interrupts and calls callbacks."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from cpunmt.engine.program import Program
from cpunmt.engine.workspace import Workspace
from cpunmt.process import stopping
from cpunmt.process.native_calls import native

BUDGET = 256  # rows in the first call of compiled code for a batch; each later one may have twice as many,
LONGEST_CALL = 0.2  # seconds: while calls surely stay shorter than this, because an interrupt waits for them
ONE_STEP = 1  # the budget of a call that ends with the next step


class Step(NamedTuple):
    """A piece that a sentence has just received."""

    sentence: int
    piece: int
    log_prob: float
    is_last: bool  # the translation ends with it


Tell = Callable[[Step], object]  # returns whether the sentence is to end there
Unwanted = Callable[[], Collection[int]]  # sentences to drop


class Made(NamedTuple):
    """The output arrays of compiled code, and their offsets, as in a BATCH record; None for an output that is off."""

    places: array[int]  # output_offsets
    limits: array[int]
    output: array[int]
    lengths: array[int]
    log_probs: array[float]
    scores: array[float]
    token_log_probs: array[float] | None
    attention: np.ndarray | None
    areas: array[int] | None  # attention_offsets
    logits: np.ndarray | None


def run(
    program: Program,
    record: array[int],
    workspace: Workspace,
    made: Made,
    tell: Tell | None,
    unwanted: Unwanted | None,
    prompt: int = 0,
) -> set[int]:
    """Translates a batch, given its BATCH record; returns the sentences that were dropped as unwanted.

    `prompt`: the number of pieces at the beginning of each translation that `tell` is not called with.

    Raises the errors of `process.stopping`. An interrupt is handled between two calls, an exit waits for one.
    """
    batch_at, begin, more = record.buffer_info()[0], 1, True
    budget = BUDGET if tell is None else ONE_STEP
    steps = _Steps(workspace, len(made.limits), prompt)
    dropped: set[int] = set()
    while more:
        stopping.check()
        if unwanted is not None and (named := unwanted()) and not _drop(named, dropped, made):
            record[0] = 0 if begin else int(workspace.record[0]["waiting"])  # sentences that have not begun never do
        began = time.perf_counter()
        with native:
            more = program.translate(batch_at, workspace.address, begin, budget)
        begin = 0
        if tell is not None:
            for step in steps.found():
                if step.sentence not in dropped and tell(step) and not step.is_last:
                    with native:
                        program.stop_sentence(batch_at, workspace.address, step.sentence)
        elif time.perf_counter() - began < LONGEST_CALL / 4:
            budget *= 2
    return dropped


def _drop(named: Collection[int], dropped: set[int], made: Made) -> bool:
    """Ends the named, unfinished sentences with their next step. Returns whether any other is unfinished."""
    ranks = len(made.lengths) // len(made.limits)
    undone = {sentence for sentence, length in enumerate(made.lengths[::ranks]) if not length}
    for sentence in undone.intersection(named) - dropped:
        made.limits[sentence] = 1
        dropped.add(sentence)
    return not undone <= dropped


class _Steps:
    """Yields the pieces of greedily searched sentences, each once."""

    def __init__(self, workspace: Workspace, sentences: int, unsaid: int) -> None:
        """The search must not have begun, and each call of compiled code must make one step.

        `unsaid`: pieces at the beginning of each translation that are left out.
        """
        self._slots, self._history = workspace.sentences, workspace.history
        self._slots["step"] = 0  # of an earlier search
        self._told = [unsaid] * sentences

    def found(self) -> list[Step]:
        """Returns the pieces of the last call, by sentence. Slots that became free in it still hold their last
        values."""
        new = []
        of_slots = zip(*(self._slots[name].tolist() for name in ("sentence", "step", "live")), strict=True)
        for slot, (sentence, step, live) in enumerate(of_slots):
            if step and step > self._told[sentence]:
                self._told[sentence] = step
                item = self._history[slot, step - 1, 0]
                new.append(Step(sentence, int(item["piece"]), float(item["log_prob"]), not live))
        return sorted(new)
