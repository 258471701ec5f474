"""Ray: two workers beside one, and one that is killed in the middle; every file is compared, byte for byte.

    python -m bench.scale.ray_actors [--model DIR] [--input FILE] [--sentences 12000] [--rounds 3] [--rows 500]

Needs the extra `ray`. Rates are of the whole call, of the time between the first and the last part by the files' times,
and for each processor second of the workers, without the time before the first parts: the last rate does not depend on
the machine's load.
"""

import contextlib
import hashlib
import itertools
import os
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SENTENCES, SHIPPED, count_words, text_lines


def bytes_of(folder) -> str:
    """Returns a digest of the parts of a folder, by name."""
    whole = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.parquet")):
        whole.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def steady(folder, rows) -> float:
    """Returns rows per second between the first part's end and the last one's."""
    ends = sorted(path.stat().st_mtime for path in Path(folder).glob("*.parquet"))
    return (len(ends) - 1) * rows / (ends[-1] - ends[0])


def workers(name: bytes = b"") -> list[int]:
    """Returns the numbers of Ray's worker processes, all or those whose task has this name."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cmdline").read_bytes().startswith(b"ray::" + name):
                found.append(int(place.name))
        except OSError:  # it has ended
            continue
    return found


class Seconds(threading.Thread):
    """Counts the processor seconds of workers within the block.

    total is all; begun is their use when the folder had a part for each worker: starts, mostly.
    """

    def __init__(self, folder, count):
        super().__init__(daemon=True)
        self._folder, self._count = Path(folder), count
        self._used, self._over, self.begun = {}, threading.Event(), 0.0
        self._old = self._seconds()

    @property
    def total(self):
        return sum(seconds - self._old.get(number, 0.0) for number, seconds in self._used.items())

    def _seconds(self):
        found = {}
        for number in workers():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
                found[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def run(self):
        while not self._over.wait(0.05):
            self._used |= self._seconds()
            if not self.begun and len(list(self._folder.glob("*.parquet"))) >= self._count:
                self.begun = self.total

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()


def kill_one(folder, parts, done):
    """Kills a worker in a task once `parts` parts are there, and appends its number to `done`."""
    while len(list(Path(folder).glob("*.parquet"))) < parts or not (found := workers(b"cpunmt_part")):
        time.sleep(0.01)
    os.kill(found[0], signal.SIGKILL)
    done.append(found[0])


def main(arguments=None):
    parser = command("bench.scale.ray_actors", __doc__, rounds=3, sentences=12000)
    parser.add_argument("--model", type=Path, default=SHIPPED, help="(default: models/ende-tiny)")
    parser.add_argument("--input", type=Path, default=SENTENCES, help="lines of text, repeated as often as it takes")
    parser.add_argument("--rows", type=positive, default=500, help="of a part (default: 500)")
    given = parser.parse_args(arguments)
    if given.sentences < 4 * given.rows:
        parser.error(f"argument --rows: {given.rows} of {given.sentences} sentences, expected a fourth at most")
    import pyarrow as pa
    import pyarrow.parquet as pq
    import ray

    from cpunmt.corpora.ray_data import translate_corpora

    lines = text_lines(given.input)
    # equal texts of a part would be translated once
    lines = [
        line if turn == 0 else f"{line} {turn}" for turn in range(given.sentences // len(lines) + 1) for line in lines
    ][: given.sentences]
    words = count_words(lines)
    print(f"{len(lines)} lines, {words} words, parts of {given.rows} rows, {len(os.sched_getaffinity(0))} cores")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    seconds, rates, cores, digests = {1: [], 2: []}, {1: [], 2: []}, {1: [], 2: []}, set()
    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "source.parquet"
        pq.write_table(pa.table({"id": range(len(lines)), "source": lines}), source)

        def run(name, count):
            out = Path(home) / name
            began = time.perf_counter()
            with Seconds(out, count) as used:
                done = translate_corpora(source, out, given.model, shard_rows=given.rows, workers=count)
            assert done.rows == len(lines) and pq.read_table(out)["id"].to_pylist() == list(range(len(lines)))
            digests.add(bytes_of(out))
            return time.perf_counter() - began, used, out

        for turn, count in itertools.product(range(given.rounds), (1, 2)):
            passed, used, out = run(f"{count}-{turn}", count)
            cores[count].append((used.total - used.begun) / (1 - count * given.rows / len(lines)))
            seconds[count].append(passed)
            rates[count].append(steady(out, given.rows) * words / len(lines))
        killed = []
        parts = -(-len(lines) // given.rows)
        arguments = (Path(home) / "killed", max(1, parts // 3), killed)
        watcher = threading.Thread(target=kill_one, args=arguments, daemon=True)
        watcher.start()
        passed, _, _ = run("killed", 2)
        watcher.join()
    for count in (1, 2):
        print(
            f"{count} worker(s)   whole call {words / statistics.median(seconds[count]):7.0f} words/s   "
            f"between the first part and the last {statistics.median(rates[count]):7.0f} words/s   "
            f"{words / statistics.median(cores[count]):7.0f} words per second of a processor"
        )
    whole, between = (
        statistics.median(two / one for one, two in zip(found[1], found[2], strict=True)) for found in (seconds, rates)
    )
    print(f"2 workers beside 1: {1 / whole:.2f} and {between:.2f} times as fast")
    assert len(digests) == 1 and killed
    print(f"a worker was killed ({len(killed)}): {passed:.1f} s; all rows once, the same bytes")
    save(
        given.json,
        {"machine": machine(), "words": words, "seconds": seconds, "rates": rates, "cores": cores, "killed": passed},
    )


if __name__ == "__main__":
    main()
