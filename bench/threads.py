"""Threads: words per second of 1, 2, ... of them. Not to be pinned to one core.

    python -m bench.threads [--threads 1 2] [--rounds 7] [--model DIR]

workers     `inter_threads`, in bulk
callers     threads of one's own, that share a Translator, each with its part of the lines, in bulk
one by one  the same, each line in a call of its own

Results are compared to the bit. On a free-threaded Python all of them have a core; where Python has a lock, what is not
compiled waits for it.
"""

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.timing import machine, positive, save

ROOT = Path(__file__).resolve().parent.parent
STUDENT = ROOT / "models" / "ende-student"
SENTENCES = ROOT / "tests" / "golden" / "sentences.en.txt"


def main(arguments=None):
    from bench.students import write_student
    from cpunmt import Translator

    parser = argparse.ArgumentParser(prog="python -m bench.threads", description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, help="model directory (default: a random tiny11-size student)")
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--sentences", type=positive, default=2000)
    parser.add_argument("--threads", type=positive, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--json", help="write the figures there")
    chosen = parser.parse_args(arguments)
    lines = chosen.input.read_text(encoding="utf8").split("\n")[:-1][: chosen.sentences]
    words = sum(len(line.split()) for line in lines)
    print(machine(), f"{len(lines)} sentences, {words} words")
    with tempfile.TemporaryDirectory() as folder:
        model = chosen.model
        if model is None:
            model = Path(folder) / "tiny11"
            write_student(model, "tiny11", "int8", STUDENT / "vocabulary.spm", STUDENT / "shortlist.bin")
        shared = Translator(model)
        workers = {threads: Translator(model, inter_threads=threads) for threads in chosen.threads}
        ways = {"workers": lambda threads: workers[threads].translate(lines)}
        ways["callers"] = lambda threads: _apart(shared.translate, lines, threads)
        ways["one by one"] = lambda threads: _apart(lambda some: list(map(shared.translate, some)), lines, threads)
        first, seconds = None, {}
        for _ in range(chosen.rounds):
            for way, translate in ways.items():
                for threads in chosen.threads:
                    began = time.perf_counter()
                    results = translate(threads)
                    seconds.setdefault(way, {}).setdefault(threads, []).append(time.perf_counter() - began)
                    made = [(r.text, r.score) for r in results]
                    first = first or made
                    assert made == first, "results differ"
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'with its lock' if has_lock else 'free threads'}")
    for way, of_threads in seconds.items():
        base = of_threads[chosen.threads[0]]
        for threads, found in of_threads.items():
            ratio = statistics.median(b / f for b, f in zip(base, found, strict=True))
            rate = words / statistics.median(found)
            print(f"{way:10}  {threads} thread(s)  {rate:8.0f} words/s  {ratio:.2f} x {chosen.threads[0]}, same bits")
    save(chosen.json, {"machine": machine(), "words": words, "seconds": seconds})


def _apart(translate, lines, threads):
    """Results of all lines, in order, of which each of the threads has as many."""
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(translate, [lines[first::threads] for first in range(threads)]))
    return [parts[number % threads][number // threads] for number in range(len(lines))]


if __name__ == "__main__":
    main()
