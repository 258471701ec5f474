"""The folder of a stored program is checked, and read even if its name leads to another one later."""

import pytest

from cpunmt.engine import program_files

OURS, THEIRS = (program_files.content(code, {"kernel": "v"}) for code in (b"ours", b"theirs"))


@pytest.fixture
def folder(tmp_path):
    """Makes a private folder with a program."""
    made = tmp_path / "mine"
    assert program_files.write(made / "a.program", OURS)
    return made


def test_a_folder_may_be_a_link_and_is_checked_where_it_leads(folder, tmp_path):
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "links").symlink_to("link")
    for name in ("link", "links", "links/../mine"):
        assert program_files.read(tmp_path / name / "a.program") == OURS
    folder.chmod(0o777)
    assert program_files.read(tmp_path / "link" / "a.program") is None


def test_a_name_of_the_working_folder_will_do(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert program_files.read(program_files.Path("a.program")) == OURS


@pytest.mark.parametrize("name", ["loop", "nowhere", "file"])
def test_what_is_no_folder_holds_no_program(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "file").write_bytes(OURS)
    assert program_files.read(tmp_path / name / "a.program") is None


def test_a_folder_is_not_swapped_between_its_check_and_the_reading(folder, tmp_path, monkeypatch):
    """Its name leads to another folder as soon as its status has been read."""
    (tmp_path / "theirs").mkdir(mode=0o700)
    (tmp_path / "theirs" / "a.program").write_bytes(THEIRS)
    private = program_files._private

    def swap(status):
        folder.rename(tmp_path / "away")
        (tmp_path / "theirs").rename(folder)
        return private(status)

    monkeypatch.setattr(program_files, "_private", swap)
    assert program_files.read(folder / "a.program") == OURS
    assert (folder / "a.program").read_bytes() == THEIRS
