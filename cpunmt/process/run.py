"""Runs a command line as a process: handles signals, lack of memory, and the end.

sys.exit(run("cpunmt", "cpunmt.commands.cli"))

This module imports nothing slow, so that it already handles an interrupt during the other imports.
"""

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from cpunmt.errors import CpunmtError

_LOOK = 0.2  # seconds; a signal just before Python waits is handled after this time
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last is what a terminal sends when it is closed


def run(name: str, module: str) -> int:
    """Imports `module`, calls its `main()` in a thread, and ends the process with the returned status.

    A signal that ends programs ends this one at once, with status 128 + its number. Lines being written are
    completed and unfinished files removed; a server completes its requests first (see `interrupts`). Any other failure,
    except a mistake in the program, is one line on stderr and status 1.

    Returns the status only to a profiler or tracer, which has to write its report.
    """
    if sys.stderr is None:  # closed by the parent process
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  stays open
    _on_signals(os._exit)  # until there is something to clean up
    try:
        main = imported(module).main
        will_end, abandon = (getattr(imported("cpunmt.process.interrupts"), one) for one in ("will_end", "abandon"))
    except CpunmtError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 1

    def end(status: int) -> None:
        _on_signals(lambda status: None)
        abandon()
        os._exit(status)  # not sys.exit: compiled code is still running in memory that it would take away

    def interrupted(status: int) -> None:
        if not will_end():
            end(status)

    done = threading.Event()
    ended: list[Any] = []  # the status, or the exception

    def work() -> None:
        try:
            ended.append(main())
        except BaseException as error:
            ended.append(error)
        finally:
            done.set()

    try:
        _on_signals(interrupted)
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:
        print(f"{name}: error: the system allows no further thread; see ulimit -u and ulimit -v", file=sys.stderr)
        return 1
    while not done.wait(_LOOK):
        pass
    status: Any = ended[0].code if isinstance(ended[0], SystemExit) else ended[0]
    if isinstance(status, BaseException):
        raise status
    if not _is_watched():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed
                stream.flush()
        end(status or 0)  # Python would take a tenth of the time of a start, and then die of signals by the default
    return int(status or 0)


def imported(module: str) -> Any:
    """Imports a module of a command. Raises CpunmtError if it cannot be imported, for lack of memory mostly."""
    try:
        return importlib.import_module(module)
    # The last three: NumPy without enough memory.
    except (ImportError, MemoryError, OSError, SystemError, AttributeError) as error:
        told = str(error).strip().rpartition("\n")[2]  # NumPy's advice ends with the error itself
        raise CpunmtError(f"cannot start: {told or 'out of memory'}") from error


def _is_watched() -> bool:
    """Returns whether a debugger, a profiler or a measurement of coverage is at work."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    return sys.gettrace() is not None or sys.getprofile() is not None or any(tools)


def _on_signals(end: Callable[[int], object]) -> None:
    """Calls `end(exit status)` on each signal that ends programs, unless it is ignored, as by nohup."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: end(128 + number))
