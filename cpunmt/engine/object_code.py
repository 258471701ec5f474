"""Machine code from an object file, which LLVM loads into memory: a new program, or a stored one."""

import functools
from collections.abc import Callable
from typing import TypeVar

import llvmlite.binding as llvm

T = TypeVar("T")


@functools.cache
def initialize_llvm() -> None:
    """Initializes LLVM, once in a process, before any compiling or loading."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class ObjectCode:
    """An object file in memory."""

    def __init__(self, code: bytes) -> None:
        initialize_llvm()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="small", reloc="pic")
        # use_lmm: puts all sections into one piece of memory. In fragmented memory a section may otherwise be too far
        # away for an address in the code, which ends the process.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, symbol: str, prototype: Callable[..., T]) -> T:
        """Returns the function `symbol` as a callable of type `prototype` (ctypes.CFUNCTYPE)."""
        return prototype(self._engine.get_function_address(symbol))

    def data(self, symbol: str) -> int:
        """Returns the address of a variable."""
        return int(self._engine.get_global_value_address(symbol))
