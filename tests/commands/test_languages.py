"""`--from` and `--to`: the languages of a model of many, or the choice of a model."""

import pytest

from cpunmt import Translator
from cpunmt.commands import cli
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


@pytest.mark.parametrize("flags", [[], ["--from", "en"], ["--to", "de"], ["--from", "en", "--to", "Klingon"]])
def test_missing_and_unknown_languages(folder, source, tmp_path, capsys, flags):
    out = tmp_path / "out.txt"
    assert cli.main(["translate", "-m", str(folder), *flags, "-i", str(source), "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "ace_Arab, ace_Latn, " in said and not out.exists()


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
