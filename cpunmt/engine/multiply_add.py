"""x * y + z with one rounding, for processors without the instruction: part of the program itself.

LLVM would call fmaf of the C library for each float, so the program would need that library, and run at its speed.
This module computes with doubles on whole vectors, which has the same bits.

The product of two floats is exact in a double (48 of 53 bits). The sum with z is rounded there, and rounding it again
to a float could be wrong. So the sum is rounded to odd instead: if it is inexact, the last bit of the truncated sum is
set. A float, whose precision is less than half of that, is then rounded from it as from the exact sum (Boldo and
Melquiond 2008, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd, theorem 1 and
section 4). The rounding error of the sum is known exactly (Knuth's TwoSum), and no product of floats leaves a double's
range.
"""

import re

import llvmlite.binding as llvm

_INTRINSIC = re.compile(r"llvm\.fma\.(?:v(\d+))?f32")

_DEFINITION = """
define hidden {floats} @{name}({floats} %x, {floats} %y, {floats} %z) noinline nounwind {{
  %a = fpext {floats} %x to {doubles}
  %b = fpext {floats} %y to {doubles}
  %c = fpext {floats} %z to {doubles}
  %product = fmul {doubles} %a, %b
  %sum = fadd {doubles} %product, %c
  %c_part = fsub {doubles} %sum, %product
  %product_part = fsub {doubles} %sum, %c_part
  %product_lost = fsub {doubles} %product, %product_part
  %c_lost = fsub {doubles} %c, %c_part
  %lost = fadd {doubles} %product_lost, %c_lost
  %inexact = fcmp one {doubles} %lost, zeroinitializer
  %mask = sext {bools} %inexact to {words}
  %one = lshr {words} %mask, {sixty_three}
  %bits = bitcast {doubles} %sum to {words}
  %lost_bits = bitcast {doubles} %lost to {words}
  %signs = xor {words} %bits, %lost_bits
  %beyond = lshr {words} %signs, {sixty_three}
  %back = and {words} %beyond, %one
  %truncated = sub {words} %bits, %back
  %odd = or {words} %truncated, %one
  %result = bitcast {words} %odd to {doubles}
  %rounded = fptrunc {doubles} %result to {floats}
  ret {floats} %rounded
}}
"""


def definition(name: str, lanes: int) -> str:
    """Returns LLVM code of a function `name` of three vectors of `lanes` floats."""
    kinds = {"floats": "float", "doubles": "double", "words": "i64", "bools": "i1"}
    return _DEFINITION.format(
        name=name,
        sixty_three=f"<{', '.join(['i64 63'] * lanes)}>",
        **{kind: f"<{lanes} x {element}>" for kind, element in kinds.items()},
    )


def _scalar(name: str) -> str:
    return f"""
define hidden float @{name}(float %x, float %y, float %z) nounwind {{
  %a = insertelement <1 x float> undef, float %x, i32 0
  %b = insertelement <1 x float> undef, float %y, i32 0
  %c = insertelement <1 x float> undef, float %z, i32 0
  %made = call <1 x float> @{name}_v1(<1 x float> %a, <1 x float> %b, <1 x float> %c)
  %result = extractelement <1 x float> %made, i32 0
  ret float %result
}}
{definition(name + "_v1", 1)}"""


def define(module: llvm.ModuleRef) -> None:
    """Makes `module` call its own functions instead of the missing instruction."""
    for function in [function for function in module.functions if function.name.startswith("llvm.fma.")]:
        found = _INTRINSIC.fullmatch(function.name)
        if not found:
            raise TypeError(f"{function.name}: only floats are multiplied and added without the instruction")
        lanes = found[1]
        function.name = f"fused_multiply_add_{lanes or 'float'}"  # not an intrinsic any more
        code = definition(function.name, int(lanes)) if lanes else _scalar(function.name)
        module.link_in(llvm.parse_assembly(code))
