"""Traces of calls: counts of the project's files, and of changes between them."""

import sys

import pytest

from tools import flows
from tools.flows import FLOWS, Flow, main, trace


def test_files_and_changes_are_counted(tmp_path, monkeypatch):
    """One file calls another, which calls back; functions elsewhere do not count."""
    (tmp_path / "one_room.py").write_text(
        "def begin(other):\n    return other(end)\ndef end():\n    return len('ab')\n"
    )
    (tmp_path / "two_room.py").write_text("def middle(back):\n    return sorted([back(), 1], key=lambda x: x)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import one_room
    import two_room

    monkeypatch.setattr(flows, "_ROOMS", (f"{tmp_path}/",))
    assert trace(lambda: one_room.begin(two_room.middle)) == Flow(2, 5)  # one, two, one, two, one
    assert trace(one_room.end) == Flow(1, 1) and trace(lambda: len("ab")) == Flow(0, 0)

    def fails():
        one_room.begin(None)

    before = sys.getprofile()
    with pytest.raises(TypeError):
        trace(fails)
    assert sys.getprofile() is before


def test_the_command_prints_a_line_for_each_flow(capsys):
    assert main(["sentence"]) == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["flow", "files", "changes"] and line.split()[0] == "sentence"
    assert all(int(figure) > 5 for figure in line.split()[1:])
    with pytest.raises(SystemExit):
        main(["sentences"])
    assert f"sentences: expected one of {', '.join(FLOWS)}" in capsys.readouterr().err
