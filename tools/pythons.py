"""Tests every supported Python: installs the package as users do, and runs the quick set against it.

    python -m tools.pythons [--only 3.13 3.14t] [--list] [--at-least 5] [--compile] [--python PATH] [--folder FOLDER]

Interpreters are this machine's, uv's (from GitHub) or Debian's, kept in the folder; the quick set is tests/quick. The
wheel brings the program of this machine's path, so that Numba is not installed; with `--compile` it brings none, and
each Python compiles with Numba.
The status is 1 if the quick set fails anywhere, or if fewer interpreters than `--at-least` could be tested.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from cpunmt.simd import isa
from tools.interpreters import Interpreter, MissingError, interpreter, run, uv

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.14t"]
QUICK = ROOT / "tests" / "quick"
SHOWN = ("numba", "numpy", "sentencepiece")
_PACKAGED = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "quantize")
_VERSIONS = """
import json
from importlib import metadata
found = {}
for name in ("numba", "numpy", "sentencepiece"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = "none"
print(json.dumps(found))
"""


class Outcome(NamedTuple):
    """The result of one Python."""

    name: str
    version: str = ""
    origin: str = ""
    versions: dict[str, str] = {}  # noqa: RUF012  of packages
    passed: int = 0
    failed: str = ""  # pytest's last line, if the quick set failed
    missing: str = ""  # the reason if it could not be tested
    seconds: float = 0.0


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.pythons", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=NAMES, metavar="NAME", help=f"some of: {' '.join(NAMES)}")
    parser.add_argument("--list", action="store_true", help="only get the interpreters, and say which they are")
    parser.add_argument("--at-least", type=int, default=1, metavar="N", help="number that must be tested (default: 1)")
    parser.add_argument("--compile", action="store_true", help="without prebuilt programs: each Python compiles")
    parser.add_argument("--python", nargs="+", default=[], type=Path, metavar="PATH", help="interpreters to use")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pythons", help="what is fetched and made")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="number tested at once (default: 2)")
    chosen = parser.parse_args(arguments)
    if wrong := [name for name in chosen.only if not re.fullmatch(r"3\.\d+t?", name)]:
        parser.error(f"--only: {wrong[0]} is not a version; expected 3.13 or such, or 3.14t (free-threaded)")
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = None if chosen.list else built(folder, with_programs=not chosen.compile)

    def outcome(name: str) -> Outcome:
        began = time.monotonic()
        try:
            found = interpreter(name, folder, chosen.python)
        except MissingError as error:
            return Outcome(name, missing=str(error), seconds=time.monotonic() - began)
        made = Outcome(name, found.version, found.origin)
        if wheel:
            try:
                made = tested(name, found, wheel, folder)
            except MissingError as error:  # an existing interpreter without cpunmt's dependencies
                made = made._replace(failed=str(error))
        return made._replace(seconds=time.monotonic() - began)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        outcomes = list(pool.map(outcome, chosen.only))
    print(table(outcomes))
    return status(outcomes, chosen.at_least)


def status(outcomes: list[Outcome], at_least: int) -> int:
    """Returns the exit status; prints the reason if it is not 0."""
    failed = [one.name for one in outcomes if one.failed]
    there = sum(not one.missing for one in outcomes)
    if failed:
        print(f"The quick set fails on {', '.join(failed)}.", file=sys.stderr)
    if there < at_least:
        print(f"Only {there} of {len(outcomes)} could be had, expected at least {at_least}.", file=sys.stderr)
    return int(bool(failed) or there < at_least)


def table(outcomes: list[Outcome]) -> str:
    """Returns a line for each Python."""
    rows: list[tuple[str, ...]] = [("Python", "got", *SHOWN, "passed", "seconds")]
    for one in outcomes:
        versions = [one.versions.get(name, "") for name in SHOWN]
        passed = one.failed or (str(one.passed) if one.passed else "")
        rows.append((f"{one.name} {one.version}".strip(), one.origin, *versions, passed, f"{one.seconds:.0f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for number, one in enumerate(outcomes, 1):
        if one.missing:
            lines[number] = f"{one.name}: not tested: {one.missing}"
    return "\n".join(lines)


def built(folder: Path, with_programs: bool = True) -> Path:
    """Returns the wheel, built from a copy of the sources, as building adds files; with the program of this machine's
    path, or without programs.
    """
    sources, out = folder / "sources", folder / "wheel"
    for old in (sources, out):
        shutil.rmtree(old, ignore_errors=True)
    sources.mkdir()
    for name in _PACKAGED:
        (sources / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "cpunmt", sources / "cpunmt", ignore=shutil.ignore_patterns("prebuilt", "__pycache__"))
    try:
        if with_programs:
            chosen = ("--paths", isa.current().value, "--out", sources / "cpunmt" / "engine" / "prebuilt")
            run(sys.executable, "-m", "tools.programs", *chosen, settings={"PYTHONPATH": str(ROOT)})
        command = (uv(), "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", out, sources)
        run(*command, settings={"CPUNMT_WHEEL_PATHS": "incomplete"})
    except MissingError as error:
        sys.exit(f"The wheel cannot be built: {error}")
    (wheel,) = out.glob("*.whl")
    return wheel


def tested(name: str, found: Interpreter, wheel: Path, folder: Path) -> Outcome:
    """Runs the quick set against the wheel, in an environment and a folder of its own. Raises MissingError."""
    place, environment = folder / f"run-{name}", folder / f"venv-{name}"
    for old in (place, environment):
        shutil.rmtree(old, ignore_errors=True)
    place.mkdir()
    run(uv(), "venv", "--quiet", "--no-project", "--python", found.path, environment)
    python = environment / "bin" / "python"
    settings = {"CPUNMT_CACHE_DIR": str(folder / "programs"), "CPUNMT_INSTALLED_IN": str(environment)}
    wanted = (f"{wheel}[serve]", "pytest>=9", "hypothesis>=6.100")
    run(uv(), "pip", "install", "--quiet", "--no-build", "--python", python, *wanted)
    versions = json.loads(run(python, "-I", "-c", _VERSIONS))
    made = Outcome(name, found.version, found.origin, versions)
    log = folder / f"{name}.log"
    said = pytest(python, place, log, settings)
    passed = re.search(r"(\d+) passed", said)
    if passed is None or re.search(r"\d+ (failed|error)", said):
        return made._replace(failed=f"{said}; see {os.path.relpath(log)}")
    return made._replace(passed=int(passed[1]))


def pytest(python: Path, place: Path, log: Path, settings: dict[str, str]) -> str:
    """Runs the quick set, writes its output to `log`, and returns the last line."""
    import subprocess

    ours = ("PYTHONPATH", "PYTHON_GIL", "CPUNMT_MODEL", "CPUNMT_ISA")  # variables of a developer's environment
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    command = [python, "-m", "pytest", "-q", "-m", "not slow", "-c", QUICK / "pytest.ini", "--rootdir", QUICK]
    command += ["--confcutdir", QUICK, "--durations=5", QUICK]
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            list(map(str, command)), cwd=place, env={**variables, **settings}, stdout=file, stderr=subprocess.STDOUT
        )
    lines = [line for line in log.read_text("utf-8").splitlines() if line.strip()]
    said = lines[-1].strip("= ") if lines else "pytest says nothing"
    return said if done.returncode == 0 or "failed" in said or "error" in said else f"{said}; 1 error"


if __name__ == "__main__":
    sys.exit(main())
