"""The server: the cost of HTTP and the queue, many clients beside bulk, and latency at a steady rate.

    python -m bench.serve [--model DIR] [--sentences 2000] [--clients 200] [--rate 20] [--seconds 30]

The server has the last of the allowed cores, its clients the first; its cache is off. Every answer is compared with
`Translator`.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import count_words, text_lines
from bench.harness.timing import median_ratio
from bench.serve.clients import at_a_rate, one_by_one, parts, side_by_side
from bench.serve.echo import floor

ALONE = 300  # sentences translated one by one


def sentences(most=None):
    """Returns the first `most` different sentences of the tests, by default all."""
    return list(dict.fromkeys(text_lines()))[:most]


def memory_of(pid) -> int:
    """Returns the bytes of a process's memory in use."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.split("\n") if line.startswith("VmRSS:")))


def right_answers(model, lines) -> dict[str, str]:
    """Returns the translation of each line by `Translator`."""
    from cpunmt import Translator

    return dict(zip(lines, (result.text for result in Translator(model).translate(lines)), strict=True))


class Running:
    """A server in a process of its own, on one core."""

    def __init__(self, model, core, cache_mb=0, keys=()):
        self._model, self._core, self._cache_mb, self._keys, self.port = model, core, cache_mb, keys, 0
        self.start_again()

    def start_again(self):
        """Starts it again, at the same port; its state is lost."""
        command = [sys.executable, "-m", "cpunmt", "serve", f"en-de={self._model}", "--preload"]
        command += ["--port", str(self.port), "--cache-mb", str(self._cache_mb)]
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
        """Returns the bytes of its memory in use."""
        return memory_of(self.process.pid)

    def seconds(self):
        """Returns its processor seconds."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


def main(arguments=None):
    from bench.students import model_or_random

    parser = command("bench.serve", __doc__, rounds=3, sentences=2000)
    parser.add_argument("--model", type=Path, help="model directory (default: a random tiny11-size student)")
    parser.add_argument("--clients", type=positive, default=200)
    parser.add_argument("--rate", type=positive, default=20, help="requests per second")
    parser.add_argument("--seconds", type=positive, default=30, help="of that rate")
    chosen = parser.parse_args(arguments)
    lines = sentences(chosen.sentences)
    print(machine(), f"{len(lines)} sentences")
    with tempfile.TemporaryDirectory() as folder:
        model = model_or_random(chosen.model, folder)
        cores = sorted(os.sched_getaffinity(0))
        try:
            found = measured(model, lines, chosen, cores[0], cores[-1])
        finally:
            os.sched_setaffinity(0, cores)
    report(found, chosen)
    save(chosen.json, {"machine": machine(), **found})


def measured(model, lines, chosen, ours, theirs) -> dict:
    """Returns all figures, in turns; the translator works on the server's core while that is idle."""
    from cpunmt import Translator

    translator, alone = Translator(model), lines[:ALONE]
    expected = [result.text for result in translator.translate(lines)]
    rated = [lines[number % len(lines)] for number in range(chosen.rate * chosen.seconds)]
    words = count_words(lines)
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
    """Formats the figures."""
    alone, http = (1000 * statistics.median(found[name]) for name in ("alone", "http"))
    bulk, parallel = (found["words"] / statistics.median(found[name]) for name in ("bulk", "parallel"))
    share = median_ratio(found["bulk"], found["parallel"])
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
