"""Long work is not done twice, and unfinished work is not a result."""

import gzip

import pytest

from models.train.text.line_files import write_lines

ITEMS = list(range(10))


def make(some, first):
    return [[f"{first}", f"line\t{item}\n"] for item in some if item != 7]


def lines(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


EXPECTED = [f"{item // 3 * 3}\tline {item}" for item in ITEMS if item != 7]


def test_windows_become_lines(tmp_path):
    write_lines(tmp_path / "out.tsv.gz", ITEMS, make, window=3)
    assert lines(tmp_path / "out.tsv.gz") == EXPECTED
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsv.gz"]


@pytest.mark.parametrize("rest", ["", "6\thalf a li"])
def test_it_goes_on_after_whole_windows(tmp_path, rest):
    path, seen = tmp_path / "out.tsv.gz", []

    def fail_at_6(some, first):
        if first == 6:
            raise KeyboardInterrupt
        return make(some, first)

    with pytest.raises(KeyboardInterrupt):
        write_lines(path, ITEMS, fail_at_6, window=3)
    assert not path.exists()
    with open(tmp_path / ".out.tsv.gz.partial", "a", encoding="utf-8") as file:
        file.write(rest)

    def remember(some, first):
        seen.append(first)
        return make(some, first)

    write_lines(path, ITEMS, remember, window=3)
    assert seen == [6, 9] and lines(path) == EXPECTED


def test_a_complete_file_is_left_alone(tmp_path):
    write_lines(tmp_path / "out.tsv.gz", ITEMS, make)
    write_lines(tmp_path / "out.tsv.gz", ITEMS, None)
    assert len(lines(tmp_path / "out.tsv.gz")) == 9
