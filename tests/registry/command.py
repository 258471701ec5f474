"""Running `cpunmt ls` and `cpunmt fetch`: in this process, and in another one."""

import subprocess
import sys

from cpunmt.commands.cli import command_parser
from cpunmt.errors import CpunmtError
from tests.support.command_line import ROOT

_SCRIPT = """
import sys
from cpunmt.process.run import run
sys.exit(run("cpunmt", "tests.registry.command"))
"""


def main() -> int:
    """Runs in the other process."""
    return run(sys.argv[1:])


def run(arguments) -> int:
    """Returns the exit status; errors are one line on stderr."""
    given = command_parser().parse_args(list(map(str, arguments)))
    try:
        return given.run(given)
    except CpunmtError as error:
        print(f"cpunmt: error: {error}", file=sys.stderr)
        return 1


def start(*arguments, **settings) -> subprocess.Popen:
    """Starts another process that runs the command."""
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **settings,
    )
