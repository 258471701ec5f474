"""The compiled program: machine code of all kernels.

    program = load()
    program.translate(model, batch, workspace)

The program comes from this machine's cache (`cpunmt warmup`) or from the wheel. Otherwise it is compiled now, once for
all models, and stored for later starts. Only compiling imports Numba and the kernels; a program of the wheel does not
need LLVM either.
"""

import ctypes
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cpunmt.engine import prebuilt
from cpunmt.engine.program_files import cache_file, parts, program_digest, read, turn, write
from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, say
from cpunmt.process.first_use import LOCK
from cpunmt.process.native_calls import native
from cpunmt.simd import isa

Progress = Callable[[Any], Iterable[Any]]  # wraps the kernels to compile, to count along (tqdm)
_TYPES = {"i": ctypes.c_int64, "f": ctypes.c_float, "v": None}
_HOW_TO_COMPILE = 'pip install "cpunmt[jit]"'


class Code(Protocol):
    """Machine code in memory: an ObjectCode or a SharedObject."""

    def function(self, symbol: str, prototype: Callable[..., Any]) -> Any:
        """Returns the function `symbol` as a callable of type `prototype` (ctypes.CFUNCTYPE)."""


class Program:
    """Compiled kernels, as attributes: `program.layer_norm(...)` takes numbers, and arrays for addresses.

    origin    "prebuilt" (of the wheel), "cached" (of the file that this machine has kept) or "compiled" (just now)
    path      its file; None if it could not be kept
    """

    def __init__(
        self, code: Code, signatures: dict[str, str], origin: str = "compiled", path: Path | None = None
    ) -> None:
        """`signatures` maps a kernel's name to one letter for its result
        and one for each argument."""
        self._code = code  # keeps the machine code in memory
        self.origin, self.path = origin, path
        for name, letters in signatures.items():
            if hasattr(self, name):
                raise TypeError(f"a kernel cannot be called {name!r}")
            setattr(self, name, self._function(name, letters))

    if TYPE_CHECKING:  # kernels are attributes

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def _function(self, name: str, letters: str) -> Callable[..., Any]:
        types: list[Any] = [_TYPES[letter] for letter in letters]
        call = self._code.function("cpunmt_" + name, ctypes.CFUNCTYPE(*types))

        def run(*arguments: Any) -> Any:
            return call(*[_address(a) if isinstance(a, np.ndarray) else a for a in arguments])

        run.__name__ = name
        return run


def _address(array: np.ndarray) -> int:
    if not array.flags.c_contiguous:
        raise ValueError("compiled code takes C-contiguous arrays")
    return array.ctypes.data


def load() -> Program:
    """Loads the program for this process's instruction set; if there is none yet, compiles it, with a line on stderr.

    Raises CpunmtError if there is none, and no compiler.
    """
    with native, LOCK:
        return _load_once()


@functools.cache
def _load_once() -> Program:
    return _load()


def _load() -> Program:
    path = cache_file()
    data = read(path) if path else None
    if data is not None:
        return of_file(data, "cached", path)
    try:
        found = prebuilt.find(isa.current())
        return Program(found.code, found.signatures, "prebuilt", found.path)
    except prebuilt.Unfit as unfit:
        if path is None:
            raise _nothing_compiles(unfit) from None
        if isinstance(unfit, prebuilt.Damaged):
            say(f"cpunmt: {unfit}; install cpunmt again")
    made = _make(path, terminal_progress(), "cpunmt: compiling for this processor (once; about half a minute) ...")
    return _load() if made is None else of_file(*made)


def of_file(data: bytes, origin: str, path: Path | None = None) -> Program:
    from cpunmt.engine.object_code import ObjectCode  # LLVM, which a prebuilt program does without

    code, signatures = parts(data)
    return Program(ObjectCode(code), signatures, origin, path)


def terminal_progress() -> Progress:
    """Returns a bar if a terminal shows standard error, else `iter`."""
    return functools.partial(progress_bar, desc="compiling", unit=" kernels") if is_watched() else iter


def _make(path: Path, progress: Progress, begun: str = "") -> tuple[bytes, str, Path | None] | None:
    """Compiles the program and stores it at `path`, unless another process does so now: then waits for that.

    Returns what `of_file` takes; None if this process uses another path from now on. `begun`: said on stderr before.
    """
    with turn(path, lambda: say(f"cpunmt: waiting for another process, which compiles in {path.parent} ...")):
        data = read(path)
        if data is not None:
            return data, "cached", path
        if begun:
            say(begun)
        data = _build(progress)
        return None if data is None else (data, "compiled", path if write(path, data) else None)


def _build(progress: Progress = iter) -> bytes | None:
    """Returns the content of a new program file; None if LLVM cannot compile for this path.

    Then the process uses another path, with a line on stderr.
    """
    try:
        from cpunmt.engine.compiler import CannotCompileError, build_content
    except ImportError as error:
        raise CpunmtError(f"Numba, which is to compile cpunmt's program, cannot be imported: {error}") from error
    try:
        return build_content(progress)
    except CannotCompileError as error:
        path = isa.current()
        isa.give_up(path)
        program_digest.cache_clear()
        say(
            f"cpunmt: LLVM cannot compile for {path.value} here ({error}); {isa.current().value} is used instead. Set "
            f"CPUNMT_ISA={isa.current().value}, or every start will try again"
        )
        return None


def _nothing_compiles(unfit: prebuilt.Unfit) -> CpunmtError:
    return CpunmtError(
        f"no compiled program for {isa.current().value}: {unfit}, and Numba, which would compile one, is not "
        f"installed: {_HOW_TO_COMPILE}"
    )


def can_compile() -> bool:
    """Returns whether Numba is installed."""
    return cache_file() is not None


def warm_up(progress: Progress = iter) -> Path | None:
    """Compiles the program for this very processor and stores it, unless that has been done.

    Returns its file; None if it cannot be stored (stderr says why).

    Without Numba it returns the file of the wheel's program, and a line on stderr says so. Raises CpunmtError
    if there is none.
    """
    path = cache_file()
    if path is None:
        try:
            found = prebuilt.find(isa.current())
        except prebuilt.Unfit as unfit:
            raise _nothing_compiles(unfit) from None
        say(
            f"cpunmt: nothing to do: the program for {isa.current().value} came with the wheel. One that is tuned for "
            f"this processor takes Numba: {_HOW_TO_COMPILE}"
        )
        return found.path
    if read(path) is not None:
        return path
    with native, LOCK:
        made = _make(path, progress)
    return warm_up(progress) if made is None else made[2]
