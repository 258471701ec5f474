"""Running `cpunmt ls` and `cpunmt fetch`: in this process, and in another one."""

import argparse
import subprocess
import sys
import threading

from cpunmt.errors import CpunmtError
from cpunmt.registry.commands import add_commands
from tests.command_line import ROOT

# What cpunmt.cli does around a command: Ctrl-C ends the process at once.
_SCRIPT = """
import os, signal, sys, threading
from tests.registry.command import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
ended = []
worker = threading.Thread(target=lambda: ended.append(run(sys.argv[1:])), daemon=True)
worker.start()
try:
    while worker.is_alive():
        worker.join(0.05)
except KeyboardInterrupt:
    os._exit(130)
sys.exit(ended[0])
"""


def run(arguments) -> int:
    """The exit status; errors are one line on stderr."""
    parser = argparse.ArgumentParser(prog="cpunmt")
    add_commands(parser.add_subparsers(required=True))
    given = parser.parse_args(list(map(str, arguments)))
    try:
        return given.run(given, threading.Lock())
    except CpunmtError as error:
        print(f"cpunmt: error: {error}", file=sys.stderr)
        return 1


def start(*arguments, **settings) -> subprocess.Popen:
    """Another process that runs the command."""
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **settings,
    )
