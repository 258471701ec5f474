"""The cores and the memory that this process may use, on a machine or in a container."""

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")  # a container's limits in Linux, in version 2 and 1
_NO_LIMIT = 1 << 50  # bytes; a limit beyond is none


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def quota() -> float | None:
    """Returns the cores whose time is granted to a container; None without a limit."""
    text = _text("cpu.max").split()
    if len(text) == 2 and text[0].isdecimal() and text[1].isdecimal():
        return int(text[0]) / int(text[1])
    granted, period = _number("cpu/cpu.cfs_quota_us"), _number("cpu/cpu.cfs_period_us")
    return granted / period if granted and period else None


def limit() -> int | None:
    """Returns the bytes of memory that a container may use; None without a limit."""
    found = _number("memory.max", "memory/memory.limit_in_bytes")
    return found if found is not None and found < _NO_LIMIT else None


def memory() -> int:
    """Returns the bytes of memory that this process may use: all of a container's, half of a machine's."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(machine // 2, limit() or machine)


def _number(*names: str) -> int | None:
    for name in names:
        text = _text(name).strip()
        if text.isdecimal():
            return int(text)
    return None


def _text(name: str) -> str:
    try:
        return (_GROUP / name).read_text("ascii")
    except (OSError, ValueError):
        return ""
