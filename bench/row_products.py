"""Logits of some pieces of a large vocabulary, one decoder row: taskset -c 1 python -m bench.row_products

    --vocabularies N ...   pieces of the table (default: 32000 128000 250000)
    --depths N ...         of the decoder's output, multiples of 16 (default: 256 512)
    --counts N ...         pieces to score, drawn at random, ascending (default: 256 1000 4000 10000 40000)
    --rows N               that score the same pieces (default: 1)
    --scheme NAME          int8, int16 or float32 (default: int8)
    --rounds N             interleaved rounds (default: 7), of which the least CPU time counts
    --json PATH            write the figures there

Three ways: in place (`kernels/matmul/row_products`); gathered, transposed and multiplied; the product over the whole
packed vocabulary. In place is also shown as bytes of weights per second, beside the sequential bandwidth of the same
table. That is not a limit for tables larger than the caches: the processor prefetches less than a list of pieces
allows. Sets of pieces take turns, so that they are warm only as far as the caches hold all of them.
"""

import time

import numpy as np

from bench.harness.command import command, machine, positive, save
from bench.operands import Arena, quantize
from cpunmt.engine.full_output import entries
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL, panels
from cpunmt.kernels.records import ENTRY

VOCABULARIES, DEPTHS, COUNTS = (32_000, 128_000, 250_000), (256, 512), (256, 1_000, 4_000, 10_000, 40_000)
TYPES = {"int8": np.int8, "int16": np.int16, "float32": np.float32}
WALKED = 32 << 20  # bytes of weights of all sets together, about
SETS = 64  # at most
READ = 16 << 20  # bytes read sequentially, at least
VECTORS = ("scales", "totals", "bias", "start")


class Table:
    """Output layers of random weights: a table of pieces, the same size packed, and rows to multiply by them."""

    def __init__(self, program, scheme: str, pieces: int, depth: int, rows: int, most: int):
        self.program, self.pieces, self.depth, self.rows = program, pieces, depth, rows
        self.arena = arena = Arena()
        dtype, columns = TYPES[scheme], PANEL * panels(pieces)
        self.packed = arena.linears(scheme, [(depth, columns)])  # the table's rows have its weights too: only bytes
        self.record, self.size = np.zeros(1, records.TABLE), pieces * depth * np.dtype(dtype).itemsize
        self.record["scheme"], self.record["rows"] = self.packed["scheme"], self.packed["weights"]
        vectors = {name: arena.zeros(pieces, np.int32 if name == "start" else np.float32) for name in VECTORS}
        vectors["scales"][:] = 0.001
        beside = arena.zeros(pieces, ENTRY)
        beside[:] = entries(**vectors)
        for name, vector in {**vectors, "entries": beside}.items():
            self.record[name] = vector.ctypes.data
        x, q, scales = arena.normal(rows * depth), arena.zeros(2 * rows * depth, np.uint8), arena.zeros(2 * rows)
        quantize(program, scheme, x, rows, depth, q, scales)
        self.operands = q, scales, x
        self.gathered = arena.linears(scheme, [(depth, PANEL * panels(most))])
        self.out = arena.zeros(32 + rows * max(columns, PANEL * panels(most)))

    def whole(self) -> float:
        """Returns CPU seconds of the product over the whole vocabulary."""
        began = time.process_time()
        self.program.repeat_linears(1, self.packed, 1, *self.operands, self.rows, self.out)
        return time.process_time() - began

    def scored(self, sets: np.ndarray, gathered: bool) -> float:
        """Returns CPU seconds of the logits of one of the sets int32 [sets, candidates]."""
        sizes = np.array(sets.shape)
        self.gathered["panels"] = panels(sets.shape[1])
        began = time.process_time()
        self.program.score_sets(gathered, self.record, self.gathered, *self.operands, self.rows, sets, sizes, self.out)
        return (time.process_time() - began) / len(sets)

    def read(self) -> float:
        """Returns CPU seconds of reading the rows from the first to the last."""
        times, size = 1 + READ // self.size, self.size // 256 * 256
        began = time.process_time()
        self.program.read_memory(int(self.record["rows"][0]), size, times, self.out)
        return (time.process_time() - began) / times

    def sets(self, count: int) -> np.ndarray:
        """Returns int32 [sets, count], each ascending."""
        number = int(min(SETS, max(2, WALKED // (count * self.size // self.pieces))))
        found = self.arena.zeros(number * count, np.int32).reshape(number, count)
        for one in found:
            one[:] = np.sort(self.arena.random.choice(self.pieces, count, replace=False))
        return found


def measure(table: Table, counts, rounds: int) -> dict:
    """Returns count -> microseconds of each way, GB/s in place; "read": GB/s in order."""
    drawn = {count: table.sets(count) for count in counts if count <= table.pieces}
    best = {}

    def note(name, seconds):
        best[name] = min(best.get(name, float("inf")), seconds)

    for _ in range(rounds):
        note("read", table.read())
        note("whole", table.whole())
        for count, sets in drawn.items():
            for gathered in (False, True):
                note((count, gathered), table.scored(sets, gathered))
    found = {"read": 1e-9 * table.size / best["read"], "counts": {}}
    for count in drawn:
        seconds, row_bytes = best[count, False], table.size / table.pieces
        found["counts"][count] = {
            "in place": 1e6 * seconds,
            "gathered": 1e6 * best[count, True],
            "whole": 1e6 * best["whole"],
            "gb_per_second": 1e-9 * count * row_bytes / seconds,
        }
    return found


def show(count: int, figures: dict, read: float):
    """Prints one line."""
    mine = figures["in place"]
    ways = ", ".join(f"{way} {figures[way]:.0f} us ({figures[way] / mine:.1f} x)" for way in ("gathered", "whole"))
    speed = f"{figures['gb_per_second']:.1f} GB/s, {figures['gb_per_second'] / read:.0%} of reading in order"
    print(f"  {count:6d} pieces: in place {mine:.1f} us ({speed}), {ways}", flush=True)


def main(arguments=None):
    """Runs the command."""
    from bench.programs import compiled

    parser = command("bench.row_products", __doc__, rounds=7)
    parser.add_argument("--vocabularies", type=positive, nargs="+", default=VOCABULARIES)
    parser.add_argument("--depths", type=positive, nargs="+", default=DEPTHS)
    parser.add_argument("--counts", type=positive, nargs="+", default=COUNTS)
    parser.add_argument("--rows", type=positive, default=1, help="that score the same pieces")
    parser.add_argument("--scheme", choices=TYPES, default="int8")
    chosen = parser.parse_args(arguments)
    if any(depth % PANEL for depth in chosen.depths):
        parser.error(f"argument --depths: {chosen.depths}: expected multiples of {PANEL}")
    print(machine())
    program, results = compiled.load(), {}
    for pieces in chosen.vocabularies:
        for depth in chosen.depths:
            table = Table(program, chosen.scheme, pieces, depth, chosen.rows, min(pieces, max(chosen.counts)))
            found = results[f"{pieces} x {depth}"] = measure(table, chosen.counts, chosen.rounds)
            size = f"{pieces} x {depth} ({table.size / 1e6:.0f} MB)"
            print(f"{chosen.scheme}, {size}, {chosen.rows} at a time; in order {found['read']:.1f} GB/s")
            for count, figures in found["counts"].items():
                show(count, figures, found["read"])
    save(chosen.json, {"machine": machine(), "rows": chosen.rows, "scheme": chosen.scheme, "results": results})


if __name__ == "__main__":
    main()
