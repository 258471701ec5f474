"""Instructions of aarch64, written in plain LLVM code: sdot, usdot, smmla, smull, saddlp, tbl.

They test the operand order and layout around the instructions, not the instructions themselves; these are tested by an
emulator of the whole processor: `make test-arm`.
"""

import re

from tests.simd.emulated_vectors import replaced

DECLARATION = re.compile(r"^declare (<[^>]*>) @(llvm\.aarch64\.neon\.(\w+)\.[\w.]+)\(([^)]*)\).*$", re.M)


def emulated(code: str) -> str:
    """Replaces the instructions in LLVM `code` by functions of plain LLVM code."""
    for declaration in list(DECLARATION.finditer(code)):
        result, name, instruction = declaration[1], declaration[2], declaration[3]
        operands = re.findall(r"<[^>]*>", declaration[4])
        given = ", ".join(f"{kind} %x{i}" for i, kind in enumerate(operands))
        lines = [f"define internal {result} @emulated.{name}({given}) {{", *_BODIES[instruction](result, operands), "}"]
        code = replaced(code, declaration[0], name, lines)
    return code


def _lanes(kind: str) -> tuple[int, int]:
    """Returns (lanes, bits) of a vector's type."""
    count, bits = re.fullmatch(r"<(\d+) x i(\d+)>", kind).groups()
    return int(count), int(bits)


def _shuffle(made, source, kind, lanes):
    places = ", ".join(f"i32 {lane}" for lane in lanes)
    return f"%{made} = shufflevector {kind} %{source}, {kind} poison, <{len(lanes)} x i32> <{places}>"


def _dot(widen):
    """Returns, in lane i, the sum plus the products of lanes 4 i to 4 i + 3."""

    def body(result, operands):
        lines = [
            f"%a = {widen} {operands[1]} %x1 to <16 x i32>",
            f"%b = sext {operands[2]} %x2 to <16 x i32>",
            "%p = mul <16 x i32> %a, %b",
            f"%t0 = add {result} %x0, zeroinitializer",
        ]
        for j in range(4):
            lines.append(_shuffle(f"p{j}", "p", "<16 x i32>", [4 * lane + j for lane in range(4)]))
            lines.append(f"%t{j + 1} = add {result} %t{j}, %p{j}")
        return [*lines, f"ret {result} %t4"]

    return body


def _matrix(result, operands):
    """Returns in lane 2 i + j the sum plus the products of lanes 8 i to 8 i + 7 and lanes 8 j to 8 j + 7."""
    lines = [f"%{a} = sext {operands[i]} %x{i} to <16 x i32>" for i, a in ((1, "a"), (2, "b"))]
    lines.append(f"%t0 = add {result} %x0, zeroinitializer")
    for k in range(8):
        lines.append(_shuffle(f"a{k}", "a", "<16 x i32>", [k, k, 8 + k, 8 + k]))
        lines.append(_shuffle(f"b{k}", "b", "<16 x i32>", [k, 8 + k, k, 8 + k]))
        lines += [f"%p{k} = mul {result} %a{k}, %b{k}", f"%t{k + 1} = add {result} %t{k}, %p{k}"]
    return [*lines, f"ret {result} %t8"]


def _product(result, operands):
    lines = [f"%{a} = sext {kind} %x{i} to {result}" for i, (a, kind) in enumerate(zip("ab", operands, strict=True))]
    return [*lines, f"%p = mul {result} %a, %b", f"ret {result} %p"]


def _pairs(result, operands):
    """Returns sums of neighbours."""
    count, _ = _lanes(result)
    wide = f"<{2 * count} x i32>"
    lines = [f"%a = sext {operands[0]} %x0 to {wide}"]
    lines += [_shuffle(f"p{j}", "a", wide, [2 * lane + j for lane in range(count)]) for j in (0, 1)]
    return [*lines, f"%t = add {result} %p0, %p1", f"ret {result} %t"]


def _look_up(result, operands):
    """Returns byte k of the table for each k; 0 beyond the table."""
    lines = [f"%r0 = add {result} zeroinitializer, zeroinitializer"]
    for i in range(16):
        lines += [
            f"%n{i} = extractelement {result} %x1, i32 {i}",
            f"%inside{i} = icmp ult i8 %n{i}, 16",
            f"%k{i} = and i8 %n{i}, 15",
            f"%v{i} = extractelement {result} %x0, i8 %k{i}",
            f"%w{i} = select i1 %inside{i}, i8 %v{i}, i8 0",
            f"%r{i + 1} = insertelement {result} %r{i}, i8 %w{i}, i32 {i}",
        ]
    return [*lines, f"ret {result} %r16"]


_BODIES = {
    "sdot": _dot("sext"),
    "usdot": _dot("zext"),
    "smmla": _matrix,
    "smull": _product,
    "saddlp": _pairs,
    "tbl1": _look_up,
}
