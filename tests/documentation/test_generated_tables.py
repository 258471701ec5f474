"""Tables and texts of the pages that are made from the code."""

import dataclasses

import cpunmt
from cpunmt.translation.choices.names import MARIAN_FLAGS
from docs.extensions.command_help import command_help
from docs.extensions.ctranslate2_names import NAMES, ctranslate2_names
from docs.extensions.options_table import ctranslate2_options, marian_flags, options_table


def test_every_option_has_a_row():
    heading, *rows = options_table()
    assert {len(row) for row in rows} == {len(heading)}
    assert [row[0] for row in rows] == [f"`{field.name}`" for field in dataclasses.fields(cpunmt.Options)]
    found = {row[0]: row[1:] for row in rows}
    assert found["`beam_size`"][:3] == ["`int`", "", "1 to 64"]
    assert found["`num_hypotheses`"][:3] == ["`int`", "`1`", "1 to 64"]
    assert found["`length_penalty`"][:3] == ["`float`", "`1`", "0 to 5"]
    assert found["`vocabulary`"][:3] == ["`str`", "", "`shortlist`, `full`"]
    assert "\\</s\\>" in found["`min_length`"][3]


def test_every_flag_has_a_row():
    assert [row[0] for row in marian_flags()[1:]] == [f"`{flag}`" for flag in MARIAN_FLAGS]
    assert ["`--no-shortlist`", "`vocabulary='full'`"] in marian_flags()
    assert ["`end_token`", "absent; accepted at `None`"] in ctranslate2_options()


def test_what_ctranslate2_has_is_asked_of_the_code():
    _, (same, first), *others, (absent, last) = ctranslate2_names()
    assert (first, last) == ("the same", "absent")
    assert "`Translator.translate_batch`" in same and "`contains_model`" in same
    assert "`Generator`" in absent and "`StorageView`" in absent
    assert sum(names.count("`") for names, _ in [(same, ""), *others, (absent, "")]) == 2 * len(NAMES)


def test_help_of_commands():
    assert command_help().startswith("usage: cpunmt [-h]") and "--beam-size" in command_help("translate")
    assert max(map(len, command_help("translate").splitlines())) <= 92
