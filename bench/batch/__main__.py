"""`cpunmt batch` beside `translate` of the same lines: python -m bench.batch --test FILE

    --model DIR       (default: the shipped one)
    --test FILE       lines of source TAB reference, of which the sources are taken
    --sentences N     of its beginning (default: 20,000)
    --rounds N        each does all in turn (default: 3)

Words per second: of `Translator.translate` with all lines at once, in this process; of one worker and of two, while they
work (without the start, which is told too); of one where each line is there four times. The least time of all rounds,
and the same beside that of the first. How many cores there are decides what a second worker gains.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from bench.timing import machine, positive, save
from bench.translate import SHIPPED
from cpunmt import Translator
from cpunmt.corpora import sidecar
from cpunmt.corpora.batch import Batch
from cpunmt.corpora.inputs.formats import corpora_of
from cpunmt.corpora.job import Job
from cpunmt.corpora.model_digest import model_digest
from cpunmt.corpora.pool import Pool
from cpunmt.corpora.worker import Work
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

AGAIN = 4  # times that a line is there, where lines repeat
SHARDS = 4  # for each worker, about


def in_bulk(translator, lines) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    translator.translate(lines)
    return time.perf_counter() - began


def by_workers(model, path, rows, workers) -> tuple[float, float]:
    """(seconds of the start, of the work) of a run."""
    job, digest = Job(), model_digest([Path(model)])
    with tempfile.TemporaryDirectory() as out:
        run = Batch(corpora_of([path], out, False), out, rows)
        began = time.perf_counter()
        with Pool(Work([{"model_path": str(model)}], [digest], {}, job.to_dict()), workers) as pool:
            ready = time.perf_counter()
            run.run(pool, sidecar.identity(digest, pool.options, job.to_dict()), lambda rows, words: None)
            return ready - began, time.perf_counter() - ready


def measure(model, lines, rounds) -> dict:
    """Figures of each way, by its name."""
    translator = Translator(model)
    in_bulk(translator, lines[:100])
    words = sum(len(line.split()) for line in lines)
    seconds: dict[str, float] = {}
    start = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        once, often = os.path.join(folder, "once.txt"), os.path.join(folder, "often.txt")
        Path(once).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        Path(often).write_text("".join(f"{line}\n" * AGAIN for line in lines), "utf-8")
        rows = max(1, -(-len(lines) // SHARDS))
        for _ in range(rounds):
            ways = {
                "translate": lambda: in_bulk(translator, lines),
                "1 worker": lambda: by_workers(model, once, rows, 1),
                "2 workers": lambda: by_workers(model, once, rows, 2),
                f"lines {AGAIN} times": lambda: by_workers(model, often, AGAIN * rows, 1),
            }
            for name, way in ways.items():
                taken = way()
                if isinstance(taken, tuple):
                    start, taken = min(start, taken[0]), taken[1]
                seconds[name] = min(seconds.get(name, float("inf")), taken)
    found = {}
    for name, taken in seconds.items():
        speed = words * (AGAIN if name.startswith("lines") else 1) / taken
        found[name] = {"words_per_second": speed, "ratio": speed * seconds["translate"] / words}
    return {"ways": found, "start_seconds": start, "words": words, "cores": len(os.sched_getaffinity(0))}


def main(arguments=None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m bench.batch", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--test", required=True, metavar="FILE")
    parser.add_argument("--sentences", type=positive, default=20_000)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--json", help="write the figures there")
    options = parser.parse_args(arguments)
    lines = list(read_evaluation_set(*named_set(options.test)).sources[: options.sentences])
    figures = measure(options.model, lines, options.rounds)
    print(
        f"{len(lines)} lines, {figures['words']} words, {figures['cores']} cores, a start {figures['start_seconds']:.2f} s"
    )
    for name, way in figures["ways"].items():
        print(f"{name:20} {way['words_per_second']:9,.0f} words/s {way['ratio']:6.3f}")
    save(options.json, {"machine": machine(), **figures})


if __name__ == "__main__":
    main()
