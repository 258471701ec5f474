"""Matrix registers (AMX) that a machine may lack, in NumPy: ldtilecfg, tileloadd, tdpbusd, tilestored, tilerelease.

Each thread has its own. They follow Intel's manual. The process ends with an error where a processor would fault, or
for uses that no product here needs: an unconfigured register, a use beyond its configuration, an invalid configuration.
"""

import ctypes
import os
import re
import threading
import traceback

import llvmlite.binding as llvm
import numpy as np

INSTRUCTION = re.compile(r"@llvm\.x86\.(ldtilecfg|tileloadd64|tdpbusd|tilestored64|tilerelease)\(")
_DECLARATION = re.compile(rf"^declare void {INSTRUCTION.pattern}(.*?)\).*$", re.M)

_COUNT, _ROWS, _BYTES = 8, 16, 64  # number of registers, rows of one, bytes of a row
_number, _address, _distance = ctypes.c_uint8, ctypes.c_void_p, ctypes.c_int64


class Registers(threading.local):
    """The registers of a thread, as the instructions access them."""

    def __init__(self):
        self.release()

    def configure(self, place):
        """ldtilecfg, with 64 bytes at `place`: palette, first row, then bytes of each row (16 bits) and rows."""
        given = _memory(place, 1, _BYTES, _BYTES)[0]
        widths, heights = given[16:48].copy().view("<u2"), given[48:64]
        assert given[0] == 1, f"palette {given[0]}"
        assert not given[1:16].any() and not widths[_COUNT:].any() and not heights[_COUNT:].any(), "reserved bytes"
        fit = heights.max() <= _ROWS and widths.max() <= _BYTES and ((heights > 0) == (widths > 0)).all()
        assert fit, f"rows and bytes of registers: {heights} {widths}"
        self.release()
        self.sizes = list(zip(heights.tolist(), widths.tolist(), strict=True))[:_COUNT]

    def load(self, number, place, distance):
        """tileloadd: rows `distance` bytes apart; beyond the configured ones, zeros."""
        height, width = self.size(number)
        self.content[number] = 0
        self.content[number, :height, :width] = _memory(place, height, width, distance)

    def store(self, number, place, distance):
        """tilestored."""
        height, width = self.size(number)
        _memory(place, height, width, distance)[...] = self.content[number, :height, :width]

    def multiply(self, sums, rows, weights):
        """tdpbusd: int32 sums [m, n] += the products of unsigned bytes [m, 4 * k] and signed ones [k, n, 4]."""
        (m, n), (height, depth), (groups, width) = self.size(sums), self.size(rows), self.size(weights)
        assert len({sums, rows, weights}) == 3, "a register is two operands"
        assert m == height and n == width and depth == 4 * groups, "registers of sizes that do not meet"
        assert n % 4 == 0 and depth % 4 == 0
        left = self.content[rows, :m, :depth].astype(np.float32)
        right = self.content[weights, :groups, :n].view(np.int8).reshape(groups, n // 4, 4).swapaxes(1, 2)
        products = left @ right.reshape(depth, n // 4).astype(np.float32)  # exact: below 64 * 255 * 128 < 2 ** 24
        self.content[sums, :m, :n].view(np.int32)[...] += products.astype(np.int32)

    def release(self):
        """tilerelease."""
        self.sizes = [(0, 0)] * _COUNT
        self.content = np.zeros((_COUNT, _ROWS, _BYTES), np.uint8)

    def size(self, number):
        """Returns the configured (rows, bytes of a row) of a register."""
        assert self.sizes[number] != (0, 0), f"register {number} is used and not configured"
        return self.sizes[number]

    @property
    def released(self):
        """Returns whether all registers are released."""
        return set(self.sizes) == {(0, 0)}


def _memory(place, rows, width, distance):
    """Returns bytes [rows, width] at an address, as a view."""
    memory = (ctypes.c_uint8 * (distance * (rows - 1) + width)).from_address(place)
    return np.ndarray((rows, width), np.uint8, memory, strides=(distance, 1))


registers = Registers()


def _loud(run):
    """Makes exceptions fatal: in a function that machine code calls, they would be printed and ignored."""

    def called(*arguments):
        try:
            run(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(70)

    return called


_FUNCTIONS = {  # the types of each instruction's operands
    "ldtilecfg": (registers.configure, (_address,)),
    "tileloadd64": (registers.load, (_number, _address, _distance)),
    "tilestored64": (registers.store, (_number, _address, _distance)),
    "tdpbusd": (registers.multiply, (_number,) * 3),
    "tilerelease": (registers.release, ()),
}
_CALLED = {name: ctypes.CFUNCTYPE(None, *types)(_loud(run)) for name, (run, types) in _FUNCTIONS.items()}


def emulated(code: str) -> str:
    """Replaces the instructions in LLVM `code` by calls of `registers`; for this process only."""
    for name, function in _CALLED.items():
        llvm.add_symbol(f"emulated_{name}", ctypes.cast(function, ctypes.c_void_p).value)
    # operands of an instruction may have to be constants (immarg), those of a function must not
    code = _DECLARATION.sub(lambda found: f"declare void @emulated_{found[1]}({found[2].replace(' immarg', '')})", code)
    return INSTRUCTION.sub(r"@emulated_\1(", code)
