"""The program with a clock around every kernel: the time of a real translation, by phase.

Kernels call one another by symbol. So each is renamed, and a wrapper takes its name: it reads the cycle counter before
and after, and counts the difference minus the time of kernels called from there. Nothing else changes. A wrapper costs
some 20 ns a call, which is counted for the caller.
"""

import ctypes
from collections.abc import Mapping

import llvmlite.binding as llvm
import numpy as np

from cpunmt.engine.compiler import emit
from cpunmt.engine.object_code import ObjectCode, initialize_llvm
from cpunmt.engine.program import Program
from cpunmt.simd import jit

_LLVM = {"i": "i64", "f": "float", "v": "void"}
ENTERED = {"encode": "encoder"}  # kernel -> its phase, which lasts until it returns
ELSE = "decoder"  # the phase outside the others
PHASES = ("encoder", ELSE)

# kernels that are matrix products, and parts of them
PRODUCTS = ("int8_linear", "int8_panels", "decode_panels", "int16_linear", "float_linear", "float_matmul")

_WRAPPER = """
@profile = external global [{size} x i64]
@profile_inner = external global i64
@profile_phase = external global i64
declare i64 @llvm.readcyclecounter()
declare {result} @{real}({types})
define {result} @{symbol}({typed}) {{
  %outer = load i64, ptr @profile_inner
  %phase_before = load i64, ptr @profile_phase
  {enter}
  store i64 0, ptr @profile_inner
  %phase = load i64, ptr @profile_phase
  %begin = call i64 @llvm.readcyclecounter()
  {call} {result} @{real}({typed})
  %end = call i64 @llvm.readcyclecounter()
  %whole = sub i64 %end, %begin
  %inner = load i64, ptr @profile_inner
  %own = sub i64 %whole, %inner
  %row = mul i64 %phase, {kernels}
  %place = add i64 %row, {index}
  %twice = mul i64 %place, 2
  %cycles = getelementptr i64, ptr @profile, i64 %twice
  %calls = getelementptr i64, ptr %cycles, i64 1
  %c0 = load i64, ptr %cycles
  %c1 = add i64 %c0, %own
  store i64 %c1, ptr %cycles
  %n0 = load i64, ptr %calls
  %n1 = add i64 %n0, 1
  store i64 %n1, ptr %calls
  %back = add i64 %outer, %whole
  store i64 %back, ptr @profile_inner
  store i64 %phase_before, ptr @profile_phase
  ret {result} {value}
}}
"""


class Profiled(Program):
    """A Program that counts cycles.

    names    of all kernels
    phases   those of ENTERED and the additional `entered`
    counts   int64 [phases, kernels, 2]: cycles of its own, and calls
    """

    def __init__(self, entered: Mapping[str, str] | None = None):
        """`entered`: further kernels, as in ENTERED."""
        import cpunmt.search.beam  # noqa: F401  defines the kernels

        self.names, self._entered = list(jit.KERNELS), {**ENTERED, **(entered or {})}
        self.phases = list(dict.fromkeys([*PHASES, *self._entered.values()]))
        size = 2 * len(self.phases) * len(self.names)
        linked = llvm.parse_assembly(
            f"@profile = global [{size} x i64] zeroinitializer\n"
            f"@profile_inner = global i64 0\n@profile_phase = global i64 {self.phases.index(ELSE)}\n"
        )
        initialize_llvm()
        for index, kernel in enumerate(jit.KERNELS.values()):
            module = kernel.compile()
            module.get_function(kernel.symbol).name = f"real_{kernel.name}"
            linked.link_in(module)
            linked.link_in(llvm.parse_assembly(self._wrapper(kernel, index, size)))
        signatures = {kernel.name: kernel.letters for kernel in jit.KERNELS.values()}
        code = ObjectCode(emit(linked))
        super().__init__(code, signatures)
        address = code.data("profile")
        counters = (ctypes.c_int64 * size).from_address(address)
        self.counts = np.frombuffer(counters, np.int64).reshape(len(self.phases), len(self.names), 2)

    def _wrapper(self, kernel, index, size):
        result, *arguments = [_LLVM[letter] for letter in kernel.letters]
        phase = self._entered.get(kernel.name)
        return _WRAPPER.format(
            size=size,
            kernels=len(self.names),
            index=index,
            result=result,
            real=f"real_{kernel.name}",
            symbol=kernel.symbol,
            types=", ".join(arguments),
            typed=", ".join(f"{kind} %a{i}" for i, kind in enumerate(arguments)),
            call="call" if result == "void" else "%value = call",
            value="" if result == "void" else "%value",
            enter=f"store i64 {self.phases.index(phase)}, ptr @profile_phase" if phase else "",
        )
