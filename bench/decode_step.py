"""The microseconds of one decoding step, by kernel. On one core: taskset -c 1 python -m bench.decode_step

Translates real sentences with a clock around every kernel (bench/programs/profiled.py), one at a time and in bulk, and
lists each kernel's own share of the decoder's time: int8 products, and all others.
"""

import tempfile
import time
from pathlib import Path

from bench.harness.command import command, machine, save
from bench.harness.texts import SENTENCES, evenly, text_lines


def shares(profiled, cycles_per_second, phase) -> list[tuple[str, float, int]]:
    """Returns (kernel, seconds of its own, calls), the largest first."""
    rows = [
        (name, cycles / cycles_per_second, int(calls))
        for name, (cycles, calls) in zip(profiled.names, profiled.counts[phase], strict=True)
        if calls
    ]
    return sorted(rows, key=lambda row: -row[1])


def profile(profiled, translate) -> dict:
    """Runs `translate()` and returns its cycles as seconds: phase -> rows of `shares`, and the number of steps."""
    translate()
    profiled.counts[:] = 0
    began = time.perf_counter()
    translate()
    passed = time.perf_counter() - began
    # the counter ticks at a fixed rate; the wrappers' total is the whole compiled call
    ticks = profiled.counts[:, :, 0].sum() / passed
    steps = int(profiled.counts[1, profiled.names.index("transformer_step"), 1])
    return {
        "seconds": passed,
        "steps": steps,
        "encoder": shares(profiled, ticks, 0),
        "decoder": shares(profiled, ticks, 1),
    }


def show(title, found):
    """Prints one profile."""
    print(f"\n{title}: {found['seconds']:.2f} s, {found['steps']} steps of the decoder")
    for phase in ("encoder", "decoder"):
        rows = found[phase]
        whole = sum(seconds for _, seconds, _ in rows)
        print(f"  {phase}: {whole:.3f} s", end="")
        print(f", {1e6 * whole / found['steps']:.1f} us a step" if phase == "decoder" else "")
        for name, seconds, calls in rows:
            if seconds > 0.002 * whole:
                each = 1e6 * seconds / found["steps"]
                print(f"    {name:24s} {100 * seconds / whole:5.1f} %  {each:8.2f} us a step  {calls:9d} calls")


def main(arguments=None):
    from bench.programs.profiled import PRODUCTS, Profiled
    from bench.students import model_or_random
    from cpunmt import Translator

    parser = command("bench.decode_step", __doc__, sentences=200)
    parser.add_argument("--model", type=Path, help="packed model directory (default: a random tiny11-size student)")
    parser.add_argument("--input", type=Path, default=SENTENCES)
    chosen = parser.parse_args(arguments)
    lines = evenly(text_lines(chosen.input), chosen.sentences)
    with tempfile.TemporaryDirectory() as folder:
        model = model_or_random(chosen.model, folder)
        translator = Translator(model)
    profiled = Profiled()
    translator.loaded.engine._program = profiled
    print(machine())
    results = {
        "one at a time": profile(profiled, lambda: [translator.translate(line, split="none") for line in lines]),
        "bulk": profile(profiled, lambda: translator.translate(lines, split="none")),
    }
    for title, found in results.items():
        show(title, found)
        rows = found["decoder"]
        whole = sum(seconds for _, seconds, _ in rows)
        products = sum(seconds for name, seconds, _ in rows if name in PRODUCTS)
        print(f"  inside the products of the decoder's layers: {100 * products / whole:.1f} %")
    save(chosen.json, {"machine": machine(), **results})


if __name__ == "__main__":
    main()
