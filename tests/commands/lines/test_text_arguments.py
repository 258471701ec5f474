"""`cpunmt translate TEXT ...` equals `cpunmt translate` of the same lines on standard input."""

import pytest

from cpunmt.commands import cli
from cpunmt.commands.lines import translate
from tests.support.command_line import ROOT, here, refusal, texts
from tests.support.speeds import slow_after


@pytest.mark.parametrize(
    "given",
    slow_after(
        3,
        [
            ["Two dogs are playing."],
            ["One man.", "Two dogs.", "", "Three women."],
            [""],
            ["One man.\nTwo dogs.\n\nThree women."],
            ["-5 degrees"],
            ["Two dogs.\r"],
            [b"Two d\xffgs."],
        ],
    ),
)
def test_texts_are_lines(given):
    arguments = [text if isinstance(text, bytes) else text.encode() for text in given]
    as_lines = here("translate", stdin=b"".join(text + b"\n" for text in arguments))
    finished = here("translate", *[text.decode(errors="surrogateescape") for text in arguments])
    assert (finished.returncode, finished.stdout) == (0, as_lines.stdout)
    assert finished.stderr == as_lines.stderr
    assert finished.stdout.count(b"\n") == sum(text.count(b"\n") + 1 for text in arguments)


@pytest.mark.parametrize(
    ("given", "watched", "hint"),
    [
        (["tour.docx"], False, "cpunmt: there is no file tour.docx, so its name is translated\n"),
        (["tour.org"], True, ""),
        (["a.txt", "b"], False, ""),
        (
            ["One", "dog"],
            True,
            "cpunmt: these are 2 texts; as one sentence they need quotes: cpunmt translate 'One dog'\n",
        ),
        (["One dog", "Two"], True, ""),
        (["One"], True, ""),
    ],
)
def test_hints_at_another_meaning(given, watched, hint, monkeypatch, capfd):
    monkeypatch.setattr(translate, "translate_lines", lambda *arguments: None)
    monkeypatch.setattr(translate, "is_watched", lambda: watched)
    assert cli.main(["translate", *given]) == 0
    output, shown = capfd.readouterr()
    assert output == "" and shown.startswith(hint) and bool(shown) == bool(hint)


@pytest.mark.parametrize("content", [b"PK\3\4rest", b"%PDF-1.7\n", b"\0a\0\n"])
def test_a_document_is_no_lines(content, tmp_path, capfd):
    (tmp_path / "in").write_bytes(content)
    assert cli.main(["translate", "-i", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 1
    assert refusal(capfd).endswith("expected lines of UTF-8 text; `cpunmt translate-file FILE` translates documents\n")
    assert not (tmp_path / "out").exists()


def test_utf_16_is_told_and_one_nul_is_text(tmp_path, capfd):
    (tmp_path / "in").write_bytes("Two dogs.\n".encode("utf-16"))
    assert cli.main(["translate", "-i", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 1
    told = "the input is UTF-16, expected UTF-8; `cpunmt translate-file FILE` reads both\n"
    assert refusal(capfd).endswith(told)
    (tmp_path / "in").write_bytes(b"Two dogs.\0\nOne man.\n")
    assert cli.main(["translate", "-i", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes().count(b"\n") == 2


def test_options_and_files_go_with_them(student, tmp_path, capfd):
    flags = ["-o", str(tmp_path / "german"), "--stats", "-b", "2"]
    assert cli.main(["translate", *flags, "Two dogs.", "One man."]) == 0
    expected = texts(student, ["Two dogs.", "One man."], beam_size=2)
    assert (tmp_path / "german").read_text("utf-8").splitlines() == expected
    assert "sentences:     2\n" in capfd.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        ["One man.", "--beam-size", "2", "Two dogs.", "--max-length", "9", "-5 degrees"],
        ["One man.", "-b", "2", "--max-length", "9", "--", "Two dogs.", "-5 degrees"],
        ["-b", "2", "One man.", "Two dogs.", "--max-length", "9", "--", "-5 degrees"],
        ["--n-best", "1", "-b", "2", "One man.", "--max-length", "9", "Two dogs.", "-5 degrees"],
        ["One man.", "Two dogs.", "-5 degrees", "-b", "2", "--max-length", "9"],
        ["-b", "2", "--max-length", "9", "--normalize", "--", "One man.", "Two dogs.", "-5 degrees"],
    ],
)
def test_texts_go_before_between_and_behind_options(monkeypatch, given):
    seen = []
    monkeypatch.setattr(translate, "translate_lines", lambda *arguments: seen.append(arguments))
    assert cli.main(["translate", *given]) == 0
    texts_seen, options = seen[0][0], seen[0][3]
    assert texts_seen == ["One man.", "Two dogs.", "-5 degrees"]
    assert (options["beam_size"], options["max_length"]) == (2, 9)


def test_a_dash_behind_two_dashes_is_translated(student, capfd):
    assert cli.main(["translate", "Two dogs.", "-b", "2", "--", "-x"]) == 0
    assert capfd.readouterr().out.splitlines() == texts(student, ["Two dogs.", "-x"], beam_size=2)


def test_a_dash_is_standard_input(student):
    finished = here("translate", "-", stdin=b"Two dogs.\n")
    assert finished.stdout.decode().splitlines() == texts(student, ["Two dogs."])


def test_a_word_that_is_a_folder_is_a_word(student, monkeypatch, capfd):
    """A folder has this name; for a file, or a path, a flag was probably forgotten: see test_usage."""
    monkeypatch.chdir(ROOT)
    assert cli.main(["translate", "models"]) == 0
    assert capfd.readouterr().out.splitlines() == texts(student, ["models"])
