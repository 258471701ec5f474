"""Products of a ReLU's output: sparse, dense, and as a model chooses. taskset -c 1 python -m bench.sparse_product

A product walks through the second matrices of LAYERS feed-forward networks in turn, so that weights are as cold as in a
model, and rows take turns: no row meets the same weights twice in sequence. Every figure is of one row and one product,
with its quantization, and of the product alone. Best of interleaved rounds.
"""

import ctypes
import time

import numpy as np

from bench.harness.command import command, machine, save
from bench.harness.timing import Timed
from bench.operands import Arena
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import BLOCK, GROUP, PANEL, by_depth

LAYERS = 6  # an encoder's
SHAPES = ((1536, 256), (2048, 512))  # (depth, columns) in tiny11 and in base
SHARES = (0.05, 0.1, 0.18, 0.3, 0.5, 0.75, 1.0)
ROWS = (1, 2, 4, 16, 64)
TOGETHER = 64  # rows that take turns
WAYS = ("dense", "sparse", "chosen")  # see limits.repeat_rectified


def rectified(arena: Arena, rows: int, depth: int, share: float) -> np.ndarray:
    """Returns float32 [rows * depth], of which that share is positive, in random places: halves of a normal
    distribution.
    """
    x = arena.zeros(rows * depth)
    x[:] = np.abs(arena.random.standard_normal(rows * depth)) * (arena.random.random(rows * depth) < share)
    return x


def layers(arena: Arena, depth: int, columns: int, number: int) -> np.ndarray:
    """Returns LINEAR [number] with both layouts of their weights."""
    found = arena.linears("int8", [(depth, columns)] * number)
    for record in found:
        size = ctypes.c_int8 * (depth * columns)
        packed = np.frombuffer(size.from_address(int(record["weights"])), np.int8)
        rows = by_depth(packed.reshape(-1, depth // GROUP, PANEL, GROUP))
        arena.keep(rows)
        record["by_depth"] = rows.ctypes.data
        record["sparse_start"] = arena.zeros(rows.shape[1], np.int32).ctypes.data
    return found


def scratch(arena: Arena, rows: int, depth: int, columns: int) -> np.ndarray:
    """Returns a SCRATCH record for these products."""
    record = np.zeros(1, records.SCRATCH)
    record["quantized"] = arena.zeros(2 * rows * depth, np.uint8).ctypes.data
    record["row_scales"] = arena.zeros(2 * rows).ctypes.data
    sizes = {"entries": 2 * depth + 32, "values": 2 * depth + 32, "split": depth + 32, "sums": columns + BLOCK * PANEL}
    for name, size in sizes.items():
        record["lists"][name] = arena.zeros(size, np.int32).ctypes.data
    return record


def measure(program, arena, rounds, counts, shapes=SHAPES, shares=SHARES) -> dict:
    """Prints and returns microseconds per row and product."""
    results = {}
    for depth, columns in shapes:
        weights, out = layers(arena, depth, columns, LAYERS), arena.zeros(TOGETHER * columns)
        memory = scratch(arena, TOGETHER, depth, columns)
        for share in shares:
            x = rectified(arena, TOGETHER, depth, share)
            for rows in counts:
                given = weights, LAYERS, x, np.array([TOGETHER, rows]), memory, out
                items = [_timed(program, way, given) for way in range(len(WAYS))]
                for _ in range(rounds):
                    for item in items:
                        item.run(1)  # its own weights are then in the caches, as far as they fit
                        began = time.perf_counter()
                        item.run(1)
                        item.seconds.append(time.perf_counter() - began)
                found = {item.name: 1e6 * item.best / TOGETHER / LAYERS for item in items}
                name = f"{depth} x {columns}, {rows} at a time, {round(100 * share)} % positive"
                results[name] = found
                dense = found["dense"]
                told = ", ".join(f"{way} {us:.2f} us ({dense / us:.2f} x)" for way, us in found.items())
                print(f"{name:48s} {told}", flush=True)
    return results


def _timed(program, way, given):
    return Timed(WAYS[way], lambda times: program.repeat_rectified(times, *given, way))


def main(arguments=None):
    from bench.programs import compiled

    parser = command("bench.sparse_product", __doc__, rounds=15)
    shares = [rows for rows in range(1, TOGETHER + 1) if TOGETHER % rows == 0]  # memory is for that number
    parser.add_argument("--rows", type=int, nargs="+", choices=shares, default=ROWS, help="how many at a time")
    chosen = parser.parse_args(arguments)
    print(machine())
    results = measure(compiled.load(), Arena(), chosen.rounds, chosen.rows)
    save(chosen.json, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
