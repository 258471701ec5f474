"""Compiles all kernels to one object file.

Nearly all of the time is Numba's, which is Python: so several processes share the kernels, and this one links them.

Needs Numba. If `Target` is None, it compiles for this process's path, tuned for this processor if that is its best; a
wheel's programs are compiled for a target that any processor of the path supports (`tools/programs.py`).
"""

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import llvmlite.binding as llvm

from cpunmt.engine import multiply_add
from cpunmt.engine.numba_settings import default_settings
from cpunmt.engine.object_code import initialize_llvm
from cpunmt.engine.program_files import content
from cpunmt.process import granted
from cpunmt.simd import isa, processor

if TYPE_CHECKING:
    from cpunmt.simd.jit import Kernel

Progress = Callable[[Any], Iterable[Any]]
ENTRIES = ("cpunmt.search.beam", "cpunmt.search.stop")  # importing them defines every kernel,
_OURS = "cpunmt."  # prefix of the names of our modules
_MOST_PROCESSES = 4  # each takes two seconds to begin, and _MEMORY
_MEMORY = 400_000_000  # bytes of a process that compiles, at most
_PATIENCE = 120  # seconds for which a share may take longer than this process's own
_PAUSE = 0.5  # seconds after which a process looks whether the one that started it has ended
_MARK = b"cpunmt kernels\n"  # before a share; other code, such as a sitecustomize, may have printed something

# What other processes run: one compiles a share of the kernels, one all of them for its path
_SHARE = "compiler.write_share({share})"
_APART = (
    "target = compiler.Target(*compiler.isa.target_cpu(compiler.isa.current())); "
    "sys.stdout.buffer.write(compiler.content(*compiler.build(target=target)))"
)


class CannotCompileError(Exception):
    """LLVM cannot compile for this process's path; the message is LLVM's."""


class Target(NamedTuple):
    """A processor and its features, in LLVM's names."""

    cpu: str
    features: str


class Built(NamedTuple):
    """An object file, and kernel -> one letter for its result and one for each argument."""

    code: bytes
    signatures: dict[str, str]


def build(progress: Progress = iter, foreign: bool = False, target: Target | None = None, processes: int = 1) -> Built:
    """Compiles every kernel. `progress` wraps the list of those that this process compiles, to count along (tqdm).

    `foreign`: includes kernels that other code, such as a benchmark, defined in this process.
    `target`: instead of this processor; then the process must not compile for any other.
    `processes`: how many share the kernels, this one included; only without `foreign` and `target`.
    """
    if processes > 1 and (foreign or target):
        raise ValueError("other processes compile neither foreign kernels nor for another target")
    with default_settings(*(target or ())), _rarely_collecting(), _helpers(processes) as helpers:
        kernels = _kernels(foreign)
        modules = {kernel.name: kernel.compile() for kernel in progress(kernels[::processes])}
        for helper in helpers:
            modules |= _share_of(helper)
        missing = [kernel for kernel in kernels if kernel.name not in modules]
        modules |= {kernel.name: kernel.compile() for kernel in (progress(missing) if missing else ())}
        linked = modules[kernels[0].name]
        for kernel in kernels[1:]:
            linked.link_in(modules[kernel.name])
    return Built(emit(linked, target), {kernel.name: kernel.letters for kernel in kernels})


def _kernels(foreign: bool = False) -> "list[Kernel]":
    """Defines every kernel; returns them by name: the same bytes for any order of imports."""
    for entry in ENTRIES:
        importlib.import_module(entry)
    from cpunmt.simd.jit import KERNELS

    initialize_llvm()
    return [KERNELS[name] for name in sorted(KERNELS) if foreign or KERNELS[name].function.__module__.startswith(_OURS)]


def processes_here() -> int:
    """Returns how many processes compile together on this machine: one if this Python cannot be started again as it
    was."""
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
        return 1  # the executable is another program, which has Python inside
    if sys.flags.ignore_environment or sys.flags.no_site or sys.flags.no_user_site:
        return 1  # another one would run code that was to be left out
    cores = min(_MOST_PROCESSES, granted.cores(), granted.quota() or _MOST_PROCESSES)
    return max(1, int(min(cores, granted.memory() / _MEMORY)))


