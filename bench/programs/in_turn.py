"""Several programs translate the same lines in turn, so that changes of the machine's speed affect all alike."""

import time
from collections.abc import Hashable, Mapping

from cpunmt import Translator
from cpunmt.engine.program import Program


def seconds_in_turn(
    translator: Translator, programs: Mapping[Hashable, Program], lines: list[str], rounds: int
) -> dict[str, dict[Hashable, list[float]]]:
    """Measures the CPU seconds of all lines: one figure per round, for each mode ("one at a time", "bulk") and program.

    Each program comes first in a round as often as last. Raises RuntimeError if a translation differs.
    """
    engine = translator.loaded.engine
    modes = {
        "one at a time": lambda: [translator.translate(line, split="none") for line in lines],
        "bulk": lambda: translator.translate(lines, split="none"),
    }
    found, own, expected = {}, engine._program, translator.translate(lines, split="none")
    try:
        for mode, run in modes.items():
            found[mode] = {name: [] for name in programs}
            for number in range(rounds + 1):
                for name in list(programs)[:: 1 if number % 2 else -1]:
                    engine._program = programs[name]
                    began = time.process_time()
                    said = run()
                    if number:  # the first round fills the caches
                        found[mode][name].append(time.process_time() - began)
                    if said != expected:
                        raise RuntimeError(f"the translations of {name} differ")
    finally:
        engine._program = own
    return found
