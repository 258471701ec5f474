"""`--from` and `--to`: the languages of a model of many, or the choice of a model."""

import pytest

from cpunmt import Translator
from cpunmt.commands import cli
from cpunmt.commands.flag_names import error_line
from cpunmt.corpora.cross_entropy import dual_score
from tests.sample_models.many_languages_model import write_model
from tests.sample_models.small_vocabulary import TEXT

PAIR = {"source_lang": "en", "target_lang": "de"}
FLAGS = ["--from", "English", "--to", "deu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "nllb"
    write_model(path, "nllb", 5)
    return path


@pytest.fixture(scope="module")
def expected(folder):
    return [result.text for result in Translator(folder).translate(TEXT, **PAIR)]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(TEXT) + "\n", "utf-8")
    return path


def test_lines(folder, source, expected, tmp_path):
    arguments = ["translate", "-m", str(folder), *FLAGS, "-i", str(source), "-o", str(tmp_path / "out.txt")]
    assert cli.main(arguments) == 0
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == expected


def test_the_model_of_the_environment(folder, source, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("CPUNMT_MODEL", str(folder))
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "none"))
    assert cli.main(["convert", str(folder), str(tmp_path / "packed")]) == 0
    for model in (folder, tmp_path / "packed"):
        monkeypatch.setenv("CPUNMT_MODEL", str(model))
        assert cli.main(["translate", *FLAGS, "-i", str(source), "-o", str(tmp_path / "out.txt")]) == 0
        assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == expected


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ([], "--from and --to not given, and the model has 202 languages; expected a name such as German, or one of "),
        (["--from", "en"], "--to not given, and "),
        (["--to", "de"], "--from not given, and "),
        (["--from", "en", "--to", "Klingon"], "--to is 'Klingon'; expected a code or a name of a language that "),
        (["--from", "xx", "--to", "de"], "--from is 'xx'; expected a code "),
    ],
)
def test_missing_and_unknown_languages(folder, source, tmp_path, capfd, flags, problem):
    out, model = tmp_path / "out", ["-m", str(folder), *flags]
    commands = [["translate", *model, "-i", str(source), "-o", str(out)]]
    if flags:
        commands.append(["translate-file", *model, str(source)])
        commands.append(["score", *model, "--source", str(source), "--target", str(source), "-o", str(out)])
    else:
        commands.append(["batch", *model, str(source), "--out", str(tmp_path / "parts")])
    for command in commands:
        assert cli.main(command) == 1
        said = capfd.readouterr().err
        assert said.count("\n") == 1 and not out.exists()
        assert said.startswith(f"cpunmt: error: {problem}") and "ace_Arab, ace_Latn, " in said


@pytest.mark.parametrize(
    "name",
    ["source_lang_model", "target_lang/notes.txt", "target_lang", "source_lang 1.txt", "return_alternatives"],
)
def test_names_of_files_are_left_alone(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["info", name]) == 1
    assert capfd.readouterr().err.startswith(f"cpunmt: error: {name}: ")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("source_lang has 1 items, expected", "--from has 1 items, expected"),
        ("target_lang takes a language", "--to takes a language"),
        ("target_lang 12 is None", "--to 12 is None"),
        (
            "return_alternatives is True; expected return_alternatives=True",
            "--alternatives is True; expected --alt",
        ),
        ("x is 1 and target_lang is 2", "x is 1 and target_lang is 2"),  # perhaps the name of a file
    ],
)
def test_names_of_options_are_those_of_flags(message, expected):
    assert error_line(ValueError(message)).startswith(expected)


def test_scores(folder, tmp_path, capfd):
    (tmp_path / "pairs").write_text("A dog.\n", "utf-8")
    flags = ["--source", str(tmp_path / "pairs"), "--target", str(tmp_path / "pairs")]
    assert cli.main(["score", "-m", str(folder), *FLAGS, *flags]) == 0
    score = Translator(folder).score("A dog.", "A dog.", **PAIR).score
    assert float(capfd.readouterr().out) == pytest.approx(score, abs=1e-4)


def test_documents(folder, tmp_path, capsys):
    (tmp_path / "page.md").write_text("\n\n".join(TEXT[:3]), "utf-8")
    assert cli.main(["translate-file", "-m", str(folder), *FLAGS, str(tmp_path / "page.md")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.de.md")


def test_corpora(folder, source, expected, tmp_path):
    for flags in (FLAGS, ["--from", "eng_Latn", "--to", "de"]):  # the second run finds its parts there
        assert cli.main(["batch", "-m", str(folder), *flags, str(source), "--out", str(tmp_path / "out")]) == 0
    (part,) = [path for path in (tmp_path / "out").iterdir() if path.suffix == ".txt"]
    assert part.read_text("utf-8").splitlines() == expected


def test_pairs_of_corpora(folder, tmp_path, capfd):
    """Both models of `--score` get the languages, swapped for `--reverse`; parts of other languages are made again."""
    (tmp_path / "p.tsv").write_text("".join(f"{text}\t{TEXT[0]}\n" for text in TEXT[:4]), "utf-8")
    batch = ["batch", "-m", str(folder), "--score", "--reverse", str(folder), str(tmp_path / "p.tsv")]
    batch += ["--out", str(tmp_path / "out")]
    assert cli.main(batch) == 1
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "--from and --to not given, and the model has 202 languages" in said
    translator = Translator(folder)
    for source, target in (("en", "de"), ("deu", "English")):
        there = translator.score(TEXT[:4], TEXT[:1] * 4, source_lang=source, target_lang=target)
        back = translator.score(TEXT[:1] * 4, TEXT[:4], source_lang=target, target_lang=source)
        expected = [
            dual_score(*(-side.log_prob / len(side.tokens) for side in pair)) for pair in zip(there, back, strict=True)
        ]
        assert cli.main([*batch, "--from", source, "--to", target]) == 0
        (part,) = [path for path in (tmp_path / "out").iterdir() if path.suffix == ".tsv"]
        assert [float(line.split("\t")[2]) for line in part.read_text("utf-8").splitlines()] == expected
    capfd.readouterr()
    assert cli.main([*batch, "--from", "de", "--to", "eng_Latn"]) == 0
    assert "there already" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("a: exists; or replace it (force=True)", "a: exists; or replace it (--force)"),
        ("name its encoding (encoding=cp1252), or convert it", "name its encoding (--encoding cp1252), or convert it"),
        ("or name it (source_lang=CODE)", "or name it (--from CODE)"),
        ("or name it (target_lang_column=NAME)", "or name it (--to-column NAME)"),
        ("a(force=True).md and b (other=1).md", "a(force=True).md and b (other=1).md"),
    ],
)
def test_advice_has_the_names_of_flags(message, expected):
    assert error_line(ValueError(message)) == expected
