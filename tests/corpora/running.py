"""Runs of `cpunmt batch`, and their files."""

import gzip
import os
import subprocess
from pathlib import Path

from cpunmt.files.input_files import zstd_module
from tests.sample_models.real_model import ROOT, SHIPPED
from tests.support.command_line import CPUNMT, here, run, sentences

MODEL = ["-m", str(SHIPPED)]
OPEN = {".gz": gzip.decompress, ".zst": lambda data: zstd_module().decompress(data)}


def in_memory() -> str | None:
    """Returns a folder in memory, for tests of many small files: durable writes cost nothing there."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def lines(count) -> list[str]:
    """Returns lines of the shipped sentences, some repeated, some empty."""
    found = sentences(count)
    return [found[n // 2] if n % 7 == 3 else "" if n % 11 == 5 else line for n, line in enumerate(found)]


def batch(*arguments, **settings):
    """Runs to the end with the shipped model, in this process without `settings`."""
    return (run if settings else here)("batch", *arguments, *MODEL, **settings)


def done(*arguments) -> str:
    """Returns the output of a successful run."""
    finished = batch(*arguments)
    assert finished.returncode == 0, finished.stderr.decode()
    assert finished.stdout == b""
    return finished.stderr.decode()


def refused(*arguments, status=1) -> str:
    """Returns the one line of a failed run."""
    finished = batch(*arguments)
    shown = finished.stderr.decode()
    assert (finished.returncode, finished.stdout, shown.count("\n")) == (status, b"", 1), shown
    return shown


def started(*arguments) -> subprocess.Popen:
    """Starts a run."""
    return subprocess.Popen(
        [*CPUNMT, "batch", *map(str, arguments), *MODEL], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def children(process) -> list[int]:
    """Returns the workers of a run."""
    found = []
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def is_gone(number) -> bool:
    """Returns whether a process has ended, also if its status has not been read."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def content(folder) -> dict[str, bytes]:
    """Returns the parts of a folder, by name; checks that each has a sidecar, and nothing else is there."""
    names = set(os.listdir(folder))
    parts = {name for name in names if not name.startswith("_")}
    assert names == parts | {f"_{name}.json" for name in parts}
    return {name: (Path(folder) / name).read_bytes() for name in sorted(parts)}


def together(folder, ending=".txt") -> bytes:
    """Joins and expands the parts of an input."""
    whole = b"".join(data for name, data in content(folder).items() if name.endswith(ending))
    return OPEN.get(os.path.splitext(ending)[1], bytes)(whole)


def sizes(count, rows) -> list[int]:
    """Returns the numbers of rows of shards; one of 0 without rows."""
    return [rows] * (count // rows) + ([count % rows] if count % rows or not count else [])
