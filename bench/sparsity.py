"""The sparse product of rows that a ReLU has made, against the dense one: a part of `bench.kernels`.

Weights are cold as in a model: a product walks through LAYERS matrices in turn. Rows have zeros in random places, and
the others are half normal, as after a ReLU of normal numbers.
"""

import numpy as np

from bench.operands import Arena
from bench.timing import Timed, interleave
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import BLOCK, by_depth

LAYERS = 6  # an encoder's
SHAPES = ((1536, 256), (2048, 512))  # (depth, columns) of the second product of tiny11's networks, and base's
DENSITIES = (0.05, 0.1, 0.18, 0.3, 0.5, 0.75, 1.0)
ROWS = (1, 2, 4, 16, 64)
TOGETHER = 64  # rows that take turns, or they would meet the same weights again
DENSE, SPARSE, CHOSEN = range(3)


def rectified(arena: Arena, rows: int, depth: int, density: float) -> np.ndarray:
    """float32 [rows * depth], as a ReLU makes them, of which that share is positive."""
    x = arena.zeros(rows * depth)
    x[:] = np.abs(arena.random.standard_normal(rows * depth)) * (arena.random.random(rows * depth) < density)
    return x


def layers(arena: Arena, depth: int, columns: int, number: int) -> np.ndarray:
    """LINEAR [number] that have both layouts."""
    found = arena.linears("int8", [(depth, columns)] * number)
    for record in found:
        packed = np.ctypeslib.as_array(np.ctypeslib.ctypes.cast(int(record["weights"]), _BYTES), (depth * columns,))
        rows = by_depth(packed.reshape(-1, depth // 4, 16, 4))
        kept, start = arena.zeros(rows.size, np.int8), arena.zeros(rows.shape[1], np.int32)
        kept[:] = rows.ravel()
        record["by_depth"], record["sparse_start"] = kept.ctypes.data, start.ctypes.data
    return found


_BYTES = np.ctypeslib.ctypes.POINTER(np.ctypeslib.ctypes.c_int8)


def scratch(arena: Arena, rows: int, depth: int, columns: int) -> np.ndarray:
    """A SCRATCH record with what these products need."""
    record = np.zeros(1, records.SCRATCH)
    arena.keep(record)
    record["quantized"] = arena.zeros(2 * rows * depth, np.uint8).ctypes.data
    record["row_scales"] = arena.zeros(2 * rows).ctypes.data
    lists = {"entries": (2 * depth + 32, np.int32), "values": (2 * depth + 32, np.uint8)}
    lists |= {"split": (depth + 32, np.int32), "sums": (columns + 16 * BLOCK, np.int32)}
    for name, (size, dtype) in lists.items():
        record["lists"][name] = arena.zeros(size, dtype).ctypes.data
    return record


def measure(program, arena, rounds, counts=ROWS, shapes=SHAPES, densities=DENSITIES) -> dict:
    """Print and return microseconds per row and layer: dense, sparse, and what a model takes."""
    results = {}
    for depth, columns in shapes:
        weights, out = layers(arena, depth, columns, LAYERS), arena.zeros(max(counts) * columns)
        memory = scratch(arena, max(counts), depth, columns)
        for density in densities:
            x = rectified(arena, TOGETHER, depth, density)
            for rows in counts:
                batch = np.array([TOGETHER, rows])
                items = [
                    Timed(
                        name,
                        lambda n, how=how: program.repeat_rectified(n, weights, LAYERS, x, batch, memory, out, how),
                    )
                    for how, name in ((DENSE, "dense"), (SPARSE, "sparse"), (CHOSEN, "chosen"))
                ]
                interleave(items, rounds, 1e-3)
                dense, sparse, chosen = (1e6 * item.best / TOGETHER / LAYERS for item in items)
                name = f"{depth} x {columns}, {rows} rows, {round(100 * density)} % positive"
                results[name] = {"dense_us": dense, "sparse_us": sparse, "chosen_us": chosen}
                print(
                    f"{name:40s} dense {dense:6.2f} us a row, sparse {sparse:6.2f} ({dense / sparse:5.2f} x), "
                    f"as a model chooses {chosen:6.2f} ({dense / chosen:5.2f} x)",
                    flush=True,
                )
    return results
