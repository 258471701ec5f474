"""`cpunmt doctor`: reports cpunmt's environment, correctness and speed, and remedies for problems."""

from typing import NamedTuple

from cpunmt.commands.machine import surroundings
from cpunmt.commands.machine.self_test import BITS, Speeds, digest, measure
from cpunmt.engine import prebuilt, program
from cpunmt.errors import CpunmtError
from cpunmt.files.console import one_line
from cpunmt.simd import isa
from cpunmt.simd.isa import Isa

_ORIGINS = {
    "prebuilt": "came with the package",
    "cached": "compiled for this processor, earlier",
    "compiled": "compiled for this processor, now",
}


class Usual(NamedTuple):
    """Lower bounds of a path's usual speed: 10^9 8-bit products a second, and its ratio to float32 speed."""

    int8: float
    times_floats: float


# About half the speed of the slowest processor on which the path was measured (Zen 3 and 4, Sapphire Rapids): a lower
# speed is not a slower kind of processor, but a shared, throttled or emulated one. The other paths have not been
# measured on a processor without a better one.
_USUAL = {
    "amx_int8": Usual(400.0, 4.0),
    "avx512_vnni": Usual(80.0, 1.8),
    "avx2": Usual(25.0, 0.9),
}
_LEAST_SHARE, _MOST_SPREAD = 0.9, 2.0


def examine() -> tuple[dict[str, str], list[str]]:
    """Returns (heading -> text, oddities with remedies)."""
    told: dict[str, str] = {}
    odd: list[str] = []
    for part in (
        surroundings.python_and_packages,
        surroundings.the_processor,
        _program,
        surroundings.folders,  # in their state after the program was loaded
        surroundings.variables,
    ):
        try:
            lines, found = part()
        except (CpunmtError, OSError) as error:
            lines, found = {}, [one_line(error)]
        told |= lines
        odd += [text for text in found if text not in odd]  # two functions report a wrong CPUNMT_ISA
    return told, odd


def _program() -> surroundings.Found:
    """Reports the origin of the compiled program, whether its results are right, and its speed."""
    loaded, odd = program.load(), []
    told = {"program": _ORIGINS[loaded.origin] + (f": {loaded.path}" if loaded.path else "")}
    if loaded.origin != "prebuilt":
        try:
            prebuilt.find(isa.current())
        except prebuilt.Damaged as damaged:
            odd.append(f"{damaged}: install cpunmt again")
        except prebuilt.Unfit as unfit:
            told["program"] += f" ({unfit})"
    if loaded.origin == "compiled" and loaded.path is None:
        odd.append(
            "the program cannot be kept, so that every start compiles: set CPUNMT_CACHE_DIR to a folder of your own"
        )
    found = digest(loaded)
    told["results"] = f"the same bits as everywhere ({found})" if found == BITS else f"wrong: {found} for {BITS}"
    if found != BITS:
        odd.append(
            "the compiled program makes other numbers than it should: remove the cache folder, install cpunmt again; "
            "if that does not help, the memory or the processor may be broken, or cpunmt is: please report this text"
        )
    speeds = measure(loaded)
    told["speed"] = (
        f"{speeds.int8:.0f} billion 8-bit products a second, {speeds.floats:.0f} of float32, "
        f"{speeds.reading:.0f} GB/s of weights read"
    )
    if speeds.share < _LEAST_SHARE:
        told["speed"] += (
            f" (with {100 * speeds.share:.0f} % of a core: other work was done there, by this machine or its host)"
        )
    return told, odd + judged(speeds, isa.current())


def judged(speeds: Speeds, path: Isa) -> list[str]:
    """Returns the oddities of a path's speeds."""
    odd = []
    if speeds.share >= _LEAST_SHARE and speeds.spread > _MOST_SPREAD:
        odd.append(
            f"the slowest calls took {speeds.spread:.1f} times as long as most: the processor's clock changes, or its "
            "host gives it to others"
        )
    usual = _USUAL.get(path.value)
    if usual is None:
        return odd
    if speeds.int8 < usual.int8 * speeds.share:
        odd.append(
            f"8-bit products are slow: {speeds.int8:.0f} billion a second, where {usual.int8:g} are the least that "
            f"processors with {path.value} do; is this one emulated, throttled (power, heat) or shared?"
        )
    elif speeds.int8 < usual.times_floats * speeds.floats:
        odd.append(
            f"8 bits are {speeds.int8 / speeds.floats:.1f} times as fast as float32, where {usual.times_floats:g} are "
            f"usual for {path.value}: please report this text, with the name of the processor"
        )
    return odd


def lines_of(told: dict[str, str], odd: list[str]) -> list[str]:
    """Returns the findings as lines of text."""
    width = max(map(len, told)) + 2
    lines = [f"{heading + ':':{width}}{text}" for heading, text in told.items()]
    return [*lines, "", *([f"{number}. {text}" for number, text in enumerate(odd, 1)] or ["Nothing is odd."])]
