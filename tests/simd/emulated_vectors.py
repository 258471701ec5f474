"""Vector instructions that a machine may lack, written in plain LLVM code: vpdpbusd, vpdpwssd, vpcompressd, vpshufb.

They test the operand order, offsets and layout around the instructions, not the instructions themselves.
"""

import re

# product of bytes, product of words, look-up of bytes, compression of lanes
DECLARATION = re.compile(
    r"^declare <(\d+) x i32> @(llvm\.[\w.]*vpdp(busd|wssd)[\w.]*)\(<\d+ x i32>, (<.*?>), <.*?>\).*$", re.M
)
SHUFFLE = re.compile(r"^declare <64 x i8> @(llvm\.x86\.avx512\.pshuf\.b\.512)\(.*$", re.M)
COMPRESS = re.compile(r"^declare <16 x i32> @(llvm\.x86\.avx512\.mask\.compress[\w.]*)\(.*$", re.M)
KINDS = {"busd": (8, "zext"), "wssd": (16, "sext")}  # bits of an operand's lane, and the extension of the first operand


def emulated(code: str) -> str:
    """Replaces the instructions in LLVM `code` by functions of plain LLVM code."""
    for declaration in list(DECLARATION.finditer(code)):
        lanes, name, operand = int(declaration[1]), declaration[2], declaration[4]
        bits, widen = KINDS[declaration[3]]
        group = 32 // bits
        sums, narrow, wide = f"<{lanes} x i32>", f"<{group * lanes} x i{bits}>", f"<{group * lanes} x i32>"
        lines = [
            f"define internal {sums} @emulated.{name}({sums} %t0, {operand} %x, {operand} %y) {{",
            f"%a = bitcast {operand} %x to {narrow}",
            f"%b = bitcast {operand} %y to {narrow}",
            f"%first = {widen} {narrow} %a to {wide}",
            f"%second = sext {narrow} %b to {wide}",
            f"%products = mul {wide} %first, %second",
        ]
        for j in range(group):
            places = ", ".join(f"i32 {group * lane + j}" for lane in range(lanes))
            lines.append(f"%p{j} = shufflevector {wide} %products, {wide} poison, {sums} <{places}>")
            lines.append(f"%t{j + 1} = add {sums} %t{j}, %p{j}")
        code = replaced(code, declaration[0], name, [*lines, f"ret {sums} %t{group}", "}"])
    for declaration in list(SHUFFLE.finditer(code)):
        code = replaced(code, declaration[0], declaration[1], _shuffle(declaration[1]))
    for declaration in list(COMPRESS.finditer(code)):
        code = replaced(code, declaration[0], declaration[1], _compress(declaration[1]))
    return code


def replaced(code: str, declaration: str, name: str, lines: list[str]) -> str:
    """Replaces a declaration in LLVM `code` by a function of these lines, and its calls."""
    code = code.replace(declaration, "\n".join(lines))
    return re.sub(rf"(call [^\n]*)@{re.escape(name)}\(", rf"\1@emulated.{name}(", code)


def _shuffle(name):
    """In each 16 bytes, looks up byte k of the first operand, with k the low half of each byte of the second."""
    lines = [
        f"define internal <64 x i8> @emulated.{name}(<64 x i8> %table, <64 x i8> %numbers) {{",
        "%r0 = bitcast i512 0 to <64 x i8>",
    ]
    for i in range(64):
        lines += [
            f"%n{i} = extractelement <64 x i8> %numbers, i32 {i}",
            f"%k{i} = and i8 %n{i}, 15",
            f"%p{i} = add i8 %k{i}, {i // 16 * 16}",
            f"%v{i} = extractelement <64 x i8> %table, i8 %p{i}",
            f"%r{i + 1} = insertelement <64 x i8> %r{i}, i8 %v{i}, i32 {i}",
        ]
    return [*lines, "ret <64 x i8> %r64", "}"]


def _compress(name):
    """Packs the lanes of the first operand selected by the third; the second's lanes follow."""
    lines = [
        f"define internal <16 x i32> @emulated.{name}(<16 x i32> %x, <16 x i32> %others, <16 x i1> %chosen) {{",
        "%r0 = bitcast i512 0 to <16 x i32>",
        "%n0 = add i32 0, 0",
    ]
    for i in range(16):
        lines += [
            f"%v{i} = extractelement <16 x i32> %x, i32 {i}",
            f"%c{i} = extractelement <16 x i1> %chosen, i32 {i}",
            f"%w{i} = insertelement <16 x i32> %r{i}, i32 %v{i}, i32 %n{i}",
            f"%r{i + 1} = select i1 %c{i}, <16 x i32> %w{i}, <16 x i32> %r{i}",
            f"%z{i} = zext i1 %c{i} to i32",
            f"%n{i + 1} = add i32 %n{i}, %z{i}",
        ]
    return [*lines, "ret <16 x i32> %r16", "}"]  # the others are zeros wherever it is used
