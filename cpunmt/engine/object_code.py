"""Machine code as an object file, which LLVM puts into memory: of a compiled program, and of the one that is kept."""

import functools

import llvmlite.binding as llvm


@functools.cache
def initialize_llvm() -> None:
    """Once in a process, before anything is compiled or loaded."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class ObjectCode:
    """An object file in memory."""

    def __init__(self, code: bytes):
        initialize_llvm()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="small", reloc="pic")
        # use_lmm: all sections in one piece of memory. Without it each lies where there is room, and in a process whose
        # memory is in pieces that may be too far away for an address in the code, which ends the process.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, symbol: str, prototype):
        """What `prototype` (ctypes.CFUNCTYPE) calls by the name `symbol`."""
        return prototype(self._engine.get_function_address(symbol))

    def data(self, symbol: str) -> int:
        """Address of a variable."""
        return self._engine.get_global_value_address(symbol)
