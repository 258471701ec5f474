"""float32 matrix products of other libraries, called from machine code, so that no call from Python is timed."""

import ctypes
import os
import sys
from pathlib import Path

import numba
import numpy as np

ROW_MAJOR, NOT_TRANSPOSED, TRANSPOSED, PACKED, B_MATRIX = 101, 111, 112, 151, 162  # cblas.h, mkl_cblas.h


def openblas():
    """Returns (name, cblas_sgemm, its integer type) of NumPy's OpenBLAS, on one thread; None if it is missing."""
    for path in Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*"):
        library = ctypes.CDLL(str(path))
        for prefix, suffix, integer in (("scipy_", "64_", ctypes.c_int64), ("", "64_", ctypes.c_int64), ("", "", None)):
            if hasattr(library, f"{prefix}cblas_sgemm{suffix}"):
                getattr(library, f"{prefix}openblas_set_num_threads{suffix}")(1)
                core = getattr(library, f"{prefix}openblas_get_corename{suffix}")
                core.restype = ctypes.c_char_p
                multiply = getattr(library, f"{prefix}cblas_sgemm{suffix}")
                return f"OpenBLAS ({core().decode()})", multiply, integer or ctypes.c_int
    return None


def mkl(path=None):
    """Returns the library of `pip install mkl`, sequential; None if it is missing."""
    found = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*")) if path is None else [Path(path)]
    if not found:
        return None
    os.environ["MKL_THREADING_LAYER"] = "SEQUENTIAL"
    return ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)


def declared(function, integer, *arguments):
    """Returns `function` for compiled code: i an integer of the library's, e an enumeration, f a float, p a pointer."""
    kinds = {"i": integer, "e": ctypes.c_int, "f": ctypes.c_float, "p": ctypes.c_size_t}
    function.argtypes, function.restype = [kinds[letter] for letter in arguments], None
    return function


def repeated(function, integer, a, w, out):
    """Returns a function `run(times)`: out = a w by a cblas_sgemm."""
    multiply = declared(function, integer, *"eeeiiifpipifpi")
    (rows, depth), columns = a.shape, w.shape[1]
    x, y, z = (array.ctypes.data for array in (a, w, out))

    @numba.njit
    def run(times):
        for _ in range(times):
            multiply(
                ROW_MAJOR,
                NOT_TRANSPOSED,
                NOT_TRANSPOSED,
                rows,
                columns,
                depth,
                np.float32(1),
                x,
                depth,
                y,
                columns,
                np.float32(0),
                z,
                columns,
            )

    return run


def repeated_packed(library, a, w, out):
    """Returns the same by MKL's cblas_sgemm_compute, with w packed beforehand, and objects to keep alive."""
    integer = ctypes.c_int
    (rows, depth), columns = a.shape, w.shape[1]
    size = library.cblas_sgemm_pack_get_size
    size.argtypes, size.restype = [ctypes.c_int, integer, integer, integer], ctypes.c_size_t
    memory = np.zeros(size(B_MATRIX, rows, columns, depth) + 64, np.uint8)
    packed = memory.ctypes.data + -memory.ctypes.data % 64
    pack = declared(library.cblas_sgemm_pack, integer, *"eeeiiifpip")
    pack(ROW_MAJOR, B_MATRIX, NOT_TRANSPOSED, rows, columns, depth, 1.0, w.ctypes.data, columns, packed)
    multiply = declared(library.cblas_sgemm_compute, integer, *"eeeiiipipifpi")
    x, z = a.ctypes.data, out.ctypes.data

    @numba.njit
    def run(times):
        for _ in range(times):
            multiply(
                ROW_MAJOR,
                NOT_TRANSPOSED,
                PACKED,
                rows,
                columns,
                depth,
                x,
                depth,
                packed,
                columns,
                np.float32(0),
                z,
                columns,
            )

    return run, memory
