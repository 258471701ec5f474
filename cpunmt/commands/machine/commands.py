"""`cpunmt warmup` and `cpunmt doctor`."""

from __future__ import annotations

import argparse
import json

from cpunmt.engine import program
from cpunmt.files.console import is_watched, say, tell
from cpunmt.simd import isa


def warmup_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: the command has only the common arguments."""


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", nargs=0, const=True, help="print the report as JSON")


def warmup(given: argparse.Namespace) -> int:
    if not is_watched() and program.can_compile():
        say(f"cpunmt: compiling for {isa.current().value}, unless that has been done ...")
    where = program.warm_up(program.terminal_progress())
    if where is None:
        return 1  # stderr has said why
    tell(str(where))
    return 0


def doctor(given: argparse.Namespace) -> int:
    """Prints cpunmt's environment and its oddities; returns 1 if there are any."""
    from cpunmt.commands.machine import doctor as examination  # not needed by warmup

    told, odd = examination.examine()
    if given.json:
        tell(json.dumps({"found": told, "odd": odd}))
    else:
        tell(*examination.lines_of(told, odd))
    return 1 if odd else 0
