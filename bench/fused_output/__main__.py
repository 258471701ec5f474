"""Bias, log-softmax and top k: one after the other, and fused. On one core: taskset -c 1 python -m bench.fused_output

    --vocabularies N ...   columns of the output layer (default: 32000 85000)
    --beams N ...          hypotheses of a sentence (default: 1 3 5 9); 1 is greedy search: without and with scores
    --batches N ...        sentences (default: 1 8 32 128)
    --depth N              of the decoder's output (default: 512)
    --whole                whole translations too, by random students of these vocabularies
    --json PATH            write the figures there

Each way is timed with the product that makes its logits, and the product alone: the difference is the time of bias,
softmax and search. Minima of interleaved rounds, as differences of medians would be noise. See ways.py.
"""

import itertools
import time

import numpy as np

from bench.fused_output.whole import measure_whole, show_whole
from bench.harness.command import command, machine, positive, save
from bench.operands import Arena
from cpunmt.kernels import records
from cpunmt.search.records import FUSED_ROWS, LOGITS
from quantize.commands.shared_options import whole

ARGMAX = "argmax"  # the fused way, without log-probabilities


class Layer:
    """An output layer of random weights, int8, and rows to multiply by it."""

    def __init__(self, program, arena: Arena, depth: int, columns: int, most_rows: int, most: int):
        from bench.fused_output.ways import TOGETHER

        self.arena, self.program, self.record = arena, program, arena.linears("int8", [(depth, columns)])
        scales = arena.zeros(columns)
        scales[:] = 2.0 / 127 / 74 / depth**0.5  # logits of deviation 2
        self.record["scales"] = scales.ctypes.data
        self.bias = arena.zeros(columns)
        x = arena.normal(most_rows * depth)
        self.quantized, self.scales = arena.zeros(2 * most_rows * depth, np.uint8), arena.zeros(2 * most_rows)
        program.quantize_rows(x, most_rows, depth, 0.0, self.quantized, self.scales)
        self.logits = arena.zeros(max(FUSED_ROWS * records.BLOCK, LOGITS, TOGETHER * columns))
        self.wanted = np.zeros(most_rows, records.WANTED)
        found, values = arena.zeros(most_rows * most, np.int64), arena.zeros(most_rows * most)
        self.wanted["columns"] = found.ctypes.data + 8 * most * np.arange(most_rows)
        self.wanted["scores"] = values.ctypes.data + 4 * most * np.arange(most_rows)
        self.wanted["only"] = self.wanted["barred"] = self.wanted["also_barred"] = -1

    def seconds(self, way: str, rows: int, k: int, times: int) -> float:
        """Returns the seconds of a way, once."""
        from bench.fused_output.ways import WAYS

        self.wanted["k"], self.wanted["normalized"] = k, way != ARGMAX
        number = WAYS.index("fused" if way == ARGMAX else way)
        given = self.record, self.quantized, self.scales, rows, self.wanted, self.bias, self.logits
        began = time.perf_counter()
        self.program.output_way(times, number, *given)
        return (time.perf_counter() - began) / times


def measure(layer: Layer, batch: int, beam: int, rounds: int) -> dict:
    """Returns microseconds of each way, for all rows of a step: the least of the rounds."""
    from bench.fused_output.ways import WAYS

    ways = [*WAYS, *([ARGMAX] if beam == 1 else [])]
    rows = batch * beam
    times = max(1, round(3e-3 / max(layer.seconds("fused", rows, beam, 1) for _ in range(2))))
    found = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            found[way].append(1e6 * layer.seconds(way, rows, beam, times))
    return {way: min(values) for way, values in found.items()}


def beyond(found: dict, way: str) -> float:
    """Returns the time of a way beyond its product."""
    return found[way] - found["product" if way in ("steps", "defined") else "blocks"]


def show(batch: int, beam: int, found: dict):
    """Prints one line: the reduction by each other way against the steps."""
    steps = beyond(found, "steps")
    chain = [found[way] for way in ("product", "biased", "normalized", "steps")]
    passes = [f"{later - before:.1f}" for before, later in itertools.pairwise(chain)]
    told = [f"product {chain[0]:8.1f} us", f"steps + {steps:8.1f} us (bias, softmax, search: {', '.join(passes)})"]
    for way in ("defined", "fused", ARGMAX):
        if way in found:
            extra = beyond(found, way)
            told.append(f"{way} + {extra:7.1f} us ({100 * (1 - extra / steps):3.0f} % less)")
    share = found.get(ARGMAX, found["fused"]) / found["steps"]
    told.append(f"with the product {100 * (1 - share):3.0f} % less")
    print(f"batch {batch:3d}, beam {beam}: {'; '.join(told)}", flush=True)


def main(arguments=None):
    from bench.programs import compiled

    parser = command("bench.fused_output", __doc__, rounds=25)
    columns = whole(16, 1_000_000)
    parser.add_argument("--vocabularies", type=columns, nargs="+", default=[32000, 85000])
    parser.add_argument("--beams", type=whole(1, 64), nargs="+", default=[1, 3, 5, 9])
    parser.add_argument("--batches", type=whole(1, 1000), nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--depth", type=whole(64, 4096), default=512)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--sentences", type=positive, default=64, help="of whole translations")
    chosen = parser.parse_args(arguments)
    print(machine())
    import bench.fused_output.ways  # noqa: F401  defines kernels

    program, results = compiled.load(), {}
    for vocabulary in chosen.vocabularies:
        size, depth = -(-vocabulary // 16) * 16, -(-chosen.depth // 64) * 64
        layer = Layer(program, Arena(), depth, size, max(chosen.batches) * max(chosen.beams), max(chosen.beams))
        print(f"\n{vocabulary} pieces, depth {depth}")
        for beam in chosen.beams:
            for batch in chosen.batches:
                found = measure(layer, batch, beam, chosen.rounds)
                results[f"{vocabulary}, beam {beam}, batch {batch}"] = found
                show(batch, beam, found)
    kept = {"machine": machine(), "layers": results}
    if chosen.whole:
        kept["whole"] = [measure_whole(size, chosen) for size in chosen.vocabularies]
        show_whole(kept["whole"])
    save(chosen.json, kept)


if __name__ == "__main__":
    main()
