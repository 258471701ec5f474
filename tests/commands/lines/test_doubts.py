"""Translations cut off, or apparent loops, are reported: how many, where, and what to do; others are not."""

import pytest

from cpunmt.commands import cli
from cpunmt.commands.lines.doubts import Doubts
from cpunmt.results.results import Hypothesis, Result
from tests.support.command_line import here, sentences, statistics, translate


def result(pieces, truncated=False) -> Result:
    """Returns the result of a text of one sentence."""
    hypothesis = Hypothesis("", 0.0, 0.0, truncated, tuple(pieces))
    return Result((hypothesis,), num_source_pieces=1, num_source_characters=100)


def told(student, results, capfd, options=None) -> str:
    doubts = Doubts(student, options or {})
    for number, (text, one) in enumerate(results):
        doubts.add(number, [text], [one])
    doubts.report()
    return capfd.readouterr().err


def test_nothing_is_said_where_there_is_nothing_to_say(student, source, tmp_path, capfd):
    assert translate(source, tmp_path / "german", "--stats") == 0
    shown = capfd.readouterr().err
    assert "of the translations" not in shown
    found = statistics(shown)
    assert (found["cut off"], found["loops"]) == ("0", "0")


def test_what_was_cut_off_is_told(student, source, tmp_path, capfd):
    lines = sentences(40)
    cut = [i for i, found in enumerate(student.translate(lines, max_length=12), 1) if found.truncated]
    assert 6 < len(cut) < 40
    assert translate(source, tmp_path / "german", "--max-length", 12) == 0
    first = capfd.readouterr().err.strip()
    shown = f"lines {', '.join(map(str, cut[:5]))} and {len(cut) - 5} more"
    assert first == (
        f"cpunmt: of the translations {len(cut)} were cut off at the length limit ({shown}); look at them: "
        "--max-length above 12 gives more room"
    )
    assert translate(source, tmp_path / "german", "--max-length", 12, "--stats") == 0
    found = [one.doubts for one in student.translate(lines, max_length=12)]
    told, *rest = capfd.readouterr().err.splitlines()
    headings = {"truncated": "cut off", "length": "odd lengths", "numbers": "lost numbers", "echo": "untranslated"}
    counts = {name: sum(name in names for names in found) for name in headings}
    assert {name: int(statistics("\n".join(rest))[heading]) for name, heading in headings.items()} == counts
    assert f"({shown}), {counts['length']} have improbable lengths (lines " in told and counts["length"] > 1
    assert f"and {counts['numbers']} lack numbers (lines " in told and counts["numbers"] > 1


def test_numbers_of_lines_count_the_whole_input(student, tmp_path, capfd):
    """Across windows, of which the first has 64 lines."""
    lines = ["Yes."] * 150 + sentences(1) + ["Yes."] * 10
    (tmp_path / "english").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert translate(tmp_path / "english", tmp_path / "german", "--max-length", 6) == 0
    assert "1 was cut off at the length limit (line 151)" in capfd.readouterr().err


def test_a_loop_is_told(student, capfd):
    assert cli.main(["translate", "--min-length", "60", "Yes.", "Yes, yes."]) == 0
    shown = capfd.readouterr().err
    assert shown.startswith("cpunmt: of the translations 2 look like loops (lines 1, 2)")
    assert "--beam-size 4 may end a loop" in shown and shown.count("\n") == 1


def test_a_loop_that_the_source_has_is_none(student, capfd):
    assert told(student, [("Ha " * 20, result(["ha"] * 20))], capfd) == ""
    shown = told(student, [("Ha.", result(["ha"] * 20))], capfd)
    assert shown.startswith("cpunmt: of the translations 1 looks like a loop (line 1); look at them: ")


def test_a_loop_of_one_sentence_is_not_excused_by_another(student, capfd):
    """In a line of several sentences, the looping one's own source counts."""
    text = "Ha " * 20 + "ha. Yes."
    (made,) = student.translate([text], min_length=60)
    assert [sentence.repeats for sentence in made.sentences] == [True, True]
    assert "1 looks like a loop (line 1)" in told(student, [(text, made)], capfd)
    excused = student.translate("Ha " * 20 + "ha.", min_length=60)
    assert excused.repeats and told(student, [("Ha " * 20 + "ha.", excused)], capfd) == ""


