"""Option sets by name: in calls, in those of pivots, and on the command line."""

import pytest

from cpunmt import Options, Pivot, Translator
from cpunmt.commands import cli
from cpunmt.options.option_sets import OPTION_SETS, option_set, set_fields
from tests.sample_models.real_model import GERMAN, SHIPPED

TEXT = "Two dogs are playing in the snow on 3 May."


def test_a_set_is_options():
    argos = option_set("argos")
    assert (argos.beam_size, argos.length_penalty, argos.replace_unknowns) == (4, 0.2, True)
    assert option_set(argos) is argos and Options(**set_fields("argos")) == argos
    assert set(OPTION_SETS) == {"argos"}


def test_calls_take_a_name():
    translator = Translator(SHIPPED)
    expected = translator.translate(TEXT, options=option_set("argos"))
    assert translator.translate(TEXT, options="argos") == expected
    assert translator.translate([TEXT], options="argos") == [expected]
    assert translator.translate(TEXT, options="argos", beam_size=1, length_penalty=1) != expected
    assert translator.score(TEXT, "Hunde.", options="argos") == translator.score(TEXT, "Hunde.", length_penalty=0.2)


@pytest.mark.parametrize(("name", "error"), [("argo", ValueError), ("", ValueError), (3, TypeError), ({}, TypeError)])
def test_other_names(name, error):
    with pytest.raises(error, match="options is .*, expected .*cpunmt.Options, or keywords"):
        Translator(SHIPPED).translate(TEXT, options=name)


def test_pivots_take_a_name():
    pivot = Pivot([SHIPPED, GERMAN])
    expected = pivot.translate(TEXT, options=option_set("argos"))
    assert pivot.translate(TEXT, options="argos") == expected
    assert pivot.translate(TEXT, options=["argos", "argos"]) == expected


def test_the_command_line_takes_a_name(tmp_path, capfd):
    (tmp_path / "in").write_text(f"{TEXT}\n", "utf-8")
    command = ["translate", "-m", str(SHIPPED), "-i", str(tmp_path / "in")]
    translator = Translator(SHIPPED)
    assert cli.main([*command, "--options", "argos"]) == 0
    assert capfd.readouterr().out == translator.translate(TEXT, options="argos").text + "\n"
    assert cli.main([*command, "--options", "argos", "--n-best"]) == 0
    assert capfd.readouterr().out.count("\n") == 4
    with pytest.raises(SystemExit):
        cli.main([*command, "--options", "else"])
    assert "argos" in capfd.readouterr().err
