"""The first start on a fresh machine: python -m bench.programs.first_start --wheel dist/cpunmt-*.whl

    --wheel FILE    a wheel with programs (make wheel): pip installs it into a new environment, with its dependencies
                    from the network; its size is printed, and Numba's
    --programs DIR  instead: this environment, and the output of tools.programs
    --model DIR     a packed model (default: models/ende-tiny)

Each process has no home, no variables, no cache folder and no compiled program. As root it has a read-only file system,
too (a mount namespace). Time is from before the process starts to the first translation, peak memory is the process's
own (VmHWM). CPU time is more reliable if the machine is busy.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness.command import command, machine, save
from bench.harness.texts import ROOT, SHIPPED
from bench.harness.timing import spread

_TRANSLATE = """
import sys, time
from cpunmt import Translator
imported = time.monotonic()
if sys.argv[3]:
    from pathlib import Path
    from cpunmt.engine import prebuilt
    prebuilt.FOLDER = Path(sys.argv[3])
translator = Translator(sys.argv[1])
loaded = time.monotonic()
text = translator.translate("A man is riding a bicycle.").text
done, busy = time.monotonic(), time.process_time()
began = float(sys.argv[2])
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
from cpunmt.engine import program
compilers = [name for name in ("numba", "llvmlite") if name in sys.modules]
try:
    open(sys.argv[4] + "/written", "w").close()
    written = "writable"
except OSError:
    written = "read-only"
figures = imported - began, loaded - began, done - began, busy, peak
print(*figures, program.load().origin, compilers == [], written, text, sep="|")
"""
_READ_ONLY = 'mount --bind / / && mount -o remount,ro,bind / && cd / && exec "$@"'


def isolated() -> list[str]:
    """Returns the prefix of a command with a read-only file system; empty if that is not allowed."""
    command = ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh"]
    if os.geteuid() or not shutil.which("unshare"):
        return []
    return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


def start(python: str, model: Path, programs: Path | None, folder: str) -> dict:
    """Runs one process; returns seconds until imports, the model, and the first translation are done; MB; and the
    program's origin.
    """
    path = ["env", f"PYTHONPATH={ROOT}"] if programs else []
    command = [*isolated(), *path, python, "-c", _TRANSLATE, str(model)]
    began = time.monotonic()
    arguments = [str(began), str(programs or ""), folder]
    done = subprocess.run([*command, *arguments], env={}, cwd="/", capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise SystemExit(f"python -m bench.programs.first_start: error: the first start says: {done.stderr.strip()}")
    imported, loaded, first, busy, peak, origin, no_compiler, written, text = done.stdout.rstrip("\n").split("|")
    figures = {"imported": imported, "loaded": loaded, "first": first, "cpu": busy, "peak_mb": peak}
    told = {"program": origin, "imports no compiler": no_compiler == "True", "file system": written, "text": text}
    return {**{name: float(value) for name, value in figures.items()}, **told}


def megabytes(python: Path) -> float:
    """Returns the size of an environment's packages on the disk."""
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    ).stdout.strip()
    return int(subprocess.run(["du", "-sk", place], capture_output=True, text=True).stdout.split()[0]) / 1024


def install(wheel: Path, folder: Path) -> tuple[Path, dict]:
    """Returns (interpreter of a new environment with the wheel, MB of its packages without and with Numba)."""
    sizes = {}
    for name, wanted in (("with Numba", f"{wheel}[jit]"), ("without Numba", str(wheel))):
        python = folder / name.split()[0] / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", python.parents[1]], check=True)
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wanted], check=True)
        sizes[name] = megabytes(python)
    return python, sizes


def main(arguments=None):
    """Runs the command."""
    parser = command("bench.programs.first_start", __doc__, rounds=9)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--wheel", type=Path)
    which.add_argument("--programs", type=Path)
    parser.add_argument("--model", type=Path, default=SHIPPED)
    chosen = parser.parse_args(arguments)
    model = chosen.model.resolve()
    with tempfile.TemporaryDirectory() as folder:
        python, sizes = Path(sys.executable), {}
        if chosen.wheel:
            python, sizes = install(chosen.wheel.resolve(), Path(folder))
        programs = chosen.programs and chosen.programs.resolve()
        starts = [start(str(python), model, programs, folder) for _ in range(chosen.rounds)]
    print(machine())
    print("; ".join(f"{name}: {value}" for name, value in starts[0].items() if not isinstance(value, float)))
    for name in ("imported", "loaded", "first", "cpu"):
        values = [1e3 * one[name] for one in starts]
        what = "of CPU until then" if name == "cpu" else "after the start"
        print(f"{name:9} {statistics.median(values):6.0f} ms {what} ({spread(values)})")
    print(f"peak memory {max(one['peak_mb'] for one in starts):.0f} MB")
    for name, size in sizes.items():
        print(f"site-packages {name}: {size:.0f} MB")
    save(chosen.json, {"machine": machine(), "starts": starts, "site_packages_mb": sizes})


if __name__ == "__main__":
    main()
