"""Compiles all kernels to one object file.

Needs Numba. If `Target` is None, it compiles for this process's path, tuned for this processor if that is its best; a
wheel's programs are compiled for a target that any processor of the path supports (`tools/programs.py`).
"""

import contextlib
import gc
import importlib
import os
import subprocess
import sys
from typing import NamedTuple

import llvmlite.binding as llvm

from cpunmt.engine import multiply_add
from cpunmt.engine.numba_settings import default_settings
from cpunmt.engine.object_code import initialize_llvm
from cpunmt.engine.program_files import content
from cpunmt.simd import isa, processor

ENTRIES = ("cpunmt.search.beam", "cpunmt.search.stop")  # importing them defines every kernel,
_OURS = "cpunmt."  # prefix of the names of our modules


# The program of a process that compiles for its path and writes the content of the program file
_APART = (
    "import sys; sys.path[:] = {path!r}; from cpunmt.engine import compiler; from cpunmt.simd import isa; "
    "target = compiler.Target(*isa.target_cpu(isa.current())); "
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


def build(progress=iter, foreign: bool = False, target: Target | None = None) -> Built:
    """Compiles every kernel. `progress` wraps the list, to count along (tqdm).

    `foreign`: includes kernels that other code, such as a benchmark, defined in this process.
    `target`: the target instead of this processor; the process must not compile for any other.
    """
    with default_settings(*(target or ())), _rarely_collecting():
        for entry in ENTRIES:
            importlib.import_module(entry)
        from cpunmt.simd import jit

        initialize_llvm()
        kernels = [kernel for kernel in jit.KERNELS.values() if foreign or kernel.function.__module__.startswith(_OURS)]
        modules = {kernel.name: kernel.compile() for kernel in progress(kernels)}
        first, *others = sorted(modules)  # the same bytes for any order of imports
        linked = modules[first]
        for name in others:
            linked.link_in(modules[name])
        signatures = {name: jit.KERNELS[name].letters for name in sorted(modules)}
    return Built(emit(linked, target), signatures)


def build_content(progress=iter) -> bytes:
    """Compiles every kernel for this process's path; returns the content of a program file.

    If LLVM does not see the features of the path in this processor, another process compiles, without `progress`, since
    LLVM aborts a process if it finds no instruction for an operation. Raises CannotCompileError if that happens.
    """
    path = isa.current()
    if not isa.unseen(path):
        return content(*build(progress))
    command = [sys.executable, "-c", _APART.format(path=sys.path)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "CPUNMT_ISA": path.value}
        )
    except OSError as error:
        raise CannotCompileError(f"no process for it can be started: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").splitlines()
        told = [line for line in said if line.startswith("LLVM ERROR")] or said[-1:]
        raise CannotCompileError(*told or [f"exit status {done.returncode}"])
    return done.stdout


def emit(linked: llvm.ModuleRef, target: Target | None = None) -> bytes:
    """Returns object code of a module, for this process's path."""
    cpu, features = target or isa.target_cpu(isa.current())
    if _lacks_multiply_add(features):
        multiply_add.define(linked)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=3, codemodel="small", reloc="pic"
    )
    return machine.emit_object(linked)


def _lacks_multiply_add(features: str) -> bool:
    """Returns whether LLVM would call a library; every path except the generic one has the instruction."""
    generic = isa.current() is isa.Isa.GENERIC and processor.machine() != "aarch64"
    return generic and "+fma" not in features.split(",")


@contextlib.contextmanager
def _rarely_collecting():
    """Delays the garbage collector: searching Numba's millions of lasting objects takes a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def llvm_version() -> str:
    """Returns the version of the LLVM that compiles."""
    return ".".join(map(str, llvm.llvm_version_info))
