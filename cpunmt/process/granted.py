"""What the system grants this process: cores, and a container's share of their time and of the memory."""

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


def memory() -> int | None:
    """Returns the bytes of memory that a container may use; None without a limit."""
    limit = _number("memory.max", "memory/memory.limit_in_bytes")
    return limit if limit is not None and limit < _NO_LIMIT else None


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
