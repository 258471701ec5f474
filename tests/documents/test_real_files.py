"""The command that tests any files."""

from tests.documents import real_files


def test_it_tells_what_became_of_each_file(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("# One *man*\n")
    (tmp_path / "b.txt").write_text("One man.\n\nTwo dogs.\n")
    (tmp_path / "c.txt").write_bytes(b"\xff")
    (tmp_path / "d.rtf").write_bytes(b"\xff")
    assert real_files.main([str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert f"{tmp_path}/c.txt: refused: line 1, byte 1 of the file: is not UTF-8" in shown[0]
    counts = {line.split()[0]: line.split()[2::2][:4] for line in shown[1:]}
    assert counts == {"txt": ["2", "1", "1", "2"], "md": ["1", "1", "0", "1"]}


def test_a_difference_is_told(tmp_path, capsys, monkeypatch):
    (tmp_path / "a.txt").write_text("One man.\n")
    monkeypatch.setattr(real_files, "translated", lambda units, *_: ["Two." for _ in units])
    assert real_files.main([str(tmp_path)]) == 1
    assert f"{tmp_path}/a.txt: DIFFERENT through the layers" in capsys.readouterr().out
