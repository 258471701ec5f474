"""One process at a time."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpunmt.errors import CpunmtError
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
    path, flock, times = tmp_path / "lock", fcntl.flock, []

    def remove_first(handle, operation):
        times.append(1)
        if len(times) == 1:
            path.unlink()
        return flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
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


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(CpunmtError, match="cannot be locked: (Not a directory|File exists); set CPUNMT_MODELS_DIR"),
        locked(tmp_path / "file" / "lock", pytest.fail),
    ):
        pass


def link(path):
    path.with_name("other").write_bytes(b"precious")
    path.symlink_to(path.with_name("other"))


def listener(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # its name may have about 100 characters


@pytest.mark.parametrize(
    "make", [link, listener, Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")], ids=range(5)
)
def test_what_is_no_file_in_its_place_is_named(tmp_path, make):
    make(tmp_path / "lock")
    with (
        pytest.raises(CpunmtError, match="lock: is not a regular file, so it cannot be locked; remove it$"),
        locked(tmp_path / "lock", pytest.fail),
    ):
        pass
    assert os.path.lexists(tmp_path / "lock") and not (tmp_path / "nowhere").exists()
    assert make is not link or (tmp_path / "other").read_bytes() == b"precious"


def test_a_filesystem_without_locks_is_an_error_and_no_endless_wait(tmp_path, monkeypatch):
    """NFS without its lock daemon answers so."""

    def no_locks(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with (
        pytest.raises(CpunmtError, match="cannot be locked: No locks available; set CPUNMT_MODELS_DIR to a folder on"),
        locked(tmp_path / "lock", pytest.fail),
    ):
        pass


@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_filesystem_that_knows_no_flock_has_a_file_as_the_lock(tmp_path, monkeypatch):
    def unknown(handle, operation):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unknown)
    path = tmp_path / "lock"
    with locked(path, pytest.fail):
        assert path.exists()
    assert list(tmp_path.iterdir()) == []
