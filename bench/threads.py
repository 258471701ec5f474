"""Threads: words per second of 1, 2, ... of them. Do not pin it to one core.

    python -m bench.threads [--threads 1 2] [--rounds 7] [--model DIR]

workers     `inter_threads`, in bulk
callers     the caller's threads, which share a Translator, each with its part of the lines, in bulk
one by one  the same, each line in a call of its own

Results are compared to the bit. On a free-threaded Python each has a core; otherwise code that is not compiled waits
for Python's lock.
"""

import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SENTENCES, count_words, text_lines
from bench.harness.timing import median_ratio


def main(arguments=None):
    from bench.students import model_or_random
    from cpunmt import Translator

    parser = command("bench.threads", __doc__, rounds=7, sentences=2000)
    parser.add_argument("--model", type=Path, help="model directory (default: a random tiny11-size student)")
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--threads", type=positive, nargs="+", default=[1, 2])
    chosen = parser.parse_args(arguments)
    lines = text_lines(chosen.input)[: chosen.sentences]
    words = count_words(lines)
    print(machine(), f"{len(lines)} sentences, {words} words")
    with tempfile.TemporaryDirectory() as folder:
        model = model_or_random(chosen.model, folder)
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
            ratio = median_ratio(base, found)
            rate = words / statistics.median(found)
            print(f"{way:10}  {threads} thread(s)  {rate:8.0f} words/s  {ratio:.2f} x {chosen.threads[0]}, same bits")
    save(chosen.json, {"machine": machine(), "words": words, "seconds": seconds})


def _apart(translate, lines, threads):
    """Returns results of all lines, in order, divided equally among the threads."""
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(translate, [lines[first::threads] for first in range(threads)]))
    return [parts[number % threads][number // threads] for number in range(len(lines))]


if __name__ == "__main__":
    main()
