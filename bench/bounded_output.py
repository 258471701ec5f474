"""Greedy search over the whole vocabulary with bounded logits (search.bounded_output) and with all of them.

    taskset -c 1 python -m bench.bounded_output [--model DIR] [--text FILE] [--sentences 30] [--rounds 7]
    taskset -c 1 python -m bench.bounded_output --size opus

Prints the share of the vocabulary that bounds leave at a step, and the CPU time of both ways, one sentence at a time,
without and with scores. Translations and scores are compared: they must be equal. Bounds are used with AVX-VNNI,
AVX512-VNNI and AMX only (simd.tile_shapes: CODED_ROWS).
"""

import ctypes
import statistics
import tempfile
import time
from pathlib import Path

from bench.harness.command import command, machine, one_line_errors, save
from bench.harness.texts import SENTENCES, evenly, read_lines
from bench.peers.sizes import SHAPES, lines, write
from cpunmt import Translator
from cpunmt.engine import full_output
from cpunmt.engine.engine import Engine
from cpunmt.search.settings import Search
from cpunmt.simd.tile_shapes import CODED_ROWS

UNSCORED = Search(full=True, scored=False)
ALL_LOGITS = 0  # the most sentences at once for which an engine uses bounds


def shares_left(engine: Engine, sources: list[list[int]], limits: list[int]) -> list[float]:
    """Returns the share of the vocabulary that is scored at each step."""
    found, prepared = [], engine._prepared

    def watched(*given, **named):
        result = prepared(*given, **named)
        addresses.append(int(result[1].record["possible"][0]))
        return result

    addresses: list[int] = []
    engine._prepared = watched
    for source, limit in zip(sources, limits, strict=True):
        for _ in engine.pieces(source, limit, UNSCORED):
            found.append(ctypes.c_int64.from_address(addresses[-1]).value / engine.model.config.vocab_size)
    del engine._prepared
    return found


def measure(engine: Engine, sources: list[list[int]], limits: list[int], search: Search, rounds: int) -> dict:
    """Returns microseconds of CPU time for each piece, by way, and the median of the rounds' ratios."""
    few, seconds, made = engine._few_rows, {True: [], False: []}, {}
    for number in range(rounds):
        for bounded in (True, False) if number % 2 else (False, True):
            engine._few_rows = few if bounded else ALL_LOGITS
            began = time.process_time()
            found = [engine.translate([s], [n], search)[0][0] for s, n in zip(sources, limits, strict=True)]
            seconds[bounded].append(time.process_time() - began)
            made[bounded] = [(h.ids, h.score if search.scored else 0) for h in found]
    engine._few_rows = few
    assert made[True] == made[False]
    pieces = sum(len(ids) for ids, _ in made[True])
    bounded, whole = (1e6 * statistics.median(seconds[way]) / pieces for way in (True, False))
    ratio = statistics.median(a / b for a, b in zip(seconds[True], seconds[False], strict=True))
    return {"bounded": bounded, "all": whole, "ratio": ratio}


def main(arguments=None):
    parser = command("bench.bounded_output", __doc__, rounds=7, sentences=30)
    parser.add_argument("--model", type=Path, default=Path("models/ende-tiny"), help="default: %(default)s")
    parser.add_argument("--text", type=Path, default=SENTENCES, metavar="FILE", help="lines of a source")
    parser.add_argument("--size", choices=SHAPES, help="a Transformer of that size, of random weights: bench.peers")
    given = parser.parse_args(arguments)
    with one_line_errors("bench.bounded_output"), tempfile.TemporaryDirectory() as folder:
        shape = SHAPES.get(given.size)
        full_output.LEAST_BYTES = 0  # smaller models too
        model = Translator(write(Path(folder), shape) if shape else given.model).loaded
        texts = lines(shape, given.sentences) if shape else evenly(read_lines(given.text), given.sentences)
        sources = [list(ids) for ids in model.source_vocabulary.encode_batch(texts)]
        limits = [len(source) if shape else 2 * len(source) for source in sources]
        if not CODED_ROWS:
            print(machine(), "bounds are not used: with these instructions all logits are as fast", sep="\n")
            return save(given.json, {"machine": machine()})
        if not model.engine._halves_at():
            raise SystemExit("the logits of this model are not bounded: see engine.full_output")
        shares = shares_left(model.engine, sources, limits)
        result = {"left": {"median": statistics.median(shares), "mean": statistics.mean(shares)}}
        print(machine(), f"{len(sources)} sentences, {len(shares)} steps", flush=True)
        print(f"left of the vocabulary: median {result['left']['median']:.2%}, mean {result['left']['mean']:.2%}")
        for name, search in (("without scores", UNSCORED), ("with scores", UNSCORED._replace(scored=True))):
            found = result[name] = measure(model.engine, sources, limits, search, given.rounds)
            times = f"{found['bounded']:7.0f} us a piece, all logits {found['all']:7.0f}"
            print(f"{name:14s} {times}: {found['ratio']:.2f}")
    save(given.json, {"machine": machine(), **result})


if __name__ == "__main__":
    main()
