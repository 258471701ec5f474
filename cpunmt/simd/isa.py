"""The instructions that this process uses: detected once, lowered by `CPUNMT_ISA`.

An `Isa` decides the inner instructions of the integer products (`simd/dot_products`), the shapes of register tiles
(`simd/tile_shapes`) and the instructions that LLVM may emit for all other code. It never decides a result: every path
returns the same bits (tests/simd/test_isa_equality).
"""

import ctypes
import enum
import functools
import os
import sys
from typing import Any, NamedTuple

from cpunmt.errors import UnsupportedIsaError
from cpunmt.process.first_use import LOCK
from cpunmt.simd import processor


class Isa(enum.Enum):
    """Instruction sets with their own integer products, best first: of x86-64, of aarch64, of any machine."""

    AMX_INT8 = "amx_int8"  # tdpbusd on matrix registers for many rows, for few the same as:
    AVX512_VNNI = "avx512_vnni"  # vpdpbusd and vpdpwssd on 512-bit registers
    AVX_VNNI = "avx_vnni"  # the same on 256-bit registers
    AVX2 = "avx2"  # vpsignb, vpmaddubsw, vpmaddwd
    I8MM = "i8mm"  # smmla: two rows by two columns; for up to three rows the same as:
    DOTPROD = "dotprod"  # sdot on 128-bit registers
    NEON = "neon"  # smull, smlal, sadalp
    GENERIC = "generic"  # LLVM's code for plain vectors, on any processor


class _Path(NamedTuple):
    """The requirements of an instruction set, and the storage of its activations."""

    needs: set[str]  # in LLVM's names
    lowered: tuple[str, str]  # (processor, features) that LLVM compiles for on a better machine
    # An activation q in [-128, 127] is stored in a byte as q + offset. The left operand of vpdpbusd is unsigned; a
    # product's start values then subtract offset * (sum of the column's weights).
    offset: int = 0
    # The number of stored forms of a row of activations. Two on AVX2, q and then |q|: vpsignb moves the sign of q onto
    # the weight, so that vpmaddubsw multiplies |q|, at most 128, and its 16-bit sum of two products (at most
    # 2 * 128 * 127) cannot saturate.
    planes: int = 1


