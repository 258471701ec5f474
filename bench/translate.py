"""Whole translations: words per second, latency, start and memory. On one core: taskset -c 1 python -m bench.translate

    --model DIR     a packed model (default: the shipped one, then random students of real sizes)
    --input FILE    sentences, one per line (default: tests/golden/sentences.en.txt)

Words are separated by white space in the source. Text goes in and text comes out: tokenization is in every figure;
loading is not in words/s. One at a time is one call per sentence; bulk is one call with all sentences.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import ROOT, SENTENCES, SHIPPED, count_words, evenly, text_lines
from bench.harness.timing import spread

_START = """
import time; began = time.perf_counter()
from cpunmt import Translator
translator = Translator({model!r}); loaded = time.perf_counter()
translator.translate("A man is riding a bicycle."); done = time.perf_counter()
lines = open({lines!r}, encoding="utf8").read().split("\\n")[:-1] if {lines!r} else []
translator.translate(lines)
try:  # not getrusage: its peak is inherited from the process that started this one
    peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
except OSError:
    peak = 0
print(loaded - began, done - began, peak)
"""


def start(model, cache=None, lines="") -> dict:
    """Returns seconds from an empty interpreter to a loaded model and a first translation, and peak memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache:
        environment["CPUNMT_CACHE_DIR"] = cache
    began = time.perf_counter()
    command = [sys.executable, "-c", _START.format(model=str(model), lines=str(lines))]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    load, first, peak = map(float, output.split())
    whole = time.perf_counter() - began if not lines else None
    return {"load": load, "first": first, "process": whole, "peak_mb": peak / 1024}


def speed(model, lines, rounds) -> dict:
    """Returns words per second of each round, one at a time and in bulk, in turn; latencies of all single sentences."""
    from cpunmt import Translator

    translator = Translator(model)
    translator.translate(lines[:50])
    words = count_words(lines)
    single, bulk, latencies, pieces = [], [], [], 0
    for _ in range(rounds):
        began = time.perf_counter()
        for line in lines:
            before = time.perf_counter()
            translator.translate(line)
            latencies.append(time.perf_counter() - before)
        single.append(words / (time.perf_counter() - began))
        began = time.perf_counter()
        results = translator.translate(lines)
        bulk.append(words / (time.perf_counter() - began))
        pieces = sum(len(result.pieces) + 1 for result in results)
    return {"single": single, "bulk": bulk, "latencies": latencies, "words": words, "target_pieces": pieces}


def report(name, model, lines, file, rounds) -> dict:
    """Measures one model and prints its figures."""
    result = speed(model, lines, rounds)
    latencies = sorted(result.pop("latencies"))
    result["p50_ms"] = 1e3 * latencies[len(latencies) // 2]
    result["p95_ms"] = 1e3 * latencies[int(len(latencies) * 0.95)]
    warm = [start(model) for _ in range(3)]
    result["warm_load_s"] = statistics.median(w["load"] for w in warm)
    result["warm_first_s"] = statistics.median(w["first"] for w in warm)
    result["warm_process_s"] = statistics.median(w["process"] for w in warm)
    result["peak_mb"] = start(model, lines=file)["peak_mb"]
    with tempfile.TemporaryDirectory() as cache:
        cold = start(model, cache)
    result["cold_first_s"], result["cold_peak_mb"] = cold["first"], cold["peak_mb"]
    print(f"{name}: {len(lines)} sentences, {result['words']} words, {result['target_pieces']} target pieces")
    for mode in ("single", "bulk"):
        label = "one at a time" if mode == "single" else "bulk"
        print(f"  {label:14s} {statistics.median(result[mode]):8.0f} words/s   quartiles {spread(result[mode])}")
    print(f"  latency        p50 {result['p50_ms']:.2f} ms, p95 {result['p95_ms']:.2f} ms")
    print(
        f"  warm start     {result['warm_first_s']:.2f} s to the first translation in the process, "
        f"{result['warm_process_s']:.2f} s with the interpreter; load {result['warm_load_s']:.2f} s"
    )
    print(f"  cold start     {result['cold_first_s']:.1f} s")
    print(f"  peak memory    {result['peak_mb']:.0f} MB warm, {result['cold_peak_mb']:.0f} MB cold", flush=True)
    return result


def main(arguments=None):
    parser = command("bench.translate", __doc__, rounds=5)
    parser.add_argument("--model", type=Path, help="packed model directory")
    parser.add_argument("--input", type=Path, default=SENTENCES, help="sentences, one per line")
    parser.add_argument("--sentences", type=positive, default=500, help="how many of them")
    chosen = parser.parse_args(arguments)
    lines = evenly(text_lines(chosen.input), chosen.sentences)
    print(machine())
    results = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines"
        file.write_text("".join(line + "\n" for line in lines), encoding="utf8")
        models = {chosen.model.name: chosen.model} if chosen.model else {"shipped": SHIPPED}
        if not chosen.model:
            from bench.students import SIZES, write_student

            for size in SIZES:
                models[size] = Path(folder) / size
                write_student(models[size], size, "int8")
        for name, model in models.items():
            results[name] = report(name, model, lines, file, chosen.rounds)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
