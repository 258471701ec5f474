"""The processes of a run: their starts, imports, and error messages."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from cpunmt.corpora import worker
from cpunmt.corpora.job import Job
from cpunmt.corpora.pool import _START, Pool, Task, _ended, _told, _Worker
from cpunmt.corpora.shard import Part
from cpunmt.corpora.sidecar import digest
from cpunmt.corpora.worker import SIZES, Work, frame, work_of
from cpunmt.errors import CpunmtError
from tests.corpora.running import lines
from tests.sample_models.real_model import ROOT, SHIPPED

# Run at each start of Python with this folder: it records the start, and ends the process on request.
STARTING = """
import os
here = os.path.dirname(__file__)
with open(os.path.join(here, "starts"), "a") as file:
    file.write("x")
if os.path.exists(os.path.join(here, "ending")):
    os._exit(3)
"""


def work(model=SHIPPED) -> Work:
    return work_of([{"model_path": [str(model)]}], {}, Job())


def tasks(folder, count, data=b"Two dogs.\n", kind="text") -> list[Task]:
    return [Task(Part(str(folder / f"{n}.txt"), kind, "in.txt", n + 1, digest(data)), data, 1) for n in range(count)]


def made(pool, some) -> list[str]:
    return [os.path.basename(task.part.path) for task, kind, _ in pool.run(iter(some)) if kind == "done"]


def only(pool) -> int:
    (worker,) = pool._workers
    return worker.process.pid


@pytest.fixture
def starts(tmp_path, monkeypatch):
    """Returns a folder with `starts`, a letter for each start of a worker; with a file `ending` they end at it."""
    folder = tmp_path / "starting"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STARTING)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def test_the_current_folder_has_no_modules_for_workers(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("open('executed', 'w').close()\nraise RuntimeError('not for you')\n")
    monkeypatch.chdir(tmp_path)
    with Pool(work(), 1) as pool:
        assert made(pool, tasks(tmp_path, 1)) == ["0.txt"]
    assert not (tmp_path / "executed").exists()


def test_what_nobody_foresaw_is_one_message_of_one_worker(tmp_path, starts, capfd):
    with Pool(work(), 1) as pool, pytest.raises(CpunmtError) as caught:
        made(pool, tasks(tmp_path, 2, kind="no such kind"))
    assert str(caught.value) == "in.txt, rows from 1 on: unforeseen KeyError: 'no such kind'"
    assert capfd.readouterr().err == "" and (starts / "starts").read_text() == "x"


@pytest.mark.parametrize("before", ["", "sys.setprofile(lambda *_: None); "])
def test_a_worker_that_reads_does_not_abort_at_its_end(before):
    """With a profiler the interpreter shuts down in full."""
    code = _START.replace("from cpunmt", f"{before}from cpunmt", 1)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    wrong = Work([{"model_path": ["/no/such/model"]}], [""], {}, Job().to_dict())
    process.stdin.write(frame(asdict(wrong)))
    process.stdin.flush()  # and it stays open
    process.wait(60)
    assert (process.returncode, process.stderr.read()) == (0, b"")
    assert process.stdout.read().startswith(b'{"failed": "/no/such/model')
    process.communicate()


def test_what_is_printed_in_a_worker_is_no_reply(tmp_path, starts, capfd):
    """Libraries print; replies of a worker have a pipe of their own."""
    script = "import os, threading\nfrom cpunmt.corpora import shard\nmake = shard.make_part\n"
    script += "shard.make_part = lambda *given: (os.write(1, b'printed\\n'), make(*given))[1]\n"
    (starts / "sitecustomize.py").write_text(script)
    with Pool(work(), 1) as pool:
        assert made(pool, tasks(tmp_path, 2)) == ["0.txt", "1.txt"]
    assert capfd.readouterr().err == "printed\n" * 2


def test_a_worker_that_cannot_read_ends():
    process = subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    process.stdin.write(SIZES.pack(1 << 62, 0))
    process.stdin.flush()
    process.wait(60)
    said = process.stderr.read().decode()
    assert process.returncode == 1 and said.startswith("cpunmt: a worker: ") and said.count("\n") == 1
    process.communicate()


def test_a_model_that_was_changed_makes_no_part(tmp_path):
    model = tmp_path / "model"
    shutil.copytree(SHIPPED, model)
    with Pool(work(model), 1) as pool:
        assert made(pool, tasks(tmp_path, 1)) == ["0.txt"]
        with open(model / "config.json", "a") as file:
            file.write("\n")
        assert made(pool, tasks(tmp_path, 2)[1:]) == ["1.txt"]  # the model that was read is the old one
        os.kill(only(pool), signal.SIGKILL)
        with pytest.raises(CpunmtError, match=r"/model: the model was changed while the run was on; start it again$"):
            made(pool, tasks(tmp_path, 3)[2:])
    assert not (tmp_path / "2.txt").exists()


def test_workers_that_end_at_their_start_are_not_started_without_end(tmp_path, starts, capfd):
    long = "".join(f"{line}\n" for line in lines(300)).encode()
    with Pool(work(), 2) as pool:
        (starts / "starts").unlink()
        (starts / "ending").touch()
        assert made(pool, [*tasks(tmp_path, 1, long), *tasks(tmp_path, 3)[1:]]) == ["0.txt", "1.txt", "2.txt"]
        assert (starts / "starts").read_text() == "xxx"
        assert "3 workers ended at their start, the last one with status 3" in capfd.readouterr().err
        os.kill(only(pool), signal.SIGKILL)
        (starts / "starts").unlink()
        with pytest.raises(CpunmtError, match="^3 workers ended at their start, the last one with status 3"):
            made(pool, tasks(tmp_path, 2))
        assert 3 <= len((starts / "starts").read_text()) <= 4  # two at once
        (starts / "ending").unlink()
    with Pool(work(), 2) as pool:
        assert len(made(pool, tasks(tmp_path, 3))) == 3


@pytest.mark.slow
def test_there_are_no_more_workers_than_parts(tmp_path, starts):
    for count in (1, 2):
        (starts / "starts").unlink(missing_ok=True)
        with Pool(work(), 8) as pool:
            assert len(made(pool, tasks(tmp_path, count))) == count
        assert (starts / "starts").read_text() == "x" * count


@pytest.mark.slow
def test_too_few_open_files_are_said_to_be(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Pool(work(), 40) as pool:
        used = set(map(int, os.listdir("/proc/self/fd")))
        most = [number for number in range(before[0]) if number not in used][24]  # a worker has 2 for good
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
        try:
            with pytest.raises(CpunmtError, match="Too many open files; use fewer --workers, or see ulimit -n$"):
                made(pool, tasks(tmp_path, 40))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(list(tmp_path.glob("[0-9]*.txt"))) >= 1  # parts in progress are finished


@pytest.mark.parametrize(("number", "limit"), [(errno.EMFILE, "n"), (errno.EAGAIN, "u")])
def test_a_worker_that_cannot_be_started_is_one_error(monkeypatch, number, limit):
    def refuses(*given, **named):
        raise OSError(number, "not now")

    monkeypatch.setattr(subprocess, "Popen", refuses)
    with pytest.raises(CpunmtError, match=f"^a worker cannot be started: not now; .* ulimit -{limit}$"):
        Pool(work(), 1)


@pytest.mark.parametrize(
    ("died", "is_ready", "said", "again"),
    [
        (0, True, "cpunmt: a worker ended by signal 9 at in.txt, rows from 1 on; another one makes them\n", 1),
        (1, True, "cpunmt: a worker ended by signal 9 at in.txt, rows from 1 on; another one makes them\n", 1),
        (2, True, "", 0),
        (0, False, "", 1),
    ],
)
def test_a_part_is_given_up_after_the_third_death(tmp_path, capfd, died, is_ready, said, again):
    pool, waiting, given_up = object.__new__(Pool), deque(), []
    pool._workers, pool._unready, pool._count = [], 1, 2
    (task,) = tasks(tmp_path, 1)
    task.died = died
    pool._died(_Worker(SimpleNamespace(returncode=-9), task, is_ready=is_ready), waiting, given_up)
    assert (capfd.readouterr().err, len(waiting), task.died) == (said, again, died + is_ready)
    assert pool._unready == (0 if is_ready else 2)
    gone = "in.txt, rows from 1 on: 3 workers ended at them, the last one by signal 9"
    assert given_up == [gone] * (not again)


@pytest.mark.parametrize(("status", "said"), [(-1, "by signal 1"), (0, "with status 0"), (3, "with status 3")])
def test_how_a_worker_ended(status, said):
    assert _ended(status) == said


def test_a_worker_without_memory_ends_with_one_line(monkeypatch, capfd):
    def fails():
        raise MemoryError

    monkeypatch.setattr(worker, "_work", fails)
    assert worker.main() == 1
    assert capfd.readouterr().err == "cpunmt: a worker is out of memory\n"


@pytest.mark.parametrize("count", [1, 3, 4, 5000])
def test_many_parts_that_were_given_up_are_one_short_line(count):
    said = _told([f"in.txt, rows from {n} on: ended" for n in range(count)])
    assert said.count("rows from") == min(count, 3) and len(said) < 400 and "\n" not in said
    assert (f"and so of {count - 3} parts more" in said) == (count > 3)
