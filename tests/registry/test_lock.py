"""One process at a time."""

import subprocess
import sys
import time

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import lock
from cpunmt.registry.lock import locked
from tests.support.command_line import ROOT
from tests.support.side_by_side import in_threads


def test_the_file_goes_with_the_lock(tmp_path):
    path = tmp_path / "lock"
    with locked(path, pytest.fail):
        assert path.exists()
    assert not path.exists()
    path.write_bytes(b"left by a process that was killed")
    with locked(path, pytest.fail):
        pass
    assert not path.exists()


def test_it_is_given_back_after_an_error(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError), locked(tmp_path / "lock", pytest.fail):
            raise KeyError


def test_only_one_has_it(tmp_path):
    """Eight threads, each with its own handle of the file, take turns."""
    inside, most, waits = [], [], []

    def work(_):
        for _ in range(3):
            with locked(tmp_path / "lock", lambda: waits.append(1)):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()

    in_threads(8, work)
    assert set(most) == {1} and len(most) == 24 and waits
    assert not (tmp_path / "lock").exists()


def test_a_file_that_its_last_holder_has_just_removed_is_no_lock(tmp_path, monkeypatch):
    """Removed after it was opened here, and before it was locked: others would make a new one."""
    path, acquire, times = tmp_path / "lock", lock._acquire, []

    def remove_first(handle):
        times.append(1)
        if len(times) == 1:
            path.unlink()
        return acquire(handle)

    monkeypatch.setattr(lock, "_acquire", remove_first)
    with locked(path, lambda: None):
        assert len(times) == 2 and path.exists()


def test_a_process_that_is_killed_gives_it_back(tmp_path):
    path = tmp_path / "lock"
    code = f"""
import time
from pathlib import Path
from cpunmt.registry.lock import locked
with locked(Path({str(path)!r}), print):
    print("locked", flush=True)
    time.sleep(60)
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert other.stdout.readline() == b"locked\n"
    waited = []

    def kill():
        waited.append(path.exists())
        other.kill()

    with locked(path, kill):
        assert waited == [True]
    other.wait()
    other.stdout.close()


def test_a_folder_that_is_not_there(tmp_path):
    with (
        pytest.raises(CpunmtError, match="cannot be made: No such file"),
        locked(tmp_path / "no" / "lock", pytest.fail),
    ):
        pass
