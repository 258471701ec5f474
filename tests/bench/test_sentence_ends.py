"""The benchmark of the sentence splitter counts right, superfluous and missed boundaries."""

import gzip
import json

import pytest

from bench.sentences import __main__ as sentences


def test_ends_are_counted():
    given = ["It rains.", "We stay.", "He met Ms.", "No stop", "Ho! Hi!", "Why?"]
    found = sentences.measure([given[0], given[1], given[2], given[4], given[5]], "en", 15)
    assert found["errors"] == [
        "  + It rains. We stay. He met Ms. Ho! | Hi! Why? ",
        "  - It rains. We stay. He met Ms. | Ho! Hi! Why? ",
    ]
    assert (found["precision"], found["recall"], found["f1"]) == (3 / 4, 3 / 4, 3 / 4)
    assert sentences.measure(given[:3], "en", 1) == {"precision": 0, "recall": 0, "f1": 0, "errors": []}


@pytest.mark.parametrize("opened, name", [(open, "set.tsv"), (gzip.open, "set.tsv.gz")])
def test_figures_of_each_column_are_written(opened, name, tmp_path, capsys):
    with opened(tmp_path / name, "wt", encoding="utf8") as file:
        file.write(
            "It rains.\tEs regnet.\nno stop\tOhne\nAt the\u2028end.\tAm Ende.\n\u201cWhy?\u201d\t\u201eWarum?\u201c\n"
        )
    assert sentences.read_column(tmp_path / name, 0) == ["It rains.", "At the\u2028end.", "\u201cWhy?\u201d"]
    flags = ["--languages", "en", "none", "--errors", "--rounds", "1", "--json", str(tmp_path / "json")]
    sentences.main([str(tmp_path / name), *flags])
    assert "set.tsv" in capsys.readouterr().out
    english, other = json.loads((tmp_path / "json").read_text("utf-8"))["figures"]
    assert (english["language"], other["language"]) == ("en", "none")
    assert english["f1"] == 4 / 5 and english["MB/s"] > 0  # U+2028 ends a line
    assert other["f1"] == 1
