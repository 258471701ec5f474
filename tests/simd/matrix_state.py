"""Reads the state of AMX in this process from Linux and the processor; None without AMX."""

import ctypes
import functools

import numpy as np

from tests.simd.loaded_code import loaded

_ARCH_PRCTL, _GET_PERMISSIONS, _CONFIGURATION, _DATA = 158, 0x1022, 17, 18  # docs.kernel.org/arch/x86/xstate.html

SMALL_STACK = """
import ctypes
class _Stack(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
_memory = ctypes.create_string_buffer(4096)  # of 2.6 KB a signal frame with AVX-512, of 11 KB one with AMX
_stack = _Stack(ctypes.addressof(_memory), 0, len(_memory))
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(_stack), None) == 0
"""


def permitted() -> bool:
    """Returns whether this process may use AMX: it or a parent has requested it."""
    found = ctypes.c_uint64()
    assert ctypes.CDLL(None).syscall(_ARCH_PRCTL, _GET_PERMISSIONS, ctypes.byref(found)) == 0
    return bool(found.value >> _DATA & 1)


CODE = """
declare i64 @llvm.x86.xgetbv(i32)
declare void @llvm.x86.ldtilecfg(ptr)
define i64 @xgetbv(i32 %number) {
  %found = call i64 @llvm.x86.xgetbv(i32 %number)
  ret i64 %found
}
define void @configure(ptr %place) {
  call void @llvm.x86.ldtilecfg(ptr %place)
  ret void
}
"""


@functools.cache
def _compiled(name, *types):
    engine, address = loaded(CODE, name)
    function = ctypes.CFUNCTYPE(*types)(address)
    function.engine = engine  # owns the code
    return function


def in_use() -> bool:
    """Returns whether this thread's matrix registers hold anything that a context switch must save."""
    return bool(_compiled("xgetbv", ctypes.c_uint64, ctypes.c_uint32)(1) >> _CONFIGURATION & 3)  # XINUSE


def configure():
    """Configures one matrix register of one row in this thread."""
    one = np.zeros(64, np.uint8)
    one[[0, 16, 48]] = 1, 4, 1
    _compiled("configure", None, ctypes.c_void_p)(one.ctypes.data)
