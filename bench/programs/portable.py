"""A wheel's program beside one tuned for this processor: taskset -c 1 python -m bench.programs.portable

    --model DIR     a packed model (default: models/ende-tiny)
    --input FILE    lines, or lines with tabs whose first column is taken (default: tests/golden/sentences.en.txt)
    --programs DIR  the output of tools.programs (default: cpunmt/engine/prebuilt)

Both in one process, in turn, for this process's path (CPUNMT_ISA); CPU time, the same translations. The tuned program
is that of `cpunmt warmup`, compiled here if it is missing.
"""

import statistics
from pathlib import Path

from bench.harness.command import command, machine, one_line_errors, save
from bench.harness.texts import SENTENCES, SHIPPED, sentences_of
from bench.programs.in_turn import seconds_in_turn
from cpunmt import Translator
from cpunmt.engine import prebuilt, program, program_files
from cpunmt.errors import CpunmtError
from cpunmt.simd import isa


def programs() -> dict[str, program.Program]:
    """Returns the portable and the tuned program."""
    try:
        found = prebuilt.find(isa.current())
    except prebuilt.Unfit as error:
        raise CpunmtError(f"{error}: python -m tools.programs builds them") from None
    tuned = program_files.read(program.warm_up() or Path())
    if tuned is None:
        raise CpunmtError("the tuned program cannot be kept")
    return {
        "portable": program.Program(found.code, found.signatures, "prebuilt", found.path),
        "tuned": program.of_file(tuned, "cached"),
    }


def measure(translator: Translator, lines: list[str], rounds: int) -> dict:
    """Measures, for each mode, the median time of both programs and the median ratio of neighbours."""
    found = {}
    for mode, seconds in seconds_in_turn(translator, programs(), lines, rounds).items():
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        ratios = [a / b for a, b in zip(seconds["portable"], seconds["tuned"], strict=True)]
        found[mode] = {
            **medians,
            "ratio": medians["portable"] / medians["tuned"],
            "ratio of neighbours": statistics.median(ratios),
        }
    return found


def main(arguments=None):
    """Runs the command."""
    parser = command("bench.programs.portable", __doc__, rounds=20, sentences=100)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--programs", type=Path, default=prebuilt.FOLDER)
    chosen = parser.parse_args(arguments)
    prebuilt.FOLDER = chosen.programs
    with one_line_errors("bench.programs.portable"):
        lines = sentences_of(chosen.input, chosen.sentences)
        figures = measure(Translator(chosen.model), lines, chosen.rounds)
    print(machine())
    for mode, one in figures.items():
        told = "   ".join(f"{name} {one[name] * 1e3:.1f} ms" for name in ("portable", "tuned"))
        print(f"{mode:14} {told}   portable / tuned: {one['ratio']:.3f} ({one['ratio of neighbours']:.3f})")
    save(chosen.json, {"machine": machine(), "modes": figures})


if __name__ == "__main__":
    main()
