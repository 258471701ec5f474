"""Self-attention that multiplies earlier positions again, as the paper's baseline does.

Its decoder, Marian 1.7, keeps the inputs of each layer, and at each step makes keys and values of all of them. Ours
keeps keys and values, so a step multiplies one position. `ProjectingAgain` does both: our translation, and at each step
the products of the earlier positions, whose results are not used (without their quantization, which would add to them).
"""

from collections.abc import Callable

import numpy as np

from bench.operands import Arena, quantize
from bench.papers.wngt2019.workload import Workload
from bench.programs import compiled
from cpunmt import Translator


class ProjectingAgain:
    """Products of earlier positions, for int8 models of one shape."""

    def __init__(self, translator: Translator) -> None:
        architecture = translator.loaded.config.architecture
        self._translator, self._program, self._arena = translator, compiled.load(), Arena()
        self._depth, self._layers = architecture.model_dim, architecture.decoder_sets
        self._linears = self._arena.linears("int8", [(self._depth, 2 * self._depth)] * self._layers)

    def work(self, work: Workload) -> Callable[[], None]:
        """Returns a function that translates all batches in this way."""
        translate = work.pruned(self._translator)
        rows = [count for batch in lengths(translate()) for count in earlier_positions(batch)]
        most, depth, arena, program = max(rows), self._depth, self._arena, self._program
        x, out = arena.normal(most * depth), arena.zeros(most * 2 * depth)
        q, scales = arena.zeros(2 * most * depth, np.uint8), arena.zeros(2 * most)
        quantize(program, "int8", x, most, depth, q, scales)

        def run() -> None:
            translate()
            for count in rows:
                program.repeat_linears(1, self._linears, self._layers, q, scales, x, count, out)

        return run


def lengths(results) -> list[list[int]]:
    """Returns the number of steps of each sentence, by batch, for the results of `Workload.pruned`."""
    batches = [batch if isinstance(batch, list) else [batch] for batch in results]
    return [[len(result.pieces) + 1 for result in batch] for batch in batches]


def earlier_positions(steps: list[int]) -> list[int]:
    """Returns the rows of the products of each step but the first: earlier positions of all sentences that are left."""
    return [step * sum(length > step for length in steps) for step in range(1, max(steps))]
