"""`cpunmt batch`: its parts together equal the output of `cpunmt translate`, whichever process is killed."""

import gzip
import json
import os
import random
import resource
import signal

import pytest

from cpunmt import Translator
from cpunmt.commands.batch import _report
from cpunmt.corpora.batch import Totals
from cpunmt.corpora.inputs.formats import packed
from tests.corpora.running import (
    MODEL,
    batch,
    children,
    content,
    done,
    is_gone,
    lines,
    refused,
    started,
    together,
)
from tests.sample_models.real_model import DIRECTORIES, GERMAN, SHIPPED
from tests.support.command_line import here, on_terminal
from tests.support.processes import processor_seconds, wait_for
from tests.support.speeds import crossed

COUNT = 120
SMALL = ["--shard-rows", "25"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "news.txt"
    path.write_text("".join(f"{line}\n" for line in lines(COUNT))[:-1], "utf-8")  # the last line has no end
    return path


@pytest.fixture(scope="module")
def expected() -> bytes:
    text = "".join(f"{line}\n" for line in lines(COUNT)).encode()
    return here("translate", *MODEL, stdin=text).stdout


def test_parts_together_are_the_translation(source, tmp_path, expected):
    inputs = [source]
    for ending in (".gz", ".zst"):
        path = source.with_name(source.name + ending)
        path.write_bytes(packed(source.read_bytes(), path.name))
        inputs.append(path)
    rows = [json.dumps({"n": n, "source": text}) for n, text in enumerate(lines(COUNT))]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    out = tmp_path / "out"
    said = done(*inputs, tmp_path / "rows.jsonl", "--out", out, *SMALL, "--workers", 2, "--price", 0.05)
    assert expected.count(b"\n") == COUNT
    for ending in (".txt", ".txt.gz", ".txt.zst"):
        assert together(out, ending) == expected, ending
    rows = [json.loads(line) for line in together(out, ".jsonl").decode().split("\n")[:-1]]
    assert [row["n"] for row in rows] == list(range(COUNT))
    assert [row["translation"] for row in rows] == expected.decode().split("\n")[:-1]
    assert len(content(out)) == 4 * 5
    for line in ("parts:              20", f"rows:               {4 * COUNT}", "2 workers", "per dollar:"):
        assert line in said


def test_parquet_parts_are_a_dataset(tmp_path, expected):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": range(COUNT), "text": lines(COUNT)}), tmp_path / "a.parquet", row_group_size=9)
    out = tmp_path / "out"
    done(tmp_path / "a.parquet", "--out", out, *SMALL, "--column", "text", "--into", "german", "--with-score")
    table = pq.read_table(out)  # sidecars are passed over
    assert table.column_names == ["id", "text", "german", "score"] and len(content(out)) == 5
    assert table.column("id").to_pylist() == list(range(COUNT))
    assert table.column("german").to_pylist() == expected.decode().split("\n")[:-1]


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bytes(source, tmp_path):
    found = []
    for workers in (1, 2, 3):
        done(source, "--out", tmp_path / str(workers), *SMALL, "--workers", workers)
        found.append(content(tmp_path / str(workers)))
    assert found[0] == found[1] == found[2] and len(found[0]) == 5
    for index in (2, 0, 1):  # as jobs of an array
        done(source, "--out", tmp_path / "jobs", *SMALL, "--part", f"{index}/3")
    assert content(tmp_path / "jobs") == found[0]


@pytest.mark.slow
def test_what_is_done_is_not_done_again(source, tmp_path):
    out = tmp_path / "out"
    done(source, "--out", out, *SMALL)
    before = {name: os.stat(out / name) for name in os.listdir(out)}
    assert "there already:      5 parts, 120 rows" in done(source, "--out", out, *SMALL, "--workers", 2)
    after = {name: os.stat(out / name) for name in os.listdir(out)}
    assert {n: (s.st_ino, s.st_mtime_ns) for n, s in after.items()} == {
        n: (s.st_ino, s.st_mtime_ns) for n, s in before.items()
    }
    whole = content(out)
    (out / "news.00003.txt").write_bytes(b"damaged")
    assert "there already:      4 parts, 95 rows" in done(source, "--out", out, *SMALL)
    assert content(out) == whole
    source.write_text(source.read_text("utf-8") + "\nOne more.\n", "utf-8")
    assert "there already:      4 parts, 100 rows" in done(source, "--out", out, *SMALL)
    assert "parts:              5" in done(source, "--out", out, *SMALL, "--beam-size", 2)
    done(source, "--out", out, "--shard-rows", 100)
    assert sorted(content(out)) == ["news.00000.txt", "news.00001.txt"]  # none of the earlier cut's parts are left


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n", "A\u2028dog.\x85\x0cB\rc\n\nlast".encode()])
def test_as_many_lines_come_out_as_went_in(tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    done(tmp_path / "a.txt", "--out", tmp_path / "out", "--shard-rows", 1)
    assert together(tmp_path / "out") == here("translate", *MODEL, stdin=data).stdout
    assert together(tmp_path / "out").count(b"\n") == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def killed_and_run_again(source, out, moments, count):
    """Kills the run at these shares of the time with workers, and then lets it finish."""
    for moment in moments:
        process = started(source, "--out", out, "--shard-rows", 5, "--workers", 2)
        workers = wait_for(lambda running=process: children(running))
        wait_for(lambda parts=moment: out.is_dir() and len(list(out.glob("news*"))) >= parts)
        workers = children(process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        wait_for(lambda gone=workers: all(map(is_gone, gone)))  # no orphan is left
        assert workers and not [name for name in os.listdir(out) if name.startswith(".")]
    done(source, "--out", out, "--shard-rows", 5)
    assert len(content(out)) == count // 5


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(source, tmp_path, expected):
    killed_and_run_again(source, tmp_path / "out", (0, 3, 11), COUNT)
    assert together(tmp_path / "out") == expected


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times_goes_on_where_it_was(tmp_path):
    source, chance = tmp_path / "news.txt", random.Random(1)
    source.write_text("".join(f"{line}\n" for line in lines(1000)), "utf-8")
    killed_and_run_again(source, tmp_path / "out", sorted(chance.randrange(190) for _ in range(20)), 1000)
    text = source.read_bytes()
    assert together(tmp_path / "out") == here("translate", *MODEL, stdin=text).stdout


@pytest.mark.slow
def test_two_runs_at_once_come_to_the_same(source, tmp_path, expected):
    out = tmp_path / "out"
    runs = [started(source, "--out", out, "--shard-rows", 5, "--workers", 2) for _ in range(2)]
    assert [(run.communicate(timeout=120)[1], run.returncode)[1] for run in runs] == [0, 0]
    assert together(out) == expected and len(content(out)) == COUNT // 5


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(source, tmp_path, expected):
    long = tmp_path / "long" / "news.txt"
    long.parent.mkdir()
    long.write_bytes(source.read_bytes() + b"\n" + source.read_bytes())
    process = started(long, "--out", tmp_path / "out", "--shard-rows", 5, "--workers", 2)
    wait_for(lambda: (tmp_path / "out").is_dir() and len(list((tmp_path / "out").glob("news*"))) > 4)
    os.kill(children(process)[0], signal.SIGKILL)
    said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 0, said
    assert together(tmp_path / "out") == 2 * expected
    assert said.count("a worker ended by signal 9 at") <= 1  # no report if it had just ended a part


@pytest.mark.slow
def test_a_part_that_workers_die_of_is_named_and_the_others_are_made(source, tmp_path, expected):
    text, out = source.read_bytes().split(b"\n"), tmp_path / "out"
    text[50:75] = [b"%d men are riding bicycles. " % n * 2000 for n in range(25)]  # it takes its time
    source.write_bytes(b"\n".join(text))
    process = started(source, "--out", out, *SMALL)
    wait_for((out / "_news.00001.txt.json").exists)
    killed: list[int] = []
    for _ in range(3):
        (worker,) = wait_for(lambda: [one for one in children(process) if one not in killed])
        wait_for(lambda pid=worker: processor_seconds(pid) > 1.5)  # a start takes half a second: it is at the part
        os.kill(worker, signal.SIGKILL)
        killed.append(worker)
    *_, said = process.communicate(timeout=120)[1].decode().splitlines()
    assert (
        process.returncode == 1
        and f"{source}, rows from 51 on: 3 workers ended at them, the last one by signal 9" in said
    )
    parts = content(out)
    assert sorted(parts) == [f"news.0000{n}.txt" for n in (0, 1, 3, 4)]
    assert b"".join(parts.values()) == b"".join(expected.splitlines(True)[:50] + expected.splitlines(True)[75:])


@pytest.mark.parametrize("number, whole", crossed([signal.SIGINT, signal.SIGTERM], [False, True]))
def test_a_signal_ends_all_and_leaves_nothing_unfinished(source, tmp_path, number, whole):
    """A signal to a group of processes may reach the workers before the run: they are not reported as ended."""
    out = tmp_path / "out"
    process = started(source, "--out", out, "--shard-rows", 2, "--workers", 2)
    wait_for(lambda: out.is_dir() and len(list(out.glob("news*"))) > 4)
    workers = children(process)
    if whole:
        for worker in workers:
            os.kill(worker, number)
        wait_for(lambda: all(map(is_gone, workers)))
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (128 + number, b"")
    assert len(workers) == 2 and all(map(is_gone, workers))
    assert not [name for name in os.listdir(out) if name.startswith(".")]


def test_what_is_wrong_with_the_input_is_one_error_and_parts_stay(source, tmp_path, expected):
    data = source.read_bytes().split(b"\n")
    data[60] = b"caf\xe9"
    source.write_bytes(b"\n".join(data))
    out = tmp_path / "out"
    assert f"cpunmt: error: {source}: line 61 is not UTF-8: byte 4" in refused(source, "--out", out, *SMALL)
    assert sorted(content(out))[:2] == ["news.00000.txt", "news.00001.txt"]
    source.write_bytes(gzip.compress(b"\n".join(data[:60]))[:-4])
    assert "not a complete gzip file" in refused(source, "--out", out, *SMALL)
    assert sorted(content(out))[:2] == ["news.00000.txt", "news.00001.txt"]


@pytest.mark.parametrize(
    ("totals", "workers", "price", "expected"),
    [
        (
            Totals(2, 30, 1000, 20),
            1,
            None,
            {"parts": 2, "rows": 30, "words": 1000, "distinct rows": 20, "time": "2.0 s, 1 worker",
             "speed": "500 words/s", "per core-hour": "1.80 million words"},
        ),
        (
            Totals(2, 30, 1_000_000, 20, 5, 1, 7),
            2,
            0.5,
            {"parts": 2, "rows": 30, "there already": "1 parts, 7 rows", "words": 1_000_000, "distinct rows": 20,
             "flagged rows": 5, "time": "2.0 s, 2 workers", "speed": "500000 words/s",
             "per core-hour": "900.00 million words", "per dollar": "1800.0 million words",
             "per million words": "0.00056 dollars"},
        ),
        (
            Totals(1, 1),
            1,
            0.5,
            {"parts": 1, "rows": 1, "words": 0, "distinct rows": 0, "time": "2.0 s, 1 worker", "speed": "0 words/s",
             "per core-hour": "0.00 million words"},
        ),
    ],
)  # fmt: skip
def test_a_run_is_reported(capfd, totals, workers, price, expected):
    _report(totals, 2.0, workers, price)
    assert capfd.readouterr().err == "".join(f"{name + ':':20}{value}\n" for name, value in expected.items())


def test_wrong_usage_is_one_line_and_touches_nothing(source, tmp_path):
    out = ["--out", tmp_path / "out"]
    for arguments, said in (
        (["--workers", 0], "--workers is 0, expected 1 to 1024"),
        (["--workers", 1025], "--workers is 1025, expected 1 to 1024"),
        (["--shard-rows", 0], "--shard-rows is 0, expected 1 to 10000000"),
        (["--workers", 1024, "--shard-rows", 10_000_000, "--price", "0"], "--price is 0"),
        (["--reverse", GERMAN], "give --score and --reverse both"),
        (["--price", "0"], "--price is 0, expected dollars above 0"),
        (["--part", "3/3"], "expected I/N with I from 0 to N - 1"),
        (["--drop"], "drop is given"),
        (["--with-score"], "with_score is given"),
        (["--max-length-ratio", "0.5"], "max_length_ratio is 0.5"),
        (["--score"], "give --score and --reverse both"),
        (["--score", "--reverse", GERMAN, "--beam-size", 2], "--beam-size is of translations"),
        (["--score", "--reverse", GERMAN], "pairs to score are in .tsv"),
        (["--beam-size", "0"], "beam_size is 0"),
        (["--html"], "unrecognized arguments: --html"),
    ):
        finished = batch(source, *out, *arguments)
        assert finished.returncode in (1, 2) and said in finished.stderr.decode(), arguments
        assert finished.stderr.count(b"\n") == 1 and not (tmp_path / "out").exists()
    assert here("batch", source, *out, "-m", tmp_path / "none").returncode == 1
    assert not (tmp_path / "out").exists()


def test_a_line_that_is_too_deep_is_told_as_such(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"source": "x", "a": {"[" * 100_000}{"]" * 100_000}}}\n')
    assert "line 1: has too many arrays and objects within each other" in refused(path, "--out", tmp_path / "out")


@pytest.mark.slow
def test_a_disk_that_is_full_and_a_folder_that_is_closed_are_one_error(source, tmp_path):
    done(source, "--out", tmp_path / "whole", *SMALL)
    part, beside = ((tmp_path / "whole" / name).stat().st_size for name in ("news.00000.txt", "_news.00000.txt.json"))
    assert beside + 64 < part
    for limit, name in ((beside // 2, "_news.00000.txt.json"), (beside + 64, "news.00000.txt")):

        def small_files(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        finished = batch(source, "--out", tmp_path / "out", *SMALL, preexec_fn=small_files)
        said = finished.stderr.decode()
        assert finished.returncode == 1 and f"/{name}: cannot be written: File too large" in said
        assert content(tmp_path / "out") == {}
    (tmp_path / "file").touch()
    assert "cannot be made: File exists" in refused(source, "--out", tmp_path / "file")
    if os.getuid():
        (tmp_path / "out").chmod(0o500)
        assert "cannot be written in" in refused(source, "--out", tmp_path / "out")


def test_pairs_are_scored_and_filtered(tmp_path):
    good, bad = "A man is riding a bicycle.\tEin Mann fährt Fahrrad.", "A man is riding a bicycle.\tZwei Katzen."
    (tmp_path / "p.tsv").write_text(f"{good}\n{bad}\n")
    scoring = ["--score", "--reverse", GERMAN]
    done(tmp_path / "p.tsv", "--out", tmp_path / "out", *scoring)
    rows = [line.split("\t") for line in together(tmp_path / "out", ".tsv").decode().split("\n")[:-1]]
    assert ["\t".join(row[:2]) for row in rows] == [good, bad]
    assert float(rows[0][2]) > 0.5 and float(rows[1][2]) < 0.01
    done(tmp_path / "p.tsv", "--out", tmp_path / "out", *scoring, "--min-score", 0.1)
    assert together(tmp_path / "out", ".tsv").decode() == f"{good}\t{rows[0][2]}\n\n"
    done(tmp_path / "p.tsv", "--out", tmp_path / "out", *scoring, "--min-score", 0.1, "--drop")
    assert together(tmp_path / "out", ".tsv").decode() == f"{good}\t{rows[0][2]}\n"
    (tmp_path / "p.tsv").write_text("no tab\n")
    assert "line 1 has no tab" in refused(tmp_path / "p.tsv", "--out", tmp_path / "out", *scoring)
    assert "--cache is of translations" in refused(
        tmp_path / "p.tsv", "--out", tmp_path / "out", *scoring, "--cache", "x", status=2
    )


def test_pairs_of_columns_are_scored(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sides = ["A man is riding a bicycle.", "Two dogs."], ["Ein Mann fährt Fahrrad.", None]
    rows = [{"en": one, "de": other} for one, other in zip(*sides, strict=True)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    columns = ["--column", "en", "--target-column", "de", "--min-score", 0.999]
    done(
        tmp_path / "p.jsonl",
        tmp_path / "p.parquet",
        "--out",
        tmp_path / "out",
        "--score",
        "--reverse",
        GERMAN,
        *columns,
    )
    found = [json.loads(line) for line in together(tmp_path / "out", ".jsonl").decode().splitlines()]
    assert found == pq.read_table(tmp_path / "out" / "p.00000.parquet").to_pylist()
    assert [{"en": row["en"], "de": row["de"]} for row in found] == rows
    assert 0.5 < found[0]["score"] < 0.999 and found[1]["score"] is None
    assert [row["flags"] for row in found] == [["score"], []]


@pytest.mark.slow
def test_processes_share_a_cache(source, tmp_path, expected):
    cache = ["--cache", tmp_path / "cache.db", "--workers", 3]
    done(source, "--out", tmp_path / "one", *SMALL, *cache)
    done(source, "--out", tmp_path / "two", "--shard-rows", 7, *cache)
    assert together(tmp_path / "one") == together(tmp_path / "two") == expected
    (tmp_path / "cache.db").write_bytes(b"x" * 5000)
    for name in ("cache.db-wal", "cache.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert "cannot be used as a cache" in refused(source, "--out", tmp_path / "three", *SMALL, *cache)


def test_who_looks_sees_a_bar(source, tmp_path):
    status, output, shown = on_terminal("batch", source, "--out", tmp_path / "out", *SMALL, *MODEL)
    assert (status, output) == (0, b"") and f"{COUNT}/{COUNT}" in shown and "words/s" in shown


def test_a_glossary_and_an_ensemble_go_along(tmp_path):
    (tmp_path / "a.txt").write_text("Two dogs.\n")
    (tmp_path / "terms.tsv").write_text("dogs\tWelpen\n")
    other = DIRECTORIES["float32"]
    more = ["--glossary", tmp_path / "terms.tsv", "--ensemble", other, "--weights", "1,2"]
    done(tmp_path / "a.txt", "--out", tmp_path / "out", *more)
    result = Translator([SHIPPED, other], weights=[1, 2]).translate("Two dogs.", glossary={"dogs": "Welpen"})
    assert together(tmp_path / "out").decode() == f"{result.text}\n" and "Welpen" in result.text
