"""Directories appear complete or not at all, and replace nothing that is not theirs."""

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import replacing_directory

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
    with pytest.raises(CpunmtError, match="exists; choose another directory, or pass --force"):
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
    with pytest.raises(CpunmtError, match="there is no directory"):
        write(tmp_path / "missing" / "out")
    out = replacing_directory(tmp_path / "out", False, NAMES)
    with pytest.raises(CpunmtError, match="out: cannot be written: Is a directory"), out as folder:
        folder.write_text("")
    assert list(tmp_path.iterdir()) == []
