"""Loads the compiled program where free memory is in small pieces, gigabytes apart, as in a process of Ray."""

import ctypes
import itertools
import sys

from cpunmt.engine import program, program_files
from cpunmt.engine.object_code import initialize_llvm

GB = 1 << 30
SIZE, EVERY = 64 * GB, 4 * GB  # more than the 2 GB that an address in machine code reaches
RESERVED = 0x4022  # MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE
FREE_ONLY = 0x100000  # MAP_FIXED_NOREPLACE


def main(hole):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    content = program_files.read(program_files.cache_file())
    initialize_llvm()
    begin = libc.mmap(None, SIZE, 0, RESERVED, -1, 0)
    with open("/proc/self/maps") as file:
        places = [tuple(int(edge, 16) for edge in line.split()[0].split("-")) for line in file]
    above = [place for place in places if begin <= place[0] < 1 << 47]
    for (_, end), (following, _) in itertools.pairwise(above):
        if end < following:  # fills the gaps between libraries
            libc.mmap(end, following - end, 0, RESERVED | FREE_ONLY, -1, 0)
    for place in range(begin + EVERY, begin + SIZE, EVERY):
        libc.munmap(place, hole)
    program.of_file(content, "cached")
    print("loaded")


if __name__ == "__main__":
    main(int(sys.argv[1]))
