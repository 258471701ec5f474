"""A command line as a process of its own: signals, a lack of memory, and its end.

    sys.exit(run("cpunmt", "cpunmt.commands.cli"))

Nothing is imported here that takes time, so that an interrupt during the imports finds this module in charge.
"""

import contextlib
import importlib
import os
import signal
import sys
import threading

_LOOK = 0.2  # seconds; a signal that comes just before Python waits is heard when it wakes
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last is what a terminal sends when it is closed


def run(name: str, module: str) -> int:
    """Import `module` and call its `main()` in a thread, then end the process with the status that it returns.

    A signal that ends programs ends this one at once, with status 128 + its number, whatever the thread is doing:
    lines that are being written come out whole, files that are unfinished are removed; a server ends what it has begun
    first (see `interrupts`). Anything else that ends the work, but for a mistake in the program, is one line on stderr
    and status 1.

    Returns the status only to a profiler or tracer, which has to write what it saw.
    """
    if sys.stderr is None:  # closed by whoever started us
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  stays open
    _on_signals(os._exit)  # until there is something to clean up
    try:
        main = importlib.import_module(module).main
        from cpunmt.process.interrupts import abandon, will_end
    # The last three: NumPy without enough memory.
    except (ImportError, MemoryError, OSError, SystemError, AttributeError) as error:
        print(f"{name}: error: cannot start: {str(error).strip() or 'out of memory'}".split("\n")[0], file=sys.stderr)
        return 1

    def end(status):
        _on_signals(lambda status: None)
        abandon()
        os._exit(status)  # not sys.exit: compiled code is still running in memory that it would take away

    def interrupted(status):
        if not will_end():
            end(status)

    done, ended = threading.Event(), []

    def work():
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
    status = ended[0].code if isinstance(ended[0], SystemExit) else ended[0]
    if isinstance(status, BaseException):
        raise status
    if not _is_watched():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed
                stream.flush()
        end(status or 0)  # Python would take a tenth of the time of a start, and then die of signals by the default
    return status


def _is_watched() -> bool:
    """Whether a debugger, a profiler or a measurement of coverage is at work."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    return sys.gettrace() is not None or sys.getprofile() is not None or any(tools)


def _on_signals(end):
    """Call `end(exit status)` on each signal that ends programs, unless it is ignored, as by nohup."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: end(128 + number))
