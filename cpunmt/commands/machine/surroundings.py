"""cpunmt's environment: versions of packages, the processor and the share granted of it, folders.

Each function returns lines, heading -> text, and oddities: sentences with the problem and the remedy.
"""

import ctypes
import importlib.util
import os
import platform
import re
import stat
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from cpunmt import __version__
from cpunmt.engine.program_files import cache_folder
from cpunmt.errors import CpunmtError
from cpunmt.process import granted
from cpunmt.registry import store
from cpunmt.simd import isa, processor
from cpunmt.values.spelling import hint, nearest

Found = tuple[dict[str, str], list[str]]

_SHOWN = ("numpy", "sentencepiece", "numba", "llvmlite")
_EXTRAS = {"serve": "starlette", "detect": "py3langid", "pdf": "pypdf", "parquet": "pyarrow", "hf": "huggingface_hub"}
_PREFIX = "CPUNMT_"
_SECRET = re.compile(r"://[^/@\s]*@")  # credentials in an address: the output is pasted into reports
VARIABLES = (
    "CPUNMT_CACHE_DIR",
    "CPUNMT_FIREFOX_REGISTRY",
    "CPUNMT_HF_REGISTRY",
    "CPUNMT_ISA",
    "CPUNMT_MODEL",
    "CPUNMT_MODELS_DIR",
    "CPUNMT_OFFLINE",
    "CPUNMT_OPUS_REGISTRY",
    "CPUNMT_ARGOS_REGISTRY",
)
_LEAST_MEMORY = 100_000_000  # bytes: a small model, and Python


def python_and_packages() -> Found:
    """Returns the versions."""
    odd, told = [], {name: _version(name) for name in _SHOWN}
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    if _is_free_threaded() and not threads:
        odd.append(
            "this Python is free-threaded, but its lock was switched on, by an extension module or PYTHON_GIL: "
            "threads wait for one another in Python"
        )
    library = " ".join(platform.libc_ver()).strip() or "no glibc"
    extras = [f"{name} {'yes' if importlib.util.find_spec(module) else 'no'}" for name, module in _EXTRAS.items()]
    return {
        "cpunmt": f"{__version__}, in {Path(__file__).parents[2]}",
        "Python": f"{platform.python_version()}{threads}, {sys.executable}",
        "system": f"{platform.system()} {platform.release()}, {library}",
        "packages": ", ".join(f"{name} {version or 'none'}" for name, version in told.items()),
        "extras": ", ".join(extras),
    }, odd


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _is_free_threaded() -> bool:
    import sysconfig

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def the_processor() -> Found:
    """Returns the processor's name, the chosen path, and this process's share of it."""
    chosen, best = isa.current(), isa.supported()
    told = {"processor": processor.name()}
    others = ", ".join(path.value for path in best if path is not chosen)
    told["path"] = f"{chosen.value} (there is also: {others})" if others else chosen.value
    odd = []
    if chosen is not best[0]:
        odd.append(f"CPUNMT_ISA lowers the path from {best[0].value} to {chosen.value}: unset it")
    if best[0] is isa.Isa.GENERIC and processor.machine() in ("x86_64", "aarch64"):
        odd.append(
            "none of the instructions that make 8 bits fast were found: the processor lacks them, its host hides them, "
            "or this container has no /proc/cpuinfo"
        )
    if _is_translated():
        odd.append("this Python is for Intel's processors, and macOS translates it: install one for Apple's")
    quota, limit = granted.quota(), granted.limit()
    told["cores"] = f"{os.cpu_count()}, of which this process may use {granted.cores()}"
    if quota is not None:
        told["cores"] += f"; it is granted the time of {quota:g}"
        if quota < 1:
            odd.append(
                f"this container is granted {quota:g} of a core: it stands still for the rest of the time; grant it 1"
            )
    if limit is not None:
        told["memory"] = f"at most {limit / 1e6:.0f} MB in this container"
        if limit < _LEAST_MEMORY:
            odd.append(
                f"this container has {limit / 1e6:.0f} MB of memory; a small model needs {_LEAST_MEMORY / 1e6:.0f} MB"
            )
    return told, odd


def _is_translated() -> bool:
    """Returns whether macOS runs Intel's code on Apple's processor: sysctl.proc_translated."""
    value, size = ctypes.c_int(0), ctypes.c_size_t(4)
    try:
        ctypes.CDLL(None).sysctlbyname(b"sysctl.proc_translated", ctypes.byref(value), ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return False
    return value.value == 1


def folders() -> Found:
    """Returns the places of programs and models."""
    cache, odd = cache_folder(), []
    state = _state(cache)
    if state == "others can write in it":
        odd.append(f"others can write in {cache}, so no program is taken from there: chmod go-w {cache}")
    elif state == "of another user":
        odd.append(f"{cache} belongs to another user: set CPUNMT_CACHE_DIR to a folder of your own")
    elif state == "no folder":
        odd.append(f"{cache} is not a folder: set CPUNMT_CACHE_DIR to one")
    try:
        told = f"{store.models_folder()} ({len(store.installed())} fetched)"
    except CpunmtError as error:  # no home, as in containers that need none
        told = f"none ({error})"
    return {"cache folder": f"{cache} ({state})", "models": told}, odd


def _state(folder: Path) -> str:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return "not there yet"
    except OSError as error:
        return error.strerror or "cannot be read"
    if not stat.S_ISDIR(status.st_mode):
        return "no folder"
    if status.st_uid != os.getuid():
        return "of another user"
    if status.st_mode & 0o022:
        return "others can write in it"
    return "private" if os.access(folder, os.W_OK) else "read-only"


def _meant(name: str) -> str | None:
    begin = len(_PREFIX)  # common to all, so that any two would look alike
    found = nearest(name[begin:], [known[begin:] for known in VARIABLES])
    return found and _PREFIX + found


def variables(environment: Mapping[str, str] = os.environ) -> Found:
    """Returns the environment variables that cpunmt reads, and likely misspellings.

    Kubernetes sets variables with the same prefix for a service called cpunmt.
    """
    found = {name: value for name, value in sorted(environment.items()) if name.startswith(_PREFIX)}
    heeded = [f"{name}={_SECRET.sub('://', value)!r}" for name, value in found.items() if name in VARIABLES]
    return {"variables": ", ".join(heeded) or "none"}, [
        f"{name} is set, but means nothing to cpunmt{hint(meant)}: unset it"
        for name in found
        if name not in VARIABLES and (meant := _meant(name))
    ]
