"""The speed of aarch64's register tiles by LLVM's models of processors, without such a processor.

    python -m tools.arm_tiles [--cpus neoverse-v1 ...] [--paths i8mm dotprod neon] [--kinds int8 ...]

Compiles the tiles of each path, extracts their inner loops, and simulates them with llvm-mca: cycles of a step,
products in a cycle, their share of the multiplying instructions' peak (24 independent ones in llvm-mca), and the
busiest resource. Memory is left out: every load hits the L1 cache.

llvm-mca is part of LLVM (apt-get install llvm-19). `inner_loops` does not need it.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

TRIPLE = "aarch64-unknown-linux-gnu"
CPUS = ("neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1")
PATHS = ("i8mm", "dotprod", "neon")
LACKING = {"neoverse-n1": {"i8mm"}, "apple-m1": {"i8mm"}, "cortex-a72": {"i8mm", "dotprod"}}  # unsupported paths
KINDS = ("int8", "int16", "float32", "coded")
# multiplying instructions -> products of each
PRODUCTS = {"smmla": 32, "sdot": 16, "smull.8h": 8, "smlal.8h": 8, "smlal.4s": 4, "fmla.4s": 4}
LANES = {  # the same as text, number i of several independent ones
    "smmla": "smmla v{0}.4s, v30.16b, v31.16b",
    "sdot": "sdot v{0}.4s, v30.16b, v31.4b[1]",
    "smull.8h": "smull v{0}.8h, v30.8b, v31.8b",
    "smlal.8h": "smlal v{0}.8h, v30.8b, v31.8b",
    "smlal.4s": "smlal v{0}.4s, v30.4h, v15.h[1]",
    "fmla.4s": "fmla v{0}.4s, v30.4s, v31.s[1]",
}
STEPS = 200  # simulated by llvm-mca


def emitted(path: str) -> dict[str, dict[str, str]]:
    """Returns the assembly of every tile of a path, by kind and shape. For a process with CPUNMT_ISA=path on any
    machine.
    """
    from cpunmt.simd import isa, processor

    needs, (cpu, features) = isa._PATHS[isa.Isa(path)].needs, isa._PATHS[isa.Isa(path)].lowered
    vars(processor).update(features=lambda: frozenset(needs), machine=lambda: "aarch64")
    from cpunmt.simd import float_tile, tile, tile_shapes
    from tools.tile_code import assembly_of, code_of

    kinds: dict[str, tuple[Callable[[], Any], Any]] = {
        "int8": (tile.int8_tiles, tile_shapes.INT8.every()),
        "int16": (tile.int16_tiles, tile_shapes.INT16.every()),
        "float32": (lambda: float_tile.float_tiles, tile_shapes.FLOAT32.every()),
        "coded": (tile.coded_tiles, tile_shapes.CODED_SHAPES),
    }
    return {
        kind: {
            f"{rows} x {panels}": assembly_of(
                code_of(tiles, shape=(rows, panels)), TRIPLE, cpu, features, optimize=True
            )
            for rows, panels in shapes
            for tiles in [make()]
        }
        for kind, (make, shapes) in kinds.items()
    }


def multiplier(line: str) -> str | None:
    """Returns an instruction's key of PRODUCTS."""
    found = re.match(r"(smmla|sdot|smull|smlal|fmla)2?\s+v\d+\.(\w+)", line)
    if not found:
        return None
    name = found[1] if found[1] in PRODUCTS else f"{found[1]}.{found[2]}"
    return name if name in PRODUCTS else None


def inner_loop(assembly: str) -> list[str]:
    """Returns the instructions of the innermost loop with the most products, without its branch."""
    lines = [line.split("//")[0].strip() for line in assembly.splitlines()]
    lines = [line for line in lines if line and (line.endswith(":") or not line.startswith("."))]
    place, loops = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}, []
    for i, line in enumerate(lines):
        target = re.match(r"(?:b\.\w+|cbn?z|tbn?z)\s.*?(\.L\w+)$", line)
        if target and place.get(target[1], i) < i:
            body = lines[place[target[1]] + 1 : i]
            if not any(inside.endswith(":") for inside in body):
                loops.append(body)
    return max(loops, key=lambda body: sum(multiplier(line) is not None for line in body))


