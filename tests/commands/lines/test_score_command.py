"""`cpunmt score`: n pairs of lines in, n scores out."""

import math
import os
import threading

import pytest

from cpunmt.commands import cli
from cpunmt.commands.lines.score import _Problems
from cpunmt.decoding.scoring import LONGEST
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import here, refusal, sentences

SOURCES = [*sentences(100), "", "Yes."]


@pytest.fixture
def files(student, tmp_path):
    """Two files, and the results of their pairs."""
    targets = [result.text for result in student.translate(SOURCES)]
    source, target = tmp_path / "english", tmp_path / "german"
    source.write_text("".join(f"{line}\n" for line in SOURCES), "utf-8")
    target.write_text("".join(f"{line}\n" for line in targets), "utf-8")
    return source, target, student.score(SOURCES, targets)


def score(source, target, *flags) -> int:
    return cli.main(["score", "--source", str(source), "--target", str(target), *map(str, flags)])


def test_a_line_for_each_pair(files, tmp_path, capfd):
    source, target, results = files
    expected = "".join(f"{result.score:g}\n" for result in results)
    assert score(source, target, "-o", tmp_path / "scores") == 0
    assert (tmp_path / "scores").read_text() == expected
    assert score(source, target, "--cpu-threads", "2", "--mini-batch", "9") == 0
    assert capfd.readouterr() == (expected, "")


def test_log_probabilities_of_pieces_and_other_scores(student, files, capfd):
    source, target, results = files
    assert score(source, target, "--per-token") == 0
    for line, result in zip(capfd.readouterr().out.splitlines(), results, strict=True):
        whole, parts = line.split("\t")
        assert float(whole) == pytest.approx(result.score, rel=1e-5)
        assert [float(part) for part in parts.split()] == pytest.approx(result.log_probs, rel=1e-5)
    assert score(source, target, "--length-penalty", "0") == 0
    sums = [float(line) for line in capfd.readouterr().out.splitlines()]
    assert sums == pytest.approx([result.log_prob for result in results], rel=1e-5)


def test_tabs_on_standard_input(files):
    _, target, results = files
    pairs = zip(SOURCES, target.read_text("utf-8").split("\n"), strict=False)
    finished = here("score", "--vocabulary", "full", stdin="".join(f"{a}\t{b}\r\n" for a, b in pairs).encode())
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert finished.stdout.decode() == "".join(f"{result.score:g}\n" for result in results)


def test_the_shortlist_as_vocabulary():
    lines = b"A man is riding a bicycle.\tEin Wasser.\nA man.\tEin Mann.\n"
    finished = here("score", "--vocabulary", "shortlist", stdin=lines)
    impossible, possible = map(float, finished.stdout.split())
    assert impossible == -math.inf and -1 < possible < 0


def test_another_model(files, float_student, capfd):
    source, target, _ = files
    expected = float_student.score(SOURCES, target.read_text("utf-8").split("\n")[:-1])
    assert score(source, target, "-m", DIRECTORIES["float32"]) == 0
    assert capfd.readouterr().out == "".join(f"{result.score:g}\n" for result in expected)


def test_nothing_gives_nothing(tmp_path, capfd):
    (tmp_path / "empty").touch()
    assert score(tmp_path / "empty", tmp_path / "empty") == 0
    assert capfd.readouterr() == ("", "")


# Errors


def test_files_of_different_length_are_refused_before_anything_is_written(files, tmp_path, capfd):
    source, target, _ = files
    target.write_text("Ein Mann.\n")
    (tmp_path / "scores").write_text("kept\n")
    assert score(source, target, "-o", tmp_path / "scores") == 1
    assert refusal(capfd) == f"{source} has 102 lines and {target} has 1, expected as many\n"
    assert (tmp_path / "scores").read_text() == "kept\n"


