"""Files that commands write: refused before the work, whole or not there."""

import os

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.output_files import check_file, write_file


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
