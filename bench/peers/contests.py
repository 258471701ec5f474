"""Measures engines on the same work, one after the other, and prints their speeds."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness.command import machine
from bench.harness.texts import count_words
from bench.harness.timing import median_ratio
from bench.peers.engines import PEERS, engines, run
from bench.peers.models import Contest
from cpunmt.files.tables import aligned

MODES = ("single", "bulk")


def compete(
    peers: Mapping[str, str],
    folder: Path,
    contests: Mapping[str, Contest],
    workloads: Mapping[str, Sequence[str]],
    *,
    modes: Sequence[str] = MODES,
    beam: int = 1,
    rounds: int = 5,
) -> dict[str, dict]:
    """Measures each contest on each workload, prints it, and returns all figures by name.

    `peers` are those of `engines.installed`. `contests` are named by their precision (or ""), `workloads` are lines by
    name; `folder` takes a file of them.
    """
    results = {}
    for (workload, sample), (precision, contest) in itertools.product(workloads.items(), contests.items()):
        name, words = f"{workload} {precision}".rstrip(), count_words(sample)
        print(machine(), f"{name}: {len(sample)} lines, {words} words, beam {beam}", flush=True)
        lines = folder / "lines"
        lines.write_text("".join(line + "\n" for line in sample), encoding="utf8")
        results[name] = {"words": words, "lines": len(sample)}
        for mode in modes:
            found = results[name][mode] = measure(peers, contest, lines, mode, beam, rounds)
            tell(mode, found, words, len(sample))
    return results


def measure(peers: Mapping[str, str], contest: Contest, lines: Path, mode: str, beam: int, rounds: int) -> dict:
    """Returns seconds of each round, target pieces, and number of texts equal to cpunmt's, by engine, interleaved."""
    seconds, pieces, texts = {}, {}, {}
    found = engines(peers, contest, mode, beam)
    for _ in range(rounds):
        for name, (started, environment) in found.items():
            measured = run(started, environment, lines)
            seconds.setdefault(name, []).append(measured["seconds"])
            pieces[name] = measured["pieces"]
            texts[name] = measured.get("texts", [])
    if contest.cut:
        for name, rounds_of_it in seconds.items():
            seconds[name] = [value * pieces["cpunmt"] / pieces[name] for value in rounds_of_it]
    same = {name: sum(map(str.__eq__, told, texts["cpunmt"])) for name, told in texts.items() if told}
    return {"seconds": seconds, "pieces": pieces, "same": same}


def ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Returns peer -> cpunmt's speed over its better setting: the median over rounds."""
    found = {}
    for peer in PEERS:
        settings = [times for name, times in seconds.items() if name.startswith(peer)]
        if settings:
            better = min(settings, key=statistics.median)
            found[peer] = median_ratio(better, seconds["cpunmt"])
    return found


def summary(results: dict[str, dict]) -> list[str]:
    """Returns lines of a table: a workload each, cpunmt's words/s, and its speed over each peer that ran, by mode."""
    heading, rows = ["cpunmt"], []
    ran = [ratios(workload[mode]["seconds"]) for workload in results.values() for mode in MODES if mode in workload]
    peers = [peer for peer in PEERS if any(peer in faster for faster in ran)]
    for mode in MODES:
        heading += [f"{mode}: words/s", *(f"x {peer}" for peer in peers)]
    for name, workload in results.items():
        row = [name]
        for mode in MODES:
            if mode not in workload:
                row += ["-"] * (1 + len(peers))
                continue
            seconds = workload[mode]["seconds"]
            faster = ratios(seconds)
            row.append(f"{workload['words'] / statistics.median(seconds['cpunmt']):,.0f}")
            row += [f"{faster[peer]:.2f}" if peer in faster else "-" for peer in peers]
        rows.append(row)
    return aligned(heading, rows)


def tell(mode: str, found: dict, words: int, lines: int):
    """Prints a line for each engine."""
    for name, seconds in found["seconds"].items():
        ratio = median_ratio(seconds, found["seconds"]["cpunmt"])
        median = statistics.median(seconds)
        same = f", {found['same'][name]} of {lines} texts as cpunmt's" if name in found["same"] else ""
        print(
            f"{mode:7s} {name:34s} {words / median:7.0f} words/s  {1e3 * median / lines:7.2f} ms/line"
            f"  {found['pieces'][name]:6d} pieces  cpunmt is {ratio:.2f} x as fast{same}",
            flush=True,
        )
