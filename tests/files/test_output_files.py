"""Files that commands write: refused before the work, whole or not there."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import check_file, refuse_overwriting, replacing_directory, replacing_file, write_file
from tests.sample_models.real_model import ROOT


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


def test_a_device_or_a_pipe_is_written_and_not_replaced(tmp_path):
    """--force replaced it by a file."""
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


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no file system in memory")
def test_a_file_in_memory_is_a_file():
    """Its name begins like a device's; it was written in place, and its content was lost."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        (folder / "file").write_bytes(b"old")
        with pytest.raises(KeyError), replacing_file(folder / "file") as file:
            file.write(b"half")
            raise KeyError
        assert (folder / "file").read_bytes() == b"old"
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["a" * 255, "译" * 85, "é" * 120])
def test_the_longest_names(tmp_path, name):
    """255 bytes: temporary names kept too many letters, as if they were ASCII."""
    write_file(tmp_path / name, b"x")
    (tmp_path / name).unlink()
    with replacing_directory(tmp_path / name, False, ()) as made:
        (made / "file").write_bytes(b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_directory_that_is_read_only_is_replaced_and_stays_so():
    """Its files cannot be removed: it stayed, under another name."""
    folder = Path(tempfile.mkdtemp())
    try:
        os.chmod(folder, 0o777)
        child = os.fork()
        if child == 0:
            status = 2
            try:
                if os.getuid() == 0:
                    os.setuid(65534)  # root may do all
                (folder / "model").mkdir()
                (folder / "model" / "file").write_bytes(b"old")
                os.chmod(folder / "model", 0o555)
                with replacing_directory(folder / "model", True, {"file"}) as made:
                    (made / "file").write_bytes(b"new")
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.listdir(folder) == ["model"] and (folder / "model" / "file").read_bytes() == b"new"
        assert stat.S_IMODE(os.stat(folder / "model").st_mode) == 0o555
        os.chmod(folder / "model", 0o755)
    finally:
        shutil.rmtree(folder)


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
    """Ends a process in the midst of each way to make a file."""
    code = """
import os, sys
from pathlib import Path
from cpunmt.process.interrupts import abandon
from cpunmt.files.output_files import replacing_directory, replacing_file, scratch_directory
from cpunmt.registry.lock import locked
folder = Path(sys.argv[1])
with replacing_file(folder / "file") as file, replacing_directory(folder / "made", False, ()) as made:
    with scratch_directory(folder / "file") as scratch, locked(folder / "lock", None):
        for place in (made, scratch):
            (place / "half").write_bytes(b"x")
        print(len(os.listdir(folder)), flush=True)
        abandon()
        os._exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (7, "4\n", "")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_written_is_refused_before(tmp_path):
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "broken").symlink_to("nowhere")
    check_file(tmp_path / "new", False)
    check_file(tmp_path / "there", True)
    for name, force, expected in (
        ("there", False, "exists; choose another name, or replace it .force=True."),
        ("broken", False, "exists"),
        ("no/such", True, "does not exist; make it first"),
        (".", True, "is a directory"),
    ):
        with pytest.raises(CpunmtError, match=expected):
            check_file(tmp_path / name, force)
    with pytest.raises(CpunmtError, match="-: expected the name of a file; standard output tells what is done"):
        check_file("-", True)


def test_standard_output_is_refused_where_commands_report(tmp_path):
    """A command's messages overwrote a redirected output."""
    code = """
import sys
from cpunmt.files.output_files import check_file
try:
    check_file("/dev/stdout", True)
except Exception as error:
    sys.exit(str(error))
"""
    expected = b"/dev/stdout: is standard output, which tells what is done; give the name of a file\n"
    with open(tmp_path / "out", "wb") as file:
        for stdout in (file, subprocess.PIPE):
            done = subprocess.run([sys.executable, "-c", code], stdout=stdout, stderr=subprocess.PIPE, cwd=ROOT)
            assert done.stderr == expected


NAMES = {"a", "b"}


def write(path, force=False, content="new"):
    with replacing_directory(path, force, NAMES) as folder:
        assert not path.is_dir() or "new" not in [file.read_text() for file in path.iterdir()]
        (folder / "a").write_text(content)


def test_a_directory_appears_when_it_is_complete(tmp_path):
    write(tmp_path / "out")
    assert (tmp_path / "out" / "a").read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_left_after_an_error(tmp_path, error, force):
    if force:
        write(tmp_path / "out", content="old")
    with pytest.raises(error), replacing_directory(tmp_path / "out", force, NAMES) as folder:
        (folder / "a").write_text("half")
        raise error
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"] * force
    assert not force or (tmp_path / "out" / "a").read_text() == "old"


def test_force_replaces_what_is_there(tmp_path):
    write(tmp_path / "out", content="old")
    with pytest.raises(CpunmtError, match="exists; choose another directory, or replace it .force=True."):
        write(tmp_path / "out")
    (tmp_path / "out" / "b").write_text("old")
    write(tmp_path / "out", force=True)
    assert [file.read_text() for file in (tmp_path / "out").iterdir()] == ["new"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_replacement_that_fails_puts_the_old_directory_back(tmp_path):
    write(tmp_path / "out", content="old")
    replaced = replacing_directory(tmp_path / "out", True, NAMES)
    with pytest.raises(CpunmtError, match="cannot be written: No such file"), replaced as folder:
        folder.rmdir()
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_permissions_are_handed_on(tmp_path):
    write(tmp_path / "out", content="old")
    (tmp_path / "out").chmod(0o700)
    write(tmp_path / "out", force=True)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_of_a_link_its_target_is_replaced(tmp_path):
    (tmp_path / "out").symlink_to("real")
    write(tmp_path / "out", force=True, content="old")
    write(tmp_path / "out", force=True)
    assert (tmp_path / "out").is_symlink() and (tmp_path / "real" / "a").read_text() == "new"


def test_other_files_are_not_destroyed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    with pytest.raises(CpunmtError, match=r"holds other files \(thesis.tex\)"):
        write(tmp_path / "out", force=True)
    (tmp_path / "file").write_text("precious")
    with pytest.raises(CpunmtError, match="is not a directory"):
        write(tmp_path / "file", force=True)


def test_errors_of_the_file_system_are_told(tmp_path):
    with pytest.raises(CpunmtError, match="does not exist; make it first"):
        write(tmp_path / "missing" / "out")
    out = replacing_directory(tmp_path / "out", False, NAMES)
    with pytest.raises(CpunmtError, match="out: cannot be written: Is a directory"), out as folder:
        folder.write_text("")
    assert list(tmp_path.iterdir()) == []
