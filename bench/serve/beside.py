"""Our server beside another one with LibreTranslate's dialect: the same clients, the same sentences, in turns.

    taskset -c 1 libretranslate --load-only en,de --threads 1 --port 5071 &
    python -m bench.serve.beside --port 5071 --pid $! [--model DIR] [--sentences 400] [--clients 8 200]

The other server must be running already, on the last of the allowed cores: ours is started there, and the clients have
the first. One server is idle while the other one works. Every request has a connection of its own. For equal work both
need the same model; the words of both translations are printed, since a longer translation takes longer. Our answers
are compared with `Translator`; the other server's need only exist.
"""

import asyncio
import os
import statistics
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import STUDENT, count_words
from bench.harness.timing import pinned
from bench.serve.__main__ import Running, memory_of, sentences
from bench.serve.clients import at_a_rate, one_by_one, parts, side_by_side

ALONE = 100  # sentences translated one by one
PARTS = ("p50", "p95", "p99")


def main(arguments=None):
    parser = command("bench.serve.beside", __doc__, rounds=3, sentences=400)
    parser.add_argument("--port", type=positive, required=True, help="of the other server, on this machine")
    parser.add_argument("--pid", type=positive, help="of its process: its memory is printed too")
    parser.add_argument("--model", type=Path, default=STUDENT, help="model directory of ours, English to German")
    parser.add_argument("--clients", type=positive, nargs="+", default=[8, 200])
    parser.add_argument("--rate", type=positive, default=20, help="requests per second")
    parser.add_argument("--seconds", type=positive, default=15, help="of that rate")
    chosen = parser.parse_args(arguments)
    lines = sentences(chosen.sentences)
    cores = sorted(os.sched_getaffinity(0))
    with Running(chosen.model, cores[-1]) as server, pinned(cores[0]):
        found = measured(server, lines, chosen)
    print(machine(), f"{len(lines)} sentences")
    report(found, chosen)
    save(chosen.json, {"machine": machine(), **found})


def measured(server, lines, chosen) -> dict:
    """Measures each server, round by round, and its memory afterwards."""
    from cpunmt import Translator

    right = [result.text for result in Translator(chosen.model).translate(lines)]
    rated = [number % len(lines) for number in range(chosen.rate * chosen.seconds)]
    ports, found = {"cpunmt": server.port, "other": chosen.port}, {}
    for port in ports.values():  # the first requests load and compile
        asyncio.run(side_by_side(port, lines[:20], 4, keep=False))
    for _ in range(chosen.rounds):
        for name, port in ports.items():
            one = found.setdefault(name, {"alone": [], "parallel": {}, "rated": [], "words": 0})
            made, seconds = asyncio.run(one_by_one(port, lines[:ALONE], keep=False))
            _checked(name, made, right)
            one["alone"].append(statistics.median(seconds))
            for count in chosen.clients:
                made, passed = asyncio.run(side_by_side(port, lines, count, keep=False))
                one["words"] = _checked(name, made, right)
                one["parallel"].setdefault(count, []).append(passed)
            made, seconds = asyncio.run(at_a_rate(port, [lines[n] for n in rated], chosen.rate, keep=False))
            _checked(name, made, [right[number] for number in rated])
            one["rated"].append(parts(seconds))
    found["words"] = count_words(lines)
    found["cpunmt"]["memory"] = server.memory()
    if chosen.pid:
        found["other"]["memory"] = memory_of(chosen.pid)
    return found


def _checked(name, made, right) -> int:
    """Returns the words of the translations; ours must be right, the other's must exist."""
    assert all(made) and (name != "cpunmt" or made == right[: len(made)]), f"an answer of {name} is wrong"
    return sum(len(text.split()) for text in made)


def report(found, chosen):
    """Formats the figures: medians over the rounds, and of the ratios within each round."""
    ours, other = found["cpunmt"], found["other"]
    _line("one at a time, ms", ours["alone"], other["alone"], 1000)
    for count in chosen.clients:
        speeds = [[found["words"] / passed for passed in one["parallel"][count]] for one in (ours, other)]
        _line(f"{count} clients, words/s", *speeds)
    for name in PARTS:
        values = [[one[name] for one in side["rated"]] for side in (ours, other)]
        _line(f"{chosen.rate} requests/s, {name}, ms", *values, 1000)
    if "memory" in other:
        _line("memory, MB", [ours["memory"]], [other["memory"]], 1e-6)
    print(f"words of the translations  cpunmt {ours['words']}, other {other['words']}")


def _line(what, ours, other, unit=1.0):
    ratios = sorted(b / a for a, b in zip(ours, other, strict=True))
    middle = [unit * statistics.median(values) for values in (ours, other)]
    print(
        f"{what:26} cpunmt {middle[0]:.1f}, other {middle[1]:.1f}: other / cpunmt {statistics.median(ratios):.2f}"
        f" ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
