"""Runs of `cpunmt batch`, and what they leave."""

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
    """A folder that lies in memory, for tests of many small files: there a write that must last costs nothing."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def lines(count) -> list[str]:
    """Lines of the shipped sentences, some of them more than once, some empty."""
    found = sentences(count)
    return [found[n // 2] if n % 7 == 3 else "" if n % 11 == 5 else line for n, line in enumerate(found)]


def batch(*arguments, **settings):
    """A finished run with the shipped model, in this process if it needs no `settings` of its own."""
    return (run if settings else here)("batch", *arguments, *MODEL, **settings)


def done(*arguments) -> str:
    """What a run that went well said."""
    finished = batch(*arguments)
    assert finished.returncode == 0, finished.stderr.decode()
    assert finished.stdout == b""
    return finished.stderr.decode()


def refused(*arguments, status=1) -> str:
    """The one line of a run that did not."""
    finished = batch(*arguments)
    shown = finished.stderr.decode()
    assert (finished.returncode, finished.stdout, shown.count("\n")) == (status, b"", 1), shown
    return shown


def started(*arguments) -> subprocess.Popen:
    """A run that goes on."""
    return subprocess.Popen(
        [*CPUNMT, "batch", *map(str, arguments), *MODEL], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def children(process) -> list[int]:
    """The workers of a run."""
    found = []
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def is_gone(number) -> bool:
    """Whether a process has ended; one that nobody has asked for its status has, too."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def content(folder) -> dict[str, bytes]:
    """The parts of a folder, by name; there is a sidecar for each, and nothing else."""
    names = set(os.listdir(folder))
    parts = {name for name in names if not name.startswith("_")}
    assert names == parts | {f"_{name}.json" for name in parts}
    return {name: (Path(folder) / name).read_bytes() for name in sorted(parts)}


def together(folder, ending=".txt") -> bytes:
    """The parts of an input, one after the other, and expanded at once."""
    whole = b"".join(data for name, data in content(folder).items() if name.endswith(ending))
    return OPEN.get(os.path.splitext(ending)[1], bytes)(whole)


def sizes(count, rows) -> list[int]:
    """How many rows shards have; one of none, where there are none."""
    return [rows] * (count // rows) + ([count % rows] if count % rows or not count else [])
