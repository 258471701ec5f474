"""Observes other processes without fixed delays: a busy machine makes them slow, not wrong."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.sample_models.real_model import ROOT
from tests.support.command_line import TIMEOUT


def python(*arguments, cwd=ROOT, timeout=TIMEOUT, **variables) -> subprocess.CompletedProcess:
    """Runs Python with additional variables of the environment; a value of None removes one."""
    environment = {name: value for name, value in (os.environ | variables).items() if value is not None}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=timeout)


def output(*arguments, **settings) -> str:
    """Returns the output of such a process, which must succeed."""
    done = python(*arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def processor_seconds(number: int) -> float:
    """Returns the processor time of a process that runs, or has ended and was not waited for."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_worked(number: int, seconds: float):
    """Waits until a process has used `seconds` more of processor time."""
    begun = processor_seconds(number)
    wait_for(lambda: processor_seconds(number) >= begun + seconds)


def wait_for(what, seconds=TIMEOUT):
    """Returns the value of `what()` as soon as it is true."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.005)
    return found
