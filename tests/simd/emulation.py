"""Runs the program of a processor with VNNI, AMX or Arm's instructions on a machine without these. A script for tests:

    CPUNMT_ISA=avx512_vnni python -m tests.simd.emulation MODULE    runs MODULE's main() on that program

Numba compiles every kernel for that processor, but this code does not run. The same code then gets functions instead of
the instructions (`emulated_vectors`, `emulated_matrices`), and is compiled for this machine.
"""

import contextlib
import importlib
import os
import sys
import tempfile

import llvmlite.binding as llvm

from cpunmt.engine import compiler, prebuilt, program
from cpunmt.simd import isa, processor
from tests.simd import emulated_arm, emulated_matrices, emulated_vectors

PROCESSORS = {path.value: row.lowered for path, row in isa._PATHS.items() if row.offset}
ARM = [path.value for path, row in isa._PATHS.items() if "neon" in row.needs]


def emulated(code: str) -> str:
    """Replaces the instructions in LLVM `code` by functions."""
    return emulated_arm.emulated(emulated_matrices.emulated(emulated_vectors.emulated(code)))


def pretend():
    """Pretends to run on the processor that CPUNMT_ISA names; call it before importing Numba or kernels."""
    if os.environ["CPUNMT_ISA"] not in ARM:  # Numba's code for Arm cannot run here
        cpu, features = PROCESSORS[os.environ["CPUNMT_ISA"]]
        os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = cpu, features
    everything = frozenset().union(*(row.needs for row in isa._PATHS.values()))
    processor.features = lambda: everything
    isa._matrix_registers = lambda: True


_ARMS, _HIDDEN = "llvm.aarch64.", "hidden.llvm.aarch64."


def _hide_instructions():
    """Renames Arm's instructions to functions; otherwise Numba would try to compile them for this machine.

    Call it before importing modules that emit them.
    """
    from cpunmt.simd import emission

    call_llvm = emission.call_llvm

    def call(builder, name, result_type, arguments):
        if name.startswith(_ARMS):
            name = name.replace(_ARMS, _HIDDEN)
            llvm.add_symbol(name, 1 << 12)  # an address that is never called
        return call_llvm(builder, name, result_type, arguments)

    emission.call_llvm = call


def install():
    """Makes the emulated program the one that `program.load()` finds."""
    pretend()
    compiler.default_settings = contextlib.nullcontext  # otherwise Numba would not compile for that processor
    compiler.processes_here = lambda: 1  # others would not be changed like this one
    isa.target_cpu = lambda path, tuned=True: (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    isa.unseen = lambda path: []  # undetected features are emulated
    from cpunmt.simd import jit

    if isa.current().value in ARM:
        _hide_instructions()
    compile_for_another, found, with_matrices = jit.Kernel.compile, [], []

    def compile_for_here(kernel):
        module = compile_for_another(kernel)
        code = str(module).replace(_HIDDEN, _ARMS)
        changed = emulated(code)
        if changed == code:
            return module
        found.append(kernel.name)
        if emulated_matrices.INSTRUCTION.search(code):
            with_matrices.append(kernel.name)
        return llvm.parse_assembly(changed)

    jit.Kernel.compile = compile_for_here
    prebuilt.FOLDER = prebuilt.FOLDER / "none"
    program.load()
    expected = {"int8_panels", "int16_linear", "score_pieces", "sparse_row"}
    if isa.current() is isa.Isa.NEON:
        expected.remove("sparse_row")  # plain code there
    assert expected <= set(found), "a kernel lacks its instruction"
    assert bool(with_matrices) == (isa.current() is isa.Isa.AMX_INT8)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CPUNMT_CACHE_DIR"] = folder  # on such a machine this is not the real program
        install()
        importlib.import_module(sys.argv[1]).main()
    assert emulated_matrices.registers.released