def inner_loops(path: str) -> dict[str, dict[str, list[str]]]:
    """Returns the inner loop of every tile of a path, by kind and shape, from a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.arm_tiles", "--emit", path],
        env={**os.environ, "CPUNMT_ISA": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"the tiles of {path} do not compile:\n{done.stderr}")
    made = json.loads(done.stdout)
    return {kind: {shape: inner_loop(code) for shape, code in shapes.items()} for kind, shapes in made.items()}


def counted(loop: list[str]) -> dict[str, int]:
    """Counts the multiplying instructions of a loop, by the keys of PRODUCTS."""
    return dict(collections.Counter(filter(None, map(multiplier, loop))))


def spilled(loop: list[str]) -> int:
    """Counts the instructions that spill or reload registers."""
    return sum("[sp" in line for line in loop)


def analyzed(tool: str, cpu: str, loop: list[str]) -> tuple[float, str]:
    """Returns llvm-mca's (cycles of a step, the busiest resource)."""
    command = [tool, f"-mtriple={TRIPLE}", f"-mcpu={cpu}", "-mattr=+dotprod,+i8mm", f"-iterations={STEPS}", "-json"]
    done = subprocess.run(command, input="\n".join(loop) + "\n", capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"arm_tiles: llvm-mca failed: {done.stderr}")
    made = json.loads(done.stdout)
    resources = [re.sub(r"\W.*", "", name, flags=re.S) for name in made["TargetInfo"]["Resources"]]
    (region,) = made["CodeRegions"]
    pressure: collections.Counter[int] = collections.Counter()  # of each unit: several may have one name
    for use in region["ResourcePressureView"]["ResourcePressureInfo"]:
        if use["InstructionIndex"] == len(loop):  # the sum of all
            pressure[use["ResourceIndex"]] += use["ResourceUsage"]
    ((unit, most),) = pressure.most_common(1)
    busiest = resources[unit]
    width, cycles = region["SummaryView"]["DispatchWidth"], region["SummaryView"]["TotalCycles"] / STEPS
    return cycles, busiest if len(loop) / width < 0.95 * cycles or most >= 0.95 * cycles else "dispatch"


def rates(tool: str, cpu: str) -> dict[str, float]:
    """Returns the peak of each kind of PRODUCTS, in instructions a cycle."""
    return {
        name: 24 / analyzed(tool, cpu, [text.format(i if i < 15 else i + 1) for i in range(24)])[0]
        for name, text in LANES.items()
    }


def main(arguments: Any = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.arm_tiles", description=__doc__.split("\n")[0])
    parser.add_argument("--cpus", nargs="+", default=CPUS, help="as llvm-mca calls them (default: %(default)s)")
    parser.add_argument("--paths", nargs="+", default=PATHS, choices=PATHS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--tool", default="llvm-mca-19")
    parser.add_argument("--emit", metavar="PATH", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.emit:
        json.dump(emitted(given.emit), sys.stdout)
        return
    if not shutil.which(given.tool):
        sys.exit(f"arm_tiles: {given.tool} is missing; on Debian and Ubuntu: apt-get install llvm-19")
    alone = {cpu: rates(given.tool, cpu) for cpu in given.cpus}
    print("| path | tile | rows x panels | instructions | spilled | cpu | cycles | products/cycle | share | busiest |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for path in given.paths:
        for kind, shapes in inner_loops(path).items():
            for shape, loop in shapes.items() if kind in given.kinds else ():
                for cpu in (cpu for cpu in given.cpus if path not in LACKING.get(cpu, ())):
                    found = counted(loop)
                    cycles, busiest = analyzed(given.tool, cpu, loop)
                    best = sum(count / alone[cpu][name] for name, count in found.items())
                    products = sum(count * PRODUCTS[name] for name, count in found.items()) / cycles
                    print(
                        f"| {path} | {kind} | {shape} | {len(loop)} | {spilled(loop)} | {cpu} | {cycles:.1f} "
                        f"| {products:.1f} | {100 * best / cycles:.0f} % | {busiest} |"
                    )


if __name__ == "__main__":
    main()