def _begin(code: str, stderr: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """Starts this Python once more, to run `code` with the same modules and on the same path."""
    paths = [path for path in sys.path if isinstance(path, str)]
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:] = {paths!a}; from cpunmt.engine import compiler; {code}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "CPUNMT_ISA": isa.current().value},
    )


@contextlib.contextmanager
def _helpers(processes: int) -> "Iterator[list[subprocess.Popen[bytes]]]":
    """Starts all processes but the first; they end with the context."""
    begun: list[subprocess.Popen[bytes]] = []
    try:
        with contextlib.suppress(OSError, ValueError):  # without them this process compiles all
            for first in range(1, processes):
                begun.append(_begin(_SHARE.format(share=f"{first}, {processes}, {os.getpid()}")))
        yield begun
    finally:
        for helper in begun:
            helper.kill()
            helper.communicate()


def write_share(first: int, processes: int, parent: int) -> None:
    """Compiles a share of the kernels, and writes it to standard output: [name, bytes] of each as a line of JSON, and
    the modules as LLVM's bitcode. Ends with the process `parent`."""
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    with default_settings(), _rarely_collecting():
        made = {kernel.name: kernel.compile().as_bitcode() for kernel in _kernels()[first::processes]}
    sizes = json.dumps([(name, len(code)) for name, code in made.items()]).encode()
    sys.stdout.buffer.write(b"".join((_MARK, sizes, b"\n", *made.values())))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PAUSE)
    os._exit(1)


def _share_of(helper: "subprocess.Popen[bytes]") -> dict[str, llvm.ModuleRef]:
    """Returns the modules of a helper, by kernel; none if it failed."""
    try:
        written, _ = helper.communicate(timeout=_PATIENCE)
        sizes, _, code = written.partition(_MARK)[2].partition(b"\n")
        modules, begin = {}, 0
        for name, size in json.loads(sizes):
            modules[name] = llvm.parse_bitcode(code[begin : begin + size])
            begin += size
        return modules
    except (subprocess.TimeoutExpired, ValueError, RuntimeError):  # no JSON, no bitcode
        helper.kill()
        return {}


def build_content(progress: Progress = iter) -> bytes:
    """Compiles every kernel for this process's path; returns the content of a program file.

    If LLVM does not see the features of the path in this processor, another process compiles, without `progress`: LLVM
    aborts a process where it finds no instruction for an operation. Raises CannotCompileError if it does.
    """
    path = isa.current()
    if not isa.unseen(path):
        return content(*build(progress, processes=processes_here()))
    try:
        apart = _begin(_APART, stderr=subprocess.PIPE)
    except OSError as error:
        raise CannotCompileError(f"no process for it can be started: {error.strerror}") from None
    with apart:
        try:
            written, errors = apart.communicate()
        except BaseException:
            apart.kill()
            raise
    if apart.returncode:
        said = errors.decode("utf-8", "replace").splitlines()
        told = [line for line in said if line.startswith("LLVM ERROR")] or said[-1:]
        raise CannotCompileError(*told or [f"exit status {apart.returncode}"])
    return written


def emit(linked: llvm.ModuleRef, target: Target | None = None) -> bytes:
    """Returns object code of a module, for this process's path."""
    cpu, features = target or isa.target_cpu(isa.current())
    if _lacks_multiply_add(features):
        multiply_add.define(linked)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=3, codemodel="small", reloc="pic"
    )
    code: bytes = machine.emit_object(linked)
    return code


def _lacks_multiply_add(features: str) -> bool:
    """Returns whether LLVM would call a library; every path but the generic one has the instruction."""
    generic = isa.current() is isa.Isa.GENERIC and processor.machine() != "aarch64"
    return generic and "+fma" not in features.split(",")


@contextlib.contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Delays the garbage collector: Numba makes millions of lasting objects, and searching them takes a tenth of the
    time."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def llvm_version() -> str:
    return ".".join(map(str, llvm.llvm_version_info))
