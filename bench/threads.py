"""Worker threads: words per second of `inter_threads` 1, 2, ... in bulk. Not to be pinned to one core.

    python -m bench.threads [--threads 1 2] [--rounds 7] [--model DIR]

Results are compared to the bit.
"""

import argparse
import statistics
import tempfile
import time
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
        translators = {threads: Translator(model, inter_threads=threads) for threads in chosen.threads}
        first, seconds = None, {}
        for _ in range(chosen.rounds):
            for threads, translator in translators.items():
                began = time.perf_counter()
                made = [(r.text, r.score) for r in translator.translate(lines)]
                seconds.setdefault(threads, []).append(time.perf_counter() - began)
                first = first or made
                assert made == first, "results differ"
    base = seconds[chosen.threads[0]]
    for threads, found in seconds.items():
        ratio = statistics.median(b / f for b, f in zip(base, found, strict=True))
        rate = words / statistics.median(found)
        print(f"{threads} thread(s)  {rate:8.0f} words/s  {ratio:.2f} x {chosen.threads[0]} thread(s), same bits")
    save(chosen.json, {"machine": machine(), "words": words, "seconds": seconds})


if __name__ == "__main__":
    main()
