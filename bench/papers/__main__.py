"""All measurements of docs/papers.md, one after the other, on one core: taskset -c 1 python -m bench.papers

    --rounds N           of the slowest commands; quicker ones take a multiple (default: 1)
    --only NAME ...      commands, by the last part of their name, such as gpu2018 (default: all)
    --test NAME=FILE     a set to judge by, lines of source TAB reference; may be given several times
    --text FILE          sentences of the source language, for clusters of states
    --checkpoint PATH    a trained recurrent checkpoint: Table 1 of Devlin 2017 with it, too
    --try                the smallest sizes, to try the commands; their figures mean nothing

The sizes are meant to end within an hour of a quiet core. The file of --json has the figures of each command, or the
reason why there are none. It is written again after each, so an interrupted run keeps what it has. The exit status is 1
if a command failed.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import ROOT, SHIPPED


class Measurement(NamedTuple):
    """A command, and the sizes of its measurements."""

    module: str
    sizes: str  # options, separated by spaces
    tiny: str  # the same, to try it
    takes: tuple[str, ...] = ()  # options of this command that it takes, too
    needs: tuple[str, ...] = ()  # those without which it is left out
    rounds: int = 1  # times --rounds


MEASUREMENTS = {
    "fused_output": Measurement(  # A, Tables 2 and 3; the table of B
        "bench.fused_output",
        "--vocabularies 85000 --beams 1 3 5 9 --batches 1 8 32 128",
        "--vocabularies 320 --beams 1 --batches 2 --depth 64",
        rounds=8,
    ),
    "top_up": Measurement(
        "bench.top_up", "--sentences 160", "--sentences 4 --slots 2 --beam 1"
    ),  # A, Algorithms 4 to 6
    "gpu2018": Measurement(  # A, Figures 1, 2, 5 and 8
        "bench.papers.gpu2018",
        "--only shares sizes --sentences 640 --batches 128",
        "--only shares sizes --sentences 4 --vocabulary 320 --batches 2 --beams 1",
    ),
    "ladder": Measurement(  # A, Figures 3 to 10
        "bench.papers.gpu2018",
        "--only ladder --sentences 1280 --batches 128 --beams 1",
        "--only ladder --sentences 4 --vocabulary 320 --batches 2 --beams 1",
    ),
    "curves": Measurement(  # B, speed by batch and beam
        "bench.papers.gpu2018",
        "--only ladder --sentences 128 --batches 1 32 --beams 1 3",
        "--only ladder --sentences 4 --vocabulary 320 --batches 1 2 --beams 1",
    ),
    "devlin2017": Measurement(  # C, Figure 1, Tables 1 and 2
        "bench.papers.devlin2017",
        "--sentences 8",
        "--sentences 2 --rows 1 --divisor 16 --vocabulary 500",
        ("test", "checkpoint"),
        rounds=3,
    ),
    "clusters2022": Measurement(  # D, Tables 2, 3 and 5 in kind
        "bench.papers.clusters2022",
        "--only projection end_to_end --learned 500 --sentences 20 --vocabularies 128000 250000 "
        "--shares .003 .01 .04 .16",
        "--only projection --size tiny11 --vocabularies 400 --learned 20 --sentences 2 --count 5 --shares .5",
        rounds=2,
    ),
    "sweep": Measurement(  # D, Figures 3 and 4
        "bench.papers.clusters2022",
        f"--only sweep --trained {SHIPPED}",
        f"--only sweep --trained {SHIPPED} --counts 3 --tops 1 --most-lines 10",
        ("text", "one test"),
        ("text", "test"),
    ),
    "wngt2019": Measurement(  # E, Figures 1 and 3, Tables 2 and 3
        "bench.papers.wngt2019",
        "--sentences 160",
        "--sentences 4 --size pilot",
        ("test",),
        rounds=3,
    ),
    "schemes": Measurement(  # E, section 4.1: the ranges of 8-bit columns
        "bench.schemes",
        "--sizes --simulated 100",
        "--sizes --simulated 1",
        ("test",),
        ("test",),
    ),
}


def parse(arguments):
    parser = command("bench.papers", __doc__)
    parser.add_argument("--rounds", type=positive, default=1)
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--test", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--text", metavar="FILE")
    parser.add_argument("--checkpoint", metavar="PATH")
    parser.add_argument("--try", action="store_true", dest="tiny")
    return parser.parse_args(arguments)


def options(one: Measurement, chosen) -> list[str]:
    """Returns the options of a measurement."""
    given = {
        "test": [word for test in chosen.test for word in ("--test", test)],
        "one test": ["--test", *chosen.test[:1]],
        "text": ["--text", chosen.text],
        "checkpoint": ["--trained", f"checkpoint={chosen.checkpoint}"] if chosen.checkpoint else [],
    }
    passed = [word for name in one.takes for word in given[name]]
    return [*(one.tiny if chosen.tiny else one.sizes).split(), "--rounds", str(one.rounds * chosen.rounds), *passed]


def _measured(one: Measurement, chosen) -> dict:
    """Runs a command; returns its figures, its exit status, or the options that it lacks."""
    missing = [f"--{option}" for option in one.needs if not getattr(chosen, option)]
    told = " ".join(["python -m", one.module, *([] if missing else options(one, chosen))])
    if missing:
        print(f"\n{told}: left out, for it takes {' and '.join(missing)}", flush=True)
        return {"command": told, "missing": missing}
    print(f"\n{told}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        done = subprocess.run(
            [sys.executable, "-m", one.module, *options(one, chosen), "--json", str(figures)], cwd=ROOT
        )
        found = {"command": told, "seconds": time.monotonic() - began, "exit status": done.returncode}
        return found if done.returncode else {**found, "figures": json.loads(figures.read_text("utf-8"))}


def main(arguments=None):
    """Runs the commands."""
    chosen = parse(arguments)
    results: dict = {"machine": machine(), "measurements": {}}
    for name in chosen.only:
        results["measurements"][name] = _measured(MEASUREMENTS[name], chosen)
        save(chosen.json, results)
    failed = [name for name, found in results["measurements"].items() if found.get("exit status")]
    if failed:
        raise SystemExit(f"python -m bench.papers: error: failed: {', '.join(failed)}; see above")


if __name__ == "__main__":
    main()