# All features of x86-64-v3 and v4 that LLVM may use, not only ours, since a host may hide any of them from its guests.
_V3 = {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe", "popcnt"}
_AVX512_VNNI = {*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"}
_PATHS = {
    Isa.AMX_INT8: _Path(
        {*_AVX512_VNNI, "amx-tile", "amx-int8"}, ("x86-64-v4", "+avx512vnni,+amx-tile,+amx-int8"), offset=128
    ),
    Isa.AVX512_VNNI: _Path(_AVX512_VNNI, ("x86-64-v4", "+avx512vnni"), offset=128),
    Isa.AVX_VNNI: _Path({*_V3, "avxvnni"}, ("x86-64-v3", "+avxvnni"), offset=128),
    Isa.AVX2: _Path(_V3, ("x86-64-v3", ""), planes=2),
    Isa.I8MM: _Path({"neon", "dotprod", "i8mm"}, ("generic", "+neon,+dotprod,+i8mm")),
    Isa.DOTPROD: _Path({"neon", "dotprod"}, ("generic", "+neon,+dotprod")),
    Isa.NEON: _Path({"neon"}, ("generic", "+neon")),
    Isa.GENERIC: _Path(set(), ("generic", "")),
}
# target of the generic path on a better processor
_BASELINES = {"x86_64": ("x86-64", ""), "aarch64": ("generic", "+neon")}


# Linux' arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); https://docs.kernel.org/arch/x86/xstate.html
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


def supported() -> list[Isa]:
    """Returns the paths that run on this machine, best first."""
    return list(filter(_runs, Isa))


def _present(isa: Isa) -> bool:
    return processor.features() >= _PATHS[isa].needs


def _runs(isa: Isa) -> bool:
    return isa not in _given_up and _present(isa) and (isa is not Isa.AMX_INT8 or _matrix_registers())


@functools.cache
def _matrix_registers() -> bool:
    """Returns whether Linux lets this process use AMX, after asking for it: its registers make signal frames larger.

    Linux refuses if a thread's stack for signals is too small; once it allows AMX, it refuses such stacks. So this is
    called only if the answer matters. The answer holds for all threads, and for forked children.
    """
    if sys.platform != "linux" or processor.machine() != "x86_64":
        return False
    try:
        return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)
    except (OSError, AttributeError):
        return False


_compiled_for: list[Isa] = []  # the target path of this process, when it compiles for another machine


def compile_for(isa: Isa) -> None:
    """Makes `isa` the path of this process, which may lack its instructions: it must not run any compiled code."""
    _compiled_for[:] = [isa]
    current.cache_clear()


_given_up: set[Isa] = set()  # paths that this process excludes, even if the processor supports them


def give_up(isa: Isa) -> None:
    """Excludes `isa`, for which LLVM cannot compile here; afterwards `current` is the best of the other paths.

    A loaded model holds activations in the form of `isa`, so paths with another form are excluded
    too. Raises UnsupportedIsaError if no path is left, or if `CPUNMT_ISA` names `isa`.
    """
    stored = _PATHS[isa].offset, _PATHS[isa].planes
    paths = list(filter(_present, Isa))
    usable = ", ".join(path.value for path in paths[paths.index(isa) + 1 :])
    _given_up.update(path for path in Isa if path is isa or (_PATHS[path].offset, _PATHS[path].planes) != stored)
    current.cache_clear()
    if os.environ.get("CPUNMT_ISA", "").strip() or not supported():
        raise UnsupportedIsaError(f"LLVM cannot compile for {isa.value} here; set CPUNMT_ISA to one of: {usable}")


@functools.cache
def current() -> Isa:
    """Returns the path of this process: the best supported one, or the one that `CPUNMT_ISA` names.

    Raises UnsupportedIsaError if that name is unknown, or not supported here.
    """
    if _compiled_for:
        return _compiled_for[0]
    name = os.environ.get("CPUNMT_ISA", "").strip().lower()
    if not name:
        return next(filter(_runs, Isa))
    known = name in {isa.value for isa in Isa}
    if known and _runs(Isa(name)):
        return Isa(name)
    usable = ", ".join(isa.value for isa in supported())
    if not known:
        raise UnsupportedIsaError(
            f"CPUNMT_ISA={name!r} is not an instruction set that cpunmt knows; use one of: {usable}"
        )
    if _present(Isa(name)):
        reason = "the operating system does not let this process use it"
    else:
        reason = "this processor does not support it"
    raise UnsupportedIsaError(f"CPUNMT_ISA={name!r}: {reason}; use one of: {usable}")


def target_cpu(isa: Isa, tuned: bool = True) -> tuple[str, str]:
    """Returns the (processor, features) that LLVM compiles for: those of the path; if `tuned`, those of this very
    processor, provided that this is its best path."""
    if tuned and isa is next(filter(_present, Isa)):
        name, found = _host_of_llvm()
        return name, ",".join([*filter(None, [found.flatten()]), *(f"+{needed}" for needed in unseen(isa))])
    return _BASELINES.get(processor.machine(), ("generic", "")) if isa is Isa.GENERIC else _PATHS[isa].lowered


def unseen(isa: Isa) -> list[str]:
    """Returns the features that `isa` needs and LLVM does not find in this processor, sorted.

    LLVM reads the features of aarch64 in /proc/cpuinfo, which a container or an emulator may lack. Numba then compiles
    without them, and LLVM ends the process if it lacks an instruction for an operation.
    """
    found = _host_of_llvm()[1]
    return sorted(needed for needed in _PATHS[isa].needs if not found.get(needed))


def _host_of_llvm() -> tuple[str, Any]:
    """Returns LLVM's name of this processor and its map of features."""
    import llvmlite.binding as llvm

    with LOCK:  # llvmlite has its own lock
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features()


def activation_offset() -> int:
    """Returns the offset of stored activations: q + offset fits a byte."""
    return _PATHS[current()].offset


def activation_planes() -> int:
    """Returns the number of stored forms of a row of activations: q, and |q| if there are two."""
    return _PATHS[current()].planes
