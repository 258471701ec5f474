"""`cpunmt warmup` and `cpunmt doctor`."""

import functools
import json

from cpunmt.engine import program
from cpunmt.files.console import is_watched, progress_bar, say, tell
from cpunmt.simd import isa


def add_commands(commands):
    """Add both commands to an argparse object of subcommands."""
    warm_up = commands.add_parser(
        "warmup",
        help="compile now what the first translation would compile",
        description="Compile the program for this very processor, unless that has been done, and print where it is "
        "kept. Without Numba: print where the program is that came with the wheel.",
    )
    warm_up.set_defaults(run=_warm_up)

    doctor = commands.add_parser(
        "doctor",
        help="tell what cpunmt runs on here, whether it is right and fast, and what to do where not",
        description="Tell versions, the processor and the path that is taken, which compiled program runs and where it "
        "came from, whether its results are those of every processor, and its speed in a test of two seconds. Exit "
        "status 1 if something is odd: then the last lines say what to do.",
    )
    doctor.add_argument("--json", nargs=0, const=True, help="the same for programs")
    doctor.set_defaults(run=_doctor)


def _warm_up(given) -> int:
    progress = iter
    if is_watched():
        progress = functools.partial(progress_bar, desc="compiling", unit=" kernels")
    elif program.can_compile():
        say(f"cpunmt: compiling for {isa.current().value}, unless that has been done ...")
    where = program.warm_up(progress)
    if where is None:
        return 1  # stderr has said why
    tell(str(where))
    return 0


def _doctor(given) -> int:
    from cpunmt.commands.machine import doctor  # what no other command needs

    told, odd = doctor.examine()
    if given.json:
        tell(json.dumps({"found": told, "odd": odd}))
    else:
        tell(*doctor.lines_of(told, odd))
    return 1 if odd else 0
