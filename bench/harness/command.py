"""A benchmark as a command: its options, its errors, and the file of its figures."""

import argparse
import contextlib
import json
import platform
from collections.abc import Iterator
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.model.config import MOST_BEAM
from quantize.commands.shared_options import whole
from quantize.evaluation import speed

positive = whole(1, 1_000_000)  # rounds, sentences, rows, threads: with 0 there is nothing to measure
hypotheses = whole(1, MOST_BEAM)


def command(name: str, doc: str | None, *, rounds: int = 0, sentences: int = 0) -> argparse.ArgumentParser:
    """Returns the parser of `python -m NAME`, with --json, and with --rounds and --sentences if they have a default."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=(doc or "").split("\n")[0])
    for option, default in (("--rounds", rounds), ("--sentences", sentences)):
        if default:
            parser.add_argument(option, type=positive, default=default)
    parser.add_argument("--json", help="write the figures there")
    return parser


@contextlib.contextmanager
def one_line_errors(name: str) -> Iterator[None]:
    """Ends the command with one line for a CpunmtError or an OSError."""
    try:
        yield
    except (CpunmtError, OSError) as error:
        raise SystemExit(f"python -m {name}: error: {error}") from None


def machine() -> dict[str, Any]:
    """Returns a description of the machine."""
    return {**speed.machine(), "python": platform.python_version()}


def save(path: str | None, result: dict[str, Any]) -> None:
    """Writes a result as JSON, if a path is given."""
    if path:
        with open(path, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
