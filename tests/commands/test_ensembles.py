"""--ensemble and --weights: the commands' translations equal a Translator's; wrong usage is one line."""

import pytest

from cpunmt import Translator
from cpunmt.commands import cli
from tests.sample_models.real_model import DIRECTORIES, ENSEMBLE, GERMAN, SHIPPED
from tests.support.command_line import here, refusal, sentences, texts, translate

FIRST, SECOND = map(str, ENSEMBLE)
FLAGS = ["-m", FIRST, "--ensemble", SECOND, "--weights", "1,2"]


def test_translate(ensemble, source, tmp_path):
    assert translate(source, tmp_path / "german", *FLAGS, "-b", 3) == 0
    lines = (tmp_path / "german").read_text("utf-8").splitlines()
    assert lines == texts(ensemble, sentences(40), beam_size=3)


def test_three_models_of_equal_weight(source, tmp_path):
    assert translate(source, tmp_path / "german", "-m", FIRST, "--ensemble", f"{SECOND},{DIRECTORIES['int8']}") == 0
    expected = texts(Translator([*ENSEMBLE, DIRECTORIES["int8"]]), sentences(40))
    assert (tmp_path / "german").read_text("utf-8").splitlines() == expected


def test_with_the_default_model():
    """$CPUNMT_MODEL is the first one."""
    done = here("translate", "--ensemble", SECOND, "Two men are playing.")
    assert (
        done.stdout.decode() == Translator([DIRECTORIES["int8"], SECOND]).translate("Two men are playing.").text + "\n"
    )


def test_score(ensemble):
    done = here("score", *FLAGS, stdin=b"A dog.\tEin Hund.\n")
    assert float(done.stdout) == pytest.approx(ensemble.score("A dog.", "Ein Hund.").score, rel=1e-5)


def test_info(capfd):
    assert cli.main(["info", FIRST, "--ensemble", SECOND, "--weights", "1,3"]) == 0
    output, _ = capfd.readouterr()
    one, other, together = output.rstrip("\n").split("\n\n")
    assert one.splitlines()[0].split() == ["model:", FIRST] and other.splitlines()[0].split() == ["model:", SECOND]
    assert together == "ensemble: 2 models with the same vocabularies, weighted 0.25, 0.75, with a shortlist"


@pytest.mark.parametrize("command", ["translate", "info"])
def test_models_that_cannot_translate_together(command, capfd):
    arguments = (
        ["-m", str(SHIPPED), "--ensemble", str(GERMAN), "A dog."]
        if command == "translate"
        else [str(SHIPPED), "--ensemble", str(GERMAN)]
    )
    assert cli.main([command, *arguments]) == 1
    _, shown = capfd.readouterr()
    assert "cannot translate together with" in shown and "it translates de to en, not en to de" in shown
    assert shown.count("\n") == 1


def test_a_model_that_is_missing(capfd):
    assert cli.main(["translate", "--ensemble", "nowhere", "A dog."]) == 1
    assert "nowhere" in refusal(capfd)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--weights", "1,2"], "weights has more than 1 items, expected one for the model"),
        (["--ensemble", "a,b", "--weights", "1,2"], "weights has 2 items, expected one for each of the 3 models"),
        (["--ensemble", "a", "--weights", "1,-2"], "weights[1] is -2.0, expected 0.0 to 1000000.0"),
        (["--ensemble", "a", "--weights", "nan,1"], "weights[0] is nan, expected 0.0 to 1000000.0"),
        (["--ensemble", "a", "--weights", "0,0"], "weights are all 0, expected at least one that is not"),
        (["--ensemble", "a", "--weights", "1,x"], "'1,x', expected numbers with commas between, such as 2,1"),
        (["--ensemble", "a,,b"], "'a,,b' has a comma with no model beside it, expected DIR or DIR,DIR"),
        (["--ensemble", ",".join("a" * 63), "--weights", "1"], "expected one for each of the 64 models"),
        (["--ensemble", ",".join("a" * 64)], "64 models are named, expected at most 63"),
        (["--ensemble", "a", "--ensemble", "b"], "is given twice"),
    ],
)
@pytest.mark.parametrize("command", ["translate", "score", "info"])
def test_wrong_usage(command, flags, message, capfd):
    with pytest.raises(SystemExit) as raised:
        cli.main([command, *flags])
    output, shown = capfd.readouterr()
    assert raised.value.code == 2 and output == "" and shown.count("\n") == 1
    assert shown.startswith(f"cpunmt {command}: error: ") and message in shown
