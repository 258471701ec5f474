"""The figures beside other engines that README, docs/benchmarks.md and their chart show, in one run on one machine.

    taskset -c 1 python -m bench.peers.figures --home DIR --json docs/benchmarks.json
    python -m docs.figures

DIR is that of `bench.peers`. The models are a trained student (--model), on newstest2014 as it is and in segments of
some numbers of words, and Transformers of the sizes that people hold, of random weights. The file has a row for each
model, kind of line, number of hypotheses and mode ("single" or "bulk"): speeds by engine, each peer at its better
setting, and cpunmt's speed over the peers' (medians of rounds). An hour of a core; half an hour without the float32
engines (`--peers bergamot CTranslate2`).
"""

import datetime
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import ROOT, evenly, read_lines, segments
from bench.peers.contests import MODES, compete, ratios
from bench.peers.engines import PEERS, installed
from bench.peers.models import trained
from bench.peers.sizes import SHAPES, sized
from bench.peers.sizes import lines as lines_of

TEXT = "data/wmt14.en"
WHOLE = "as they are"
SEGMENTS = {"1 to 3 words": (1, 3, 400), "5 to 9": (5, 9, 400), "20 to 30": (20, 30, 150), "50 to 100": (50, 100, 60)}
LINES, BEAM_LINES, CALIBRATION = 200, 100, 100
SIZES = {"opus": ((1, 64, MODES), (4, 32, MODES)), "nllb": ((1, 4, MODES[:1]),)}  # -> (beam, lines, modes) of each run


def speeds(workload: dict, mode: str) -> dict[str, int]:
    """Returns words a second of each of cpunmt's models, and of each peer's better setting."""
    seconds = {name: statistics.median(times) for name, times in workload[mode]["seconds"].items()}
    best = {name: value for name, value in seconds.items() if name.startswith("cpunmt")}
    for peer in PEERS:
        theirs = [value for name, value in seconds.items() if name.startswith(peer)]
        best |= {peer: min(theirs)} if theirs else {}
    return {name: round(workload["words"] / value) for name, value in best.items()}


def rows(model: str, beam: int, results: dict[str, dict]) -> Iterator[dict]:
    """Yields the rows of one run."""
    for lines, workload in results.items():
        for mode in filter(workload.__contains__, MODES):
            times = workload[mode]["seconds"]
            faster = {}
            for name in (name for name in times if name.startswith("cpunmt")):
                found = ratios({**times, "cpunmt": times[name]})
                faster[name] = {peer: round(ratio, 2) for peer, ratio in found.items()}
            yield {
                "model": model, "lines": lines, "beam": beam, "mode": mode,
                "speeds": speeds(workload, mode), "faster": faster,
            }  # fmt: skip


def student(
    home: Path, peers: Mapping[str, str], folder: Path, *, model: Path, most: int, rounds: int
) -> Iterator[dict]:
    """Yields the rows of a trained model."""
    text = read_lines(home / TEXT)
    whole = evenly(text, min(LINES, most))
    used = set(whole)
    spare = evenly([line for line in text if line not in used] or text, min(CALIBRATION, most))
    contests = {"": trained(home, folder, model, spare, peers.get("CTranslate2"))}
    cut = {name: segments(text, low, high, min(count, most)) for name, (low, high, count) in SEGMENTS.items()}
    name = str(model.resolve().relative_to(ROOT)) if model.resolve().is_relative_to(ROOT) else model.name
    yield from rows(name, 1, compete(peers, folder, contests, {**cut, WHOLE: whole}, rounds=rounds))
    with_beam = {WHOLE: evenly(whole, BEAM_LINES)}
    yield from rows(name, 4, compete(peers, folder, contests, with_beam, beam=4, rounds=rounds))


def size(peers: Mapping[str, str], folder: Path, *, name: str, most: int, rounds: int) -> Iterator[dict]:
    """Yields the rows of a Transformer of random weights; its lines have as many words as pieces."""
    shape = SHAPES[name]
    contests = {"": sized(folder, shape, peers)}
    for beam, count, modes in SIZES[name]:
        lines = {"": lines_of(shape, min(count, most))}
        yield from rows(name, beam, compete(peers, folder, contests, lines, modes=modes, beam=beam, rounds=rounds))


def main(arguments=None):
    """Measures all and writes the file."""
    parser = command("bench.peers.figures", __doc__, rounds=3)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument(
        "--model", type=Path, default=ROOT / "models" / "ende", help="a student with weights in float16/"
    )
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES), help="larger models (default: all)")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="other engines (default: all)")
    parser.add_argument("--sentences", type=positive, default=1000, help="limit on the lines of each kind")
    parser.add_argument("--note", default="", help="what else a reader should know, such as other work beside")
    chosen = parser.parse_args(arguments)
    home, most, rounds = chosen.home.resolve(), chosen.sentences, chosen.rounds
    if not (home / TEXT).is_file():
        parser.error(f"--home {chosen.home}: lacks {TEXT}; bench/peers lists the needed files")
    peers = installed(home, chosen.peers)
    parts = [partial(student, home, peers, model=chosen.model)]
    parts += [partial(size, peers, name=name) for name in chosen.sizes]
    found = []
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            found += part(Path(folder), most=most, rounds=rounds)
    today = datetime.date.today().isoformat()
    told = {"machine": machine(), "commit": commit(), "date": today, "rounds": rounds, "versions": versions(peers)}
    told["note"] = chosen.note
    save(chosen.json, {**told, "rows": found})


def versions(peers: Mapping[str, str]) -> dict[str, str]:
    """Returns the version of each peer, with those of the packages that it runs on."""
    asked = "import importlib.metadata, sys; print(*map(importlib.metadata.version, sys.argv[1:]))"
    found = {}
    for peer, python in peers.items():
        packages = PEERS[peer].packages
        done = subprocess.run([python, "-c", asked, *packages], capture_output=True, text=True, check=True)
        own, *others = done.stdout.split()
        found[peer] = " with ".join([own, *map(" ".join, zip(packages[1:], others, strict=True))])
    return found


def commit() -> str:
    """Returns the short name of the commit, or "" outside a repository."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
