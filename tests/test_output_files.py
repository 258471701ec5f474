"""Files that commands write: refused before the work, whole or not there."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.output_files import check_file, refuse_overwriting, write_file
from tests.real_model import ROOT


def test_a_file_is_written_and_replaced_whole(tmp_path):
    path = tmp_path / "out.json"
    write_file(path, b"one")
    os.chmod(path, 0o600)
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "link").symlink_to("file")
    write_file(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"two"


def test_a_failure_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(CpunmtError, match="taken: cannot be written: "):
        write_file(tmp_path / "taken", b"x")
    with pytest.raises(CpunmtError, match="cannot be written: No such file"):
        write_file(tmp_path / "no" / "such", b"x")
    with pytest.raises(TypeError):
        write_file(tmp_path / "text", "no bytes")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_permissions_stay(tmp_path):
    for mode in (0o600, 0o664):
        (tmp_path / "file").write_bytes(b"one")
        os.chmod(tmp_path / "file", mode)
        write_file(tmp_path / "file", b"two")
        assert stat.S_IMODE(os.stat(tmp_path / "file").st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_device_or_a_pipe_is_written_and_not_replaced(tmp_path):
    """--force made a file of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    check_file(pipe, False)
    write_file(pipe, b"through")
    reader.join()
    assert found == [b"through"] and stat.S_ISFIFO(os.stat(pipe).st_mode)
    for force in (False, True):
        check_file(os.devnull, force)
    write_file(os.devnull, b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and list(tmp_path.iterdir()) == [pipe]


def test_what_is_read_is_not_overwritten(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")
    a, b, link = (tmp_path / name for name in ("a", "b", "link"))
    refuse_overwriting([a, None], [b, None])
    refuse_overwriting([tmp_path / "new"], [a, b, tmp_path])
    refuse_overwriting([os.devnull, os.devnull], [])
    for outputs, inputs, expected in (
        ([a], [b, link], "is read, and would be replaced"),
        ([tmp_path], [a], "is read, and would be replaced"),
        ([a, link], [], "is to be written twice"),
    ):
        with pytest.raises(CpunmtError, match=expected):
            refuse_overwriting(outputs, inputs)


def test_an_interrupt_leaves_nothing_unfinished(tmp_path):
    """Of the three ways to make something, in a process that is ended in the midst of it."""
    code = """
import os, sys
from pathlib import Path
from cpunmt.interrupts import abandon
from cpunmt.output_files import replacing_directory, replacing_file, scratch_directory
folder = Path(sys.argv[1])
with replacing_file(folder / "file") as file, replacing_directory(folder / "made", False, ()) as made:
    with scratch_directory(folder / "file") as scratch:
        for place in (made, scratch):
            (place / "half").write_bytes(b"x")
        print(len(os.listdir(folder)), flush=True)
        abandon()
        os._exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (7, "3\n", "")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_written_is_refused_before(tmp_path):
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "broken").symlink_to("nowhere")
    check_file(tmp_path / "new", False)
    check_file(tmp_path / "there", True)
    for name, force, expected in (
        ("there", False, "exists; choose another name, or pass --force"),
        ("broken", False, "exists"),
        ("no/such", True, "there is no directory"),
        (".", True, "is a directory"),
    ):
        with pytest.raises(CpunmtError, match=expected):
            check_file(tmp_path / name, force)
    with pytest.raises(CpunmtError, match="-: expected the name of a file; standard output is /dev/stdout here"):
        check_file("-", True)
