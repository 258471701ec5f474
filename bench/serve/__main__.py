"""The server: what HTTP and the queue cost, many clients beside bulk, and how long a request takes at a steady rate.

    python -m bench.serve [--model DIR] [--sentences 2000] [--clients 200] [--rate 20] [--seconds 30]

The server has the last of the cores that are allowed, its clients the first; nothing is kept in its cache. Every answer
is compared with `Translator`.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from bench.serve.clients import at_a_rate, one_by_one, parts, side_by_side
from bench.serve.echo import floor
from bench.timing import machine, positive, save

ROOT = Path(__file__).resolve().parents[2]
STUDENT = ROOT / "models" / "ende-student"
SENTENCES = ROOT / "tests" / "golden" / "sentences.en.txt"
ALONE = 300  # sentences that are translated one by one


def sentences(most=None):
    """Returns the first `most` different sentences of the tests, by default all."""
    return list(dict.fromkeys(SENTENCES.read_text(encoding="utf8").split("\n")[:-1]))[:most]


class Running:
    """A server in a process of its own, on one core."""

    def __init__(self, model, core, cache_mb=0, keys=()):
        self._model, self._core, self._cache_mb, self._keys, self.port = model, core, cache_mb, keys, 0
        self.start_again()

    def start_again(self):
        """Start it, at the port that it had; what was there is gone."""
        command = [
            sys.executable,
            "-m",
            "cpunmt",
            "serve",
            f"en-de={self._model}",
            "--port",
            str(self.port),
            "--preload",
        ]
        command += ["--cache-mb", str(self._cache_mb)]
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("\n".join(self._keys))
            file.flush()
            command += ["--api-keys", file.name] if self._keys else []
            self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            os.sched_setaffinity(self.process.pid, {self._core})
            self.port = int(self.process.stderr.readline().rpartition(":")[2])
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready").close()
                return
            except OSError:  # not yet
                time.sleep(0.05)

    def memory(self):
        """Bytes of its memory that are in use."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line.split()[1] for line in status.split("\n") if line.startswith("VmRSS:")))

    def seconds(self):
        """Of the processor that it has used."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


def main(arguments=None):
    from bench.students import write_student

    parser = argparse.ArgumentParser(prog="python -m bench.serve", description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, help="model directory (default: a random tiny11-size student)")
    parser.add_argument("--sentences", type=positive, default=2000)
    parser.add_argument("--clients", type=positive, default=200)
    parser.add_argument("--rate", type=positive, default=20, help="requests per second")
    parser.add_argument("--seconds", type=positive, default=30, help="of that rate")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--json", help="write the figures there")
    chosen = parser.parse_args(arguments)
    lines = sentences(chosen.sentences)
    print(machine(), f"{len(lines)} sentences")
    with tempfile.TemporaryDirectory() as folder:
        model = chosen.model
        if model is None:
            model = Path(folder) / "tiny11"
            write_student(model, "tiny11", "int8", STUDENT / "vocabulary.spm", STUDENT / "shortlist.bin")
        cores = sorted(os.sched_getaffinity(0))
        try:
            found = measured(model, lines, chosen, cores[0], cores[-1])
        finally:
            os.sched_setaffinity(0, cores)
    report(found, chosen)
    save(chosen.json, {"machine": machine(), **found})


def measured(model, lines, chosen, ours, theirs) -> dict:
    """All figures, in turns; the translator works on the server's core, while that has nothing to do."""
    from cpunmt import Translator

    translator, alone = Translator(model), lines[:ALONE]
    expected = [result.text for result in translator.translate(lines)]
    rated = [lines[number % len(lines)] for number in range(chosen.rate * chosen.seconds)]
    words = sum(len(line.split()) for line in lines)
    found = {"words": words, "bulk": [], "alone": [], "http": [], "parallel": [], "rated": []}
    with Running(model, theirs) as server:
        for _ in range(chosen.rounds):
            os.sched_setaffinity(0, {theirs})
            began = time.perf_counter()
            translator.translate(lines)
            found["bulk"].append(time.perf_counter() - began)
            for line in alone:
                began = time.perf_counter()
                translator.translate(line)
                found["alone"].append(time.perf_counter() - began)
            os.sched_setaffinity(0, {ours})
            made, seconds = asyncio.run(one_by_one(server.port, alone))
            assert made == expected[: len(alone)], "an answer is wrong"
            found["http"] += seconds
            made, passed = asyncio.run(side_by_side(server.port, lines, chosen.clients))
            assert made == expected, "an answer is wrong"
            found["parallel"].append(passed)
        found["floor"] = [floor(statistics.median(found["alone"]), theirs) for _ in range(chosen.rounds)]
        made, found["rated"] = asyncio.run(at_a_rate(server.port, rated, chosen.rate))
        assert made == [expected[number % len(lines)] for number in range(len(rated))], "an answer is wrong"
    return found


def report(found, chosen):
    """The figures as text."""
    alone, http = (1000 * statistics.median(found[name]) for name in ("alone", "http"))
    bulk, parallel = (found["words"] / statistics.median(found[name]) for name in ("bulk", "parallel"))
    share = statistics.median(b / p for b, p in zip(found["bulk"], found["parallel"], strict=True))
    print(f"one at a time  {alone:.2f} ms in Python, {http:.2f} ms over HTTP: {http - alone:.2f} ms more")
    least = 1000 * statistics.median(found["floor"])
    share_of_it = f"{100 * least / alone:.0f} % of a sentence"
    print(f"without HTTP, an echo after the same time takes {least:.2f} ms more, {share_of_it}")
    print(f"{chosen.clients} clients  {parallel:.0f} words/s, {share:.2f} x bulk in Python ({bulk:.0f} words/s)")
    rated = ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in parts(found["rated"]).items())
    print(f"{chosen.rate} requests/s for {chosen.seconds} s  {rated}")
    print("every answer is that of a Translator")


if __name__ == "__main__":
    main()
