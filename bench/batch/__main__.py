"""`cpunmt batch` beside `translate` of the same lines: python -m bench.batch --test FILE

    --model DIR       (default: the shipped one)
    --test FILE       lines of source TAB reference, of which the sources are taken
    --sentences N     of its beginning (default: 20,000)
    --rounds N        each does all in turn (default: 3)

Words per second: of `Translator.translate` with all lines at once, in this process; of one worker and of two (without
the start, which is printed apart); of one with each line four times. All from the least times of the rounds, with
ratios to the first. Also by processor time, less that of a run without lines, which depends less on other processes.
The number of cores limits the gain of a second worker.
"""

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.harness.command import command, machine, save
from bench.harness.texts import SHIPPED, count_words, read_test
from cpunmt import Translator
from cpunmt.corpora.batch import Batch
from cpunmt.corpora.inputs.formats import corpora_of
from cpunmt.corpora.job import Job
from cpunmt.corpora.pool import Pool
from cpunmt.corpora.worker import work_of

AGAIN = 4  # repetitions of a line
SHARDS = 4  # for each worker, about


class Cost(NamedTuple):
    """The cost of a way: seconds until it was ready and of its work, and processor time with its children's."""

    start: float
    work: float
    processor: float


def in_bulk(translator, lines) -> Cost:
    """Translates all lines in one call."""
    began, processor = time.perf_counter(), time.process_time()
    translator.translate(lines)
    return Cost(0.0, time.perf_counter() - began, time.process_time() - processor)


def by_workers(model, path, rows, workers) -> Cost:
    """Runs workers; the processor time includes the start."""
    work = work_of([{"model_path": [str(model)]}], {}, Job())
    with tempfile.TemporaryDirectory() as out:
        run = Batch(corpora_of([path], out, False), out, rows)
        began, processor = time.perf_counter(), processor_time()
        with Pool(work, workers) as pool:
            ready = time.perf_counter()
            run.run(pool, lambda rows, words: None)
            done = time.perf_counter()
        return Cost(ready - began, done - ready, processor_time() - processor)


def processor_time() -> float:
    """Returns the seconds of this process and of its ended children."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def measure(model, lines, rounds) -> dict:
    """Returns figures of each way, by its name."""
    translator = Translator(model)
    in_bulk(translator, lines[:100])
    words = count_words(lines)
    costs: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, f"{name}.txt") for name in ("none", "once", "often")}
        for (_, path), times in zip(paths.items(), (0, 1, AGAIN), strict=True):
            Path(path).write_text("".join(f"{line}\n" * times for line in lines), "utf-8")
        rows = max(1, -(-len(lines) // SHARDS))
        ways = {
            "translate": lambda: in_bulk(translator, lines),
            "start": lambda: by_workers(model, paths["none"], 1, 1),
            "1 worker": lambda: by_workers(model, paths["once"], rows, 1),
            "2 workers": lambda: by_workers(model, paths["once"], rows, 2),
            f"lines {AGAIN} times": lambda: by_workers(model, paths["often"], AGAIN * rows, 1),
        }
        for _ in range(rounds):
            for name, way in ways.items():
                cost = way()
                costs[name] = Cost(*map(min, cost, costs.get(name, cost)))
    bulk, start = costs["translate"], costs.pop("start")
    found = {}
    for name, cost in costs.items():
        done = words * (AGAIN if name.startswith("lines") else 1)
        processor = cost.processor - start.processor * (name != "translate") * (2 if name == "2 workers" else 1)
        found[name] = {
            "words_per_second": done / cost.work,
            "ratio": done / cost.work * bulk.work / words,
            "processor_ratio": done / max(processor, 1e-9) * bulk.processor / words,
        }
    return {"ways": found, "start_seconds": start.start, "words": words, "cores": len(os.sched_getaffinity(0))}


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.batch", __doc__, rounds=3, sentences=20_000)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--test", required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    lines = list(read_test(options.test, options.sentences)[0])
    figures = measure(options.model, lines, options.rounds)
    what = f"{len(lines)} lines, {figures['words']} words, {figures['cores']} cores"
    print(f"{what}, a start {figures['start_seconds']:.2f} s\n{'':38} beside  in processor time")
    for name, way in figures["ways"].items():
        ratios = f"{way['ratio']:6.3f} {way['processor_ratio']:15.3f}"
        print(f"{name:20} {way['words_per_second']:9,.0f} words/s {ratios}")
    save(options.json, {"machine": machine(), **figures})


if __name__ == "__main__":
    main()
