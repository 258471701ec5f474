"""Run the program of a VNNI processor on a machine without that instruction. A script for tests:

    CPUNMT_ISA=avx512_vnni python -m tests.simd.emulated_vnni MODULE    runs MODULE's main() on that program

Numba compiles every kernel for the VNNI processor, instruction included; nothing of that runs. The same code
then gets a vpdpbusd written in plain LLVM code, and is compiled for this machine. What is proven: operand
order, offsets and layout around the instruction; what is not: the instruction itself.
"""

import importlib
import os
import re
import sys
import tempfile

import llvmlite.binding as llvm

from cpunmt import program
from cpunmt.simd import isa

PROCESSORS = {"avx512_vnni": ("x86-64-v4", "+avx512vnni"), "avx_vnni": ("x86-64-v3", "+avxvnni")}
DECLARATION = re.compile(
    r"^declare <(\d+) x i32> @(llvm\.[\w.]*vpdpbusd[\w.]*)\(<\d+ x i32>, (<.*?>), <.*?>\).*$", re.M
)


def emulated(code: str) -> str:
    """LLVM `code` with a function in place of the instruction: sums + unsigned bytes * signed bytes, four each."""
    for declaration in list(DECLARATION.finditer(code)):
        lanes, name, operand = int(declaration[1]), declaration[2], declaration[3]
        sums, narrow, wide = f"<{lanes} x i32>", f"<{4 * lanes} x i8>", f"<{4 * lanes} x i32>"
        lines = [
            f"define internal {sums} @emulated.{name}({sums} %t0, {operand} %x, {operand} %y) {{",
            f"%a = bitcast {operand} %x to {narrow}",
            f"%b = bitcast {operand} %y to {narrow}",
            f"%unsigned = zext {narrow} %a to {wide}",
            f"%signed = sext {narrow} %b to {wide}",
            f"%products = mul {wide} %unsigned, %signed",
        ]
        for j in range(4):
            places = ", ".join(f"i32 {4 * lane + j}" for lane in range(lanes))
            lines.append(f"%p{j} = shufflevector {wide} %products, {wide} poison, {sums} <{places}>")
            lines.append(f"%t{j + 1} = add {sums} %t{j}, %p{j}")
        code = code.replace(declaration[0], "\n".join([*lines, f"ret {sums} %t4", "}"]))
        code = re.sub(rf"(call [^\n]*)@{re.escape(name)}\(", rf"\1@emulated.{name}(", code)
    return code


def pretend():
    """Make this process one of the VNNI processor that CPUNMT_ISA names; before Numba or the kernels are imported."""
    cpu, features = PROCESSORS[os.environ["CPUNMT_ISA"]]
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = cpu, features
    everything = frozenset().union(*isa._FEATURES.values())
    isa.host_features = lambda: everything


def install():
    """Make the emulated program the one that `program.load()` finds."""
    pretend()
    isa.target_cpu = lambda path: (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    from cpunmt import jit

    compile_for_vnni, found = jit.Kernel.compile, []

    def compile_for_here(kernel):
        module = compile_for_vnni(kernel)
        if not DECLARATION.search(str(module)):
            return module
        found.append(kernel.name)
        return llvm.parse_assembly(emulated(str(module)))

    jit.Kernel.compile = compile_for_here
    program.load()
    assert found, "no kernel contains the instruction"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CPUNMT_CACHE_DIR"] = folder  # on a VNNI machine this is not the real program
        install()
        importlib.import_module(sys.argv[1]).main()
