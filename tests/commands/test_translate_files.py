"""`cpunmt translate-file` of several files, folders and streams: paths of outputs, and messages."""

import os
import sys

import pytest

from cpunmt import Translator
from cpunmt.commands import cli
from cpunmt.documents import translate as documents
from tests.sample_models.real_model import SHIPPED
from tests.support.command_line import here, refusal, sentences, statistics

TEXTS = {"a.md": "# Two dogs\n", "b.md": "A man.\n", "deep/c.txt": "Two cats.\n", "deep/d.rtf": "no", ".e.md": "Three."}
TEXTS |= {
    "deep/f.ts": "let a = 'Two';",
    "deep/g.xml": "<a>Two</a>",
    "deep/h.xml": "<resources><string>Two dogs</string>",
}
TEXTS["deep/h.xml"] += "</resources>\n"
GERMAN = {"a.md": "# Zwei Hunde\n", "b.md": "Ein Mann.\n", "deep/c.txt": "Zwei Katzen.\n"}
GERMAN["deep/h.xml"] = "<resources><string>Zwei Hunde</string></resources>\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def files(folder) -> dict[str, str]:
    """Returns the text of each file in a folder, by its path there."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def translated(*arguments) -> int:
    return cli.main(["translate-file", *map(str, arguments), "-m", str(SHIPPED)])


def test_every_file_is_an_input(folder, capfd):
    """The second one was taken for the output, and replaced by --force."""
    for flags in ([], ["--force"]):
        assert translated("a.md", "b.md", *flags) == 0
        made = {"a.de.md": GERMAN["a.md"], "b.de.md": GERMAN["b.md"]}
        assert files(folder) == TEXTS | made and capfd.readouterr().out == "a.de.md\nb.de.md\n"
    assert translated("a.md", "-o", "out.md") == 0
    assert (folder / "out.md").read_text() == GERMAN["a.md"]


def test_folders_go_into_a_folder_with_the_same_names(folder, capfd):
    assert translated(".", "--out", "de") == 0
    made = {f"de/{name}": text for name, text in GERMAN.items()}
    assert files(folder) == TEXTS | made
    assert capfd.readouterr().out.splitlines() == list(made)
    assert translated(".", "--out", "de", "--force") == 0  # its files are not sources
    assert files(folder) == TEXTS | made
    capfd.readouterr()
    assert translated("deep", "a.md", "--out", "other", "--format", "txt") == 0
    assert (folder / "other/a.md").read_text() == "# Zwei Hunde\n"
    assert sorted(files(folder / "other")) == ["a.md", "c.txt"]
    capfd.readouterr()
    os.mkdir("empty")
    assert translated("empty", "--out", "x") == 1 and "has no file of a known format" in refusal(capfd)


def test_standard_streams(folder):
    given = ["translate-file", "-m", SHIPPED]
    done = here(*given, "-", "--format", "md", stdin=TEXTS["a.md"].encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, GERMAN["a.md"].encode(), b"")
    done = here(*given, folder / "a.md", "-o", "-")
    assert (done.returncode, done.stdout, done.stderr) == (0, GERMAN["a.md"].encode(), b"")
    done = here(*given, "-", "--format", "md", "-o", folder / "x", stdin=TEXTS["a.md"].encode())
    assert (done.returncode, done.stdout) == (0, f"{folder / 'x'}\n".encode())
    assert (folder / "x").read_text() == GERMAN["a.md"]
    done = here(*given, "-", "--format", "json", stdin=b"{")
    assert done.returncode == 1 and done.stderr.startswith(b"cpunmt: error: standard input: line 1, column 2: ")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["a.md", "b.md", "-o", "x"], "-o is for the translation of one file, and 2 are given; use --out DIR"),
        (["a.md", "-o", "x", "--out", "y"], "give -o FILE for one translation, or --out DIR for all, not both"),
        (["deep"], "deep is a directory; give --out DIR"),
        (["deep", "-o", "x"], "deep is a directory; give --out DIR"),
        (["-"], "give --format"),
        (["-", "a.md", "--format", "md"], "give it alone"),
        (["-", "--format", "md", "--out", "x"], "give it alone"),
    ],
)
def test_contradictions_are_wrong_usage(folder, capsys, arguments, told):
    with pytest.raises(SystemExit, match="2"):
        translated(*arguments)
    shown = capsys.readouterr().err
    assert told in shown and shown.count("\n") == 1 and files(folder) == TEXTS


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["a.md", "none.md"], "none.md: cannot read it: No such file or directory; check the path"),
        (["none.md", "-o", "b.md"], "none.md: cannot read it: No such file or directory; check the path"),
        (["a.md", "/dev/zero"], "/dev/zero: is not a regular file"),
        (["a.md", "deep/d.rtf"], "deep/d.rtf: an older format, which is not read; save it as .docx"),
        (["a.md", "-o", "b.md"], "b.md: exists; choose another name, or replace it (--force)"),
        (["a.md", "b.md", "--out", "."], "a.md: is read, and would be replaced; choose another name to write to"),
        (["a.md", "--out", "deep/c.txt"], "deep/c.txt: cannot be made: File exists; give --out another directory"),
        (["a.md", "deep/../a.md", "--out", "x"], "x/a.md: is to be written twice; choose another name for one of them"),
        (["deep", "--out", "x", "--format", "no"], "the format 'no' is not known"),
    ],
)
def test_what_is_missing_or_in_the_way_is_told_before_any_is_translated(folder, capfd, arguments, told):
    assert translated(*arguments) == 1
    assert told in refusal(capfd) and files(folder) == TEXTS


def test_a_missing_input_is_told_before_a_missing_model(folder, capfd):
    assert cli.main(["translate-file", "none.md", "-m", "no/model"]) == 1
    assert refusal(capfd).startswith("none.md: cannot read it")


def test_a_broken_file_does_not_keep_others(folder, capfd):
    (folder / "b.json").write_text("{")
    assert translated("a.md", "b.json", "b.md") == 1
    out, err = capfd.readouterr()
    assert out == "a.de.md\nb.de.md\n" and err.count("\n") == 1
    assert err.startswith("cpunmt: error: b.json: line 1, column 2: is not JSON")


def test_each_file_has_its_own_doubts(folder, capfd):
    assert translated("a.md", "b.md", "--max-length", 1) == 0
    told = [line.split("(")[0] for line in capfd.readouterr().err.splitlines()]
    said = "of the translations 1 was cut off at the length limit "
    assert told == [f"cpunmt: {name}: {said}" for name in ("a.md", "b.md")]


def test_doubtful_sentences_of_all_files_are_listed(folder, capfd):
    german = "Ich bin gleich wieder hier bei dir."
    (folder / "b.md").write_text(f"*A man.*\n\n{german} A *dog*.\n")
    assert translated("a.md", "b.md", "--doubts", "doubts.tsv", "--max-length", 2) == 0
    rows = [line.split("\t") for line in (folder / "doubts.tsv").read_text("utf-8").splitlines()]
    assert [row[0] for row in rows] == ["a.md", *["b.md"] * (len(rows) - 1)] and len(rows) > 2
    assert all("truncated" in row[1] and len(row) == 4 for row in rows) and german in [row[2] for row in rows]
    capfd.readouterr()
    assert translated("a.md", "--force", "--doubts", "a.md") == 1 and "would be replaced" in refusal(capfd)


@pytest.mark.parametrize("name, around", [("a.txt", "{}\n"), ("a.md", "*{}*\n\n"), ("a.html", "<p>{}</p>\n")])
def test_what_is_doubtful_is_told_as_of_lines(tmp_path, capfd, name, around):
    """Each format: texts, texts with marks in them, pages."""
    lines = [*sentences(12), "Yes.", "No."]
    path = tmp_path / name
    path.write_text("".join(around.format(line) for line in lines))
    translator = Translator(SHIPPED)
    for flags, heading, begin in (
        ({"max_length": 12}, "cut off", "cut off at the length limit (text"),
        ({"min_length": 60}, "loops", "look like loops (texts"),
    ):
        arguments = [part for flag, value in flags.items() for part in (f"--{flag.replace('_', '-')}", value)]
        assert translated(path, "--force", "--stats", *arguments) == 0
        first, *rest = capfd.readouterr().err.splitlines()
        doubtful = {"cut off": "truncated", "loops": "repeats"}[heading]
        wanted = [line for line in lines if getattr(translator.translate(line, **flags), doubtful)]
        found = statistics("\n".join(rest))
        assert int(found[heading]) == len(wanted) > 1
        assert begin in first and all(text[:40] in first for text in wanted[:5])
        assert int(found["words"]) == len(" ".join(lines).split()) and int(found["sentences"]) == len(lines)
    assert translated(path, "--force") == 0
    assert capfd.readouterr().err.count("cpunmt: of the translations") <= 1


@pytest.mark.parametrize("most", [11, 10])
def test_standard_input_has_a_limit(folder, monkeypatch, most):
    monkeypatch.setattr(documents, "MOST_BYTES", most)
    done = here("translate-file", "-m", SHIPPED, "-", "--format", "md", stdin=TEXTS["a.md"].encode())
    said = "cpunmt: error: standard input has more than 10 bytes, which is the limit; cut it into parts\n"
    assert (done.stdout.decode(), done.stderr.decode()) == ((GERMAN["a.md"], "") if most == 11 else ("", said))


def test_standard_input_that_is_closed_is_one_error(folder, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", None)
    assert translated("-", "--format", "md") == 1 and refusal(capfd) == "standard input is closed; give a file\n"