def test_a_file_of_doubtful_sentences(student, tmp_path, capfd):
    lines, short = ["A dog.", f"Yes. {sentences(20)[17]}", *sentences(40)], {"max_length": 12}
    (tmp_path / "english").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    listed, made = tmp_path / "doubts.tsv", student.translate(lines, **short)
    assert translate(tmp_path / "english", tmp_path / "german", "--doubts", listed, "--max-length", 12) == 0
    expected = []
    for number, (line, result) in enumerate(zip(lines, made, strict=True), 1):
        for sentence, doubts in zip(result.sentences, result.doubts_by_sentence, strict=True):
            if doubts:
                target = result.text[slice(*sentence.target)]
                expected.append(f"{number}\t{','.join(doubts)}\t{line[slice(*sentence.source)]}\t{target}\n")
    assert listed.read_text("utf-8") == "".join(expected) and len(expected) > 6
    assert " lack numbers (lines " in capfd.readouterr().err  # all doubts are in the line on stderr
    once = "One\tman and 2019 dogs are playing in the garden."  # a tab, which separates columns
    assert cli.main(["translate", once, "--split", "none", "--max-length", "2", "--doubts", str(listed)]) == 0
    assert listed.read_text("utf-8").split("\t")[2] == once.replace("\t", " ")
    capfd.readouterr()
    for wrong in (tmp_path / "english", tmp_path / "german"):
        assert translate(tmp_path / "english", tmp_path / "german", "--doubts", wrong) == 1
        assert "would be replaced" in (told := capfd.readouterr().err) or "is to be written twice" in told
    with pytest.raises(SystemExit):
        translate(tmp_path / "english", tmp_path / "german", "--doubts", "-")
    assert "argument --doubts: '-', expected the name of a file" in capfd.readouterr().err


def test_both(student, capfd):
    results = [("Yes.", result(["ha"] * 20, True)), ("Yes.", result(["ja"], True)), ("Yes.", result(["ja"]))]
    factor = student.config.max_length_factor
    assert told(student, results, capfd) == (
        "cpunmt: of the translations 1 looks like a loop (line 1) and 2 were cut off at the length limit (lines 1, 2); "
        f"look at them: --beam-size 4 may end a loop, --max-length-factor above {factor:g} gives more room\n"
    )
    assert "--max-length-factor above 7 gives" in told(student, results, capfd, {"max_length_factor": 7.0})


def cut(student, capfd, text, pieces, **options) -> str:
    """Returns the advice about a cut-off translation of `pieces` pieces."""
    return told(student, [(text, result(map(str, range(pieces)), True))], capfd, options).rpartition("look at them")[2]


def test_the_limit_that_was_reached_is_told(student, capfd):
    text, long = "Two dogs are playing.", "Two dogs are playing. " * 400
    source = len(student.tokenize(text)) + 1
    above = "--max-length above {} gives more room\n", "--max-length-factor above {:g} gives more room\n"
    assert cut(student, capfd, text, 4, max_length=4) == ": " + above[0].format(4)
    assert cut(student, capfd, text, 1, max_length=100, max_length_factor=0.1) == ": " + above[1].format(0.1)
    both = ": --max-length above {} and --max-length-factor above {:g} give more room\n"
    assert cut(student, capfd, text, source, max_length=source, max_length_factor=1.0) == both.format(source, 1)
    assert cut(student, capfd, long, 30, max_length=20) == both.format(20, student.config.max_length_factor)
    assert cut(student, capfd, long, 19, max_length=20, max_length_factor=0.1) == ": " + above[1].format(0.1)
    cases = [(text, result("abc", True)), (text, result("a", True))]  # one by each
    assert told(student, cases, capfd, {"max_length": 3, "max_length_factor": 2.0}).endswith(both.format(3, 2))


def test_no_limit_is_told_that_cannot_be_higher(student, capfd):
    assert cut(student, capfd, "Yes.", 200, max_length_factor=100.0) == "\n"
    assert cut(student, capfd, "Yes.", 70_000, max_length=1 << 16).count("--") == 1


def test_a_real_translation_that_the_factor_cut_off(capfd):
    assert cli.main(["translate", "--max-length", "100", "--max-length-factor", "0.1", "Two dogs are playing."]) == 0
    assert capfd.readouterr().err.endswith("look at them: --max-length-factor above 0.1 gives more room\n")


def test_a_pipe_hears_it_too():
    finished = here("translate", "--max-length", "2", stdin=b"Two dogs are playing in the snow.\n")
    assert finished.stderr.startswith(b"cpunmt: of the translations 1 was cut off") and finished.returncode == 0
