"""The programs in a wheel: a shared object for each path, mapped by the operating system's loader.

`prebuilt/` beside this file holds them and a manifest, both made by `tools/programs.py`; a checkout has them only after
`make wheel`. They have no dependencies: no C library, neither Numba nor LLVM.

programs.json:
    sources     digest of their sources (`sources.sources_digest`)
    system      sys.platform
    machine     as returned by `processor.machine`
    complete    whether every path of that machine is present; setup.py makes wheels only of complete programs
    tools       name -> version of the compilers and linkers
    programs    path -> {"file", "sha256", "cpu", "features", "signatures": {kernel: letters}}
"""

import ctypes
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from cpunmt.engine.sources import NoSources, sources_digest
from cpunmt.simd import processor
from cpunmt.simd.isa import Isa

T = TypeVar("T")
FOLDER = Path(__file__).with_name("prebuilt")
MANIFEST = "programs.json"


class Unfit(Exception):
    """No usable prebuilt program exists; the message states the reason."""


class Damaged(Unfit):
    """An installed program is damaged: a file has changed, or cannot be loaded."""


class SharedObject:
    """A shared object in memory."""

    def __init__(self, path: Path) -> None:
        self._loaded = ctypes.CDLL(str(path))

    def function(self, symbol: str, prototype: Callable[..., T]) -> T:
        """Returns the function `symbol` as a callable of type `prototype` (ctypes.CFUNCTYPE)."""
        return prototype((symbol, self._loaded))


class Prebuilt(NamedTuple):
    """A program in memory, kernel -> letters of its types, and its file."""

    code: SharedObject
    signatures: dict[str, str]
    path: Path


def find(path: Isa) -> Prebuilt:
    """Finds the prebuilt program of an instruction set, from exactly these sources. Raises Unfit."""
    folder = FOLDER
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Unfit("this installation has no prebuilt programs") from None
    except (OSError, ValueError) as error:
        raise Damaged(f"{folder / MANIFEST} cannot be read ({error})") from None
    try:
        made_for, here = (manifest["system"], manifest["machine"]), (sys.platform, processor.machine())
        if made_for != here:
            raise Unfit(f"the prebuilt programs are for {' '.join(made_for)}, and this is {' '.join(here)}")
        if manifest["sources"] != sources_digest():
            raise Unfit("the prebuilt programs are of other sources than the installed ones")
        if path.value not in manifest["programs"]:
            raise Unfit(f"no prebuilt program is for {path.value}")
        entry = manifest["programs"][path.value]
        file, expected, signatures = folder / entry["file"], entry["sha256"], entry["signatures"]
    except NoSources as error:
        raise Unfit(str(error)) from None
    except (KeyError, TypeError) as error:
        raise Damaged(f"{folder / MANIFEST} is damaged ({error!r})") from None
    try:
        with open(file, "rb") as content:
            found = hashlib.sha256(content.read()).hexdigest()
        if found != expected:
            raise Damaged(f"{file} is not the file that was installed")
        return Prebuilt(SharedObject(file), signatures, file)
    except OSError as error:
        raise Damaged(f"{file} cannot be loaded ({error})") from None
