"""int16 products against the best float32 ones, by batch size: Figure 1 of Devlin 2017.

https://arxiv.org/abs/1705.01991, section 4.1: 16-bit fixed point is twice as fast as MKL's float32 for a decoder's
small batches. Here float32 is OpenBLAS (NumPy's), MKL if it is installed (pip install mkl), with weights packed
beforehand too, and our own tile. Times are those of the product with its scales and bias; for integers also with the
quantization of their input.
"""

import numpy as np

from bench.harness.timing import Timed, interleave, median_ratio
from bench.operands import REACH, Arena
from bench.papers.devlin2017 import sgemm

SHAPES = ((512, 2048), (1024, 1024), (256, 1536), (1536, 256))
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
AFFINE = 1


def ours(program, arena, scheme, a, columns):
    """Returns (product, product with quantization) of our tile on random weights."""
    rows, depth = a.shape
    linear, out = arena.linears(scheme, [(depth, columns)]), arena.zeros(rows * columns)
    if scheme == "float32":
        return lambda n: program.repeat_float_linear(n, linear, a, rows, out, AFFINE), None
    q, scales = arena.zeros(2 * a.size, np.uint8), arena.zeros(2 * rows)
    if scheme == "int16":
        program.quantize_rows16(a, rows, depth, REACH["int16"], q, scales)
        return (
            lambda n: program.repeat_int16_linear(n, linear, q, scales, rows, out, AFFINE),
            lambda n: program.repeat_quantize_int16_linear(n, linear, a, REACH["int16"], q, scales, rows, out),
        )
    program.quantize_rows(a, rows, depth, 0.0, q, scales)
    return (
        lambda n: program.repeat_int8_linear(n, linear, q, scales, rows, out, AFFINE, 0),
        lambda n: program.repeat_quantize_int8_linear(n, linear, a, q, scales, rows, out),
    )


def contestants(program, arena, libraries, rows, depth, columns) -> dict[str, Timed]:
    """Returns all items to time for one product, by name."""
    a, w = arena.normal(rows * depth).reshape(rows, depth), arena.normal(depth * columns).reshape(depth, columns)
    blas, mkl = libraries
    runs, expected = {}, a @ w
    outs = {}
    if blas:
        name, multiply, integer = blas
        outs[name] = np.empty_like(expected)
        runs[name] = sgemm.repeated(multiply, integer, a, w, outs[name])
    if mkl:
        outs["MKL"], outs["MKL, packed"] = np.empty_like(expected), np.empty_like(expected)
        runs["MKL"] = sgemm.repeated(mkl.cblas_sgemm, sgemm.ctypes.c_int, a, w, outs["MKL"])
        runs["MKL, packed"], kept = sgemm.repeated_packed(mkl, a, w, outs["MKL, packed"])
        arena.keep(kept)
    arena.keep(a, w, *outs.values())
    for name, out in outs.items():
        runs[name](1)
        if not np.allclose(out, expected, atol=1e-3):
            raise SystemExit(f"{name} gives another product")
    for scheme in ("float32", "int16", "int8"):
        runs[scheme], whole = ours(program, arena, scheme, a, columns)
        if whole:
            runs[f"{scheme} + quantize"] = whole
    return {name: Timed(name, run, 2.0 * rows * depth * columns) for name, run in runs.items()}


def measure(program, libraries, rounds, rows_list=None) -> list[dict]:
    """Measures the products. `libraries`: results of `sgemm.openblas` and `sgemm.mkl`."""
    results, rows_list = [], rows_list or ROWS
    for depth, columns in SHAPES:
        print(f"\n{depth} x {columns}: microseconds")
        for rows in rows_list:
            arena = Arena()
            items = contestants(program, arena, libraries, rows, depth, columns)
            interleave(list(items.values()), rounds)
            floats = [name for name in items if "int" not in name]
            best = min(floats, key=lambda name: items[name].median)
            ratios = {
                name: median_ratio(items[best].seconds, items[name].seconds) for name in items if name not in floats
            }
            if rows == rows_list[0]:
                print(
                    "rows  " + "  ".join(f"{name:>18s}" for name in items) + "   best float32 / " + ", / ".join(ratios)
                )
            figures = "  ".join(f"{1e6 * item.median:18.2f}" for item in items.values())
            print(f"{rows:4d}  {figures}   {', '.join(f'{r:.2f}' for r in ratios.values())} ({best})", flush=True)
            medians = {name: item.median for name, item in items.items()}
            results.append({"shape": [depth, columns], "rows": rows, "median_s": medians, "speedup": ratios})
    return results