@pytest.mark.parametrize("shorter", ["source", "target"])
def test_pipes_of_different_length_are_refused_at_the_end(tmp_path, shorter):
    paths = {name: tmp_path / name for name in ("source", "target")}
    feeders = []
    for name, path in paths.items():
        os.mkfifo(path)
        content = "Yes.\n" * (2 if name == shorter else 3)
        feeders.append(threading.Thread(target=path.write_text, args=(content,)))  # waits until it is read
        feeders[-1].start()
    finished = here("score", "--source", paths["source"], "--target", paths["target"])
    for feeder in feeders:
        feeder.join()
    assert finished.returncode == 1 and finished.stdout.count(b"\n") == 2
    message = f"cpunmt: error: {tmp_path / shorter}: has fewer lines than the other file, expected as many\n"
    assert finished.stderr.decode() == message


@pytest.mark.parametrize(("line", "tabs"), [("no tab", 0), ("one\ttwo\tthree", 2), ("", 0)])
def test_a_line_without_one_tab_is_told_and_the_others_are_scored(line, tabs):
    finished = here("score", stdin=f"A dog.\tEin Hund.\n{line}\nA man.\tEin Mann.\n".encode())
    without = here("score", stdin=b"A dog.\tEin Hund.\nA man.\tEin Mann.\n")
    first, second = without.stdout.split()
    assert (finished.returncode, finished.stdout.split()) == (1, [first, b"nan", second])
    expected = f"cpunmt: line 2: not scored: it has {tabs} tabs, expected source, tab, target\n"
    assert finished.stderr.decode() == expected


def test_pairs_that_are_too_long_are_told_by_their_line_and_the_others_are_scored(student, tmp_path, capfd):
    """Also beyond the first window, and the first ten of many one by one."""
    long, bad = "dog " * LONGEST, {3, 70, *range(80, 91)}
    lines = [long if number in bad else line for number, line in enumerate(sentences(100), 1)]
    (tmp_path / "english").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "german").write_text("Ja.\n" * 100)
    assert score(tmp_path / "english", tmp_path / "german") == 1
    output, shown = capfd.readouterr()
    whole = [line for number, line in enumerate(lines, 1) if number not in bad]
    expected = iter(student.score(whole, ["Ja."] * len(whole)))
    assert output.split() == ["nan" if n in bad else f"{next(expected).score:g}" for n in range(1, 101)]
    *told, last = shown.splitlines()
    assert [line.split(":")[1] for line in told] == [f" line {number}" for number in sorted(bad)[:10]]
    assert all("has 4096 pieces, expected at most 4095" in line for line in told)
    assert last == "cpunmt: 13 lines in all were not scored"


@pytest.mark.parametrize(
    ("count", "last"), [(10, "cpunmt: line 10: not scored: no"), (11, "cpunmt: 11 lines in all were not scored")]
)
def test_the_first_ten_problems_are_told_one_by_one(capfd, count, last):
    problems = _Problems()
    for line in range(1, count + 1):
        problems.add(line, "no")
    problems.report()
    shown = capfd.readouterr().err.splitlines()
    assert len(shown) == count and shown[-1] == last


def test_a_device_can_be_both_files_and_a_terminal_cannot(capfd):
    assert score("/dev/null", "/dev/null") == 0 and capfd.readouterr() == ("", "")
    ours, theirs = os.openpty()
    assert score(os.ttyname(theirs), os.ttyname(theirs)) == 1
    assert refusal(capfd).startswith("--source and --target are the same stream; leave both out")
    os.close(ours)
    os.close(theirs)


def test_files_that_cannot_be_used(files, tmp_path, capfd):
    source, target, _ = files
    assert score(tmp_path / "none", target) == 1
    assert refusal(capfd) == f"{tmp_path / 'none'}: cannot open the input: No such file or directory\n"
    before = target.read_bytes()
    assert score(source, target, "-o", target) == 1
    assert "is input and output" in refusal(capfd) and target.read_bytes() == before


def test_bytes_that_are_not_utf_8_are_counted():
    finished = here("score", stdin=b"A \xff dog.\tEin \xfe\xfe Hund.\n")
    assert (finished.returncode, finished.stdout.count(b"\n")) == (0, 1)
    assert finished.stderr == b"cpunmt: the input is not all UTF-8: 3 times U+FFFD was read instead\n"
