"""Tables and texts of the pages that are generated from the code."""

import dataclasses
import re

import pytest

import cpunmt
from cpunmt.commands.libretranslate_settings import NAMES as NAMES_OF_LIBRETRANSLATE
from cpunmt.options.foreign_names import ABSENT
from cpunmt.options.options import GROUPS, MARIAN_FLAGS
from docs.extensions.command_help import command_help
from docs.extensions.ctranslate2_names import ARGUMENTS, NAMES, OPTIONS, ctranslate2_names
from docs.extensions.libretranslate_names import libretranslate_names
from docs.extensions.options_table import ctranslate2_options, definitions, marian_flags
from tests.sample_models.real_model import ROOT


def test_every_option_has_a_definition_in_one_group_that_is_on_the_page():
    page = (ROOT / "docs" / "options.md").read_text("utf-8")
    shown = re.findall(r"^```\{options\} (\w+)$", page, re.M)
    names = [option.name for group in shown for option in definitions(group)]
    assert sorted(names) == sorted(field.name for field in dataclasses.fields(cpunmt.Options))
    assert set(shown) <= set(GROUPS)


def test_a_definition_has_type_range_default_text_and_calls():
    options = {option.name: option for group in GROUPS for option in definitions(group)}
    assert options["beam_size"][1:] == (
        "int; 1 to 64; default: [`num_hypotheses`](#option-num_hypotheses)",
        "Hypotheses kept at each step; 1 is greedy search.",
        "texts, pieces, server",
    )
    assert options["length_penalty"].facts == "float; 0 to 5; default: `1`"
    assert options["length_penalty"].text.startswith("Exponent a of the score")
    assert options["vocabulary"].facts.startswith("str; `shortlist`, `full`, `clusters`, `both`; default: shortlist if")
    assert options["split"].facts.startswith("str or function; `sentence`")
    assert options["suppress_sequences"].facts == "list of str or of lists of pieces"
    assert options["copy_numbers"].facts == 'bool; default: yes, but not with [`split="none"`](#option-split)'
    assert options["seed"].calls == "texts, pieces, tokens, server"
    assert options["vocabulary"].calls == "texts, pieces, tokens, scores" and options["html"].calls == "texts"
    assert "\\</s\\>" in options["min_length"].text


def test_every_flag_has_a_row():
    assert [row[0] for row in marian_flags()[1:]] == [f"`{flag}`" for flag in MARIAN_FLAGS]
    assert ["`--no-shortlist`", "`vocabulary='full'`"] in marian_flags()
    told = dict(ctranslate2_options())
    assert told["`return_logits_vocab`"] == "the same in `translate_batch`, elsewhere accepted at `False`"
    assert not [row for row in told.values() if "absent" in row]


def test_libretranslates_variables_have_rows():
    told = {row[0]: row[1:] for row in libretranslate_names()[1:]}
    assert len(told) == len(NAMES_OF_LIBRETRANSLATE) and told["`LT_PORT`"] == ["`--port`", ""]
    assert told["`LT_CHAR_LIMIT`"][0] == "`--max-text`, `--max-characters`" and told["`LT_DEBUG`"][0] == "no effect"


def test_what_ctranslate2_has_is_asked_of_the_code():
    _, *rows = ctranslate2_names()
    found = {name.strip("`"): kind for _, names, kind in rows for name in names.split(", ")}
    assert set(found) == {*NAMES, *ARGUMENTS, *OPTIONS}
    assert found["Translator.score_iterable"] == found["contains_model"] == found["end_token"] == "the same"
    assert found["callback"] == found["files"].partition(",")[0] == "the same"
    assert found["return_logits_vocab"] == "the same"
    assert found["set_random_seed"].startswith("refused: give the option seed to the call")


def test_nothing_of_it_is_absent():
    assert [row for row in ctranslate2_names() if "absent" in row[2]] == []
    assert set(ABSENT) <= set(NAMES)


@pytest.mark.parametrize("name", ABSENT)
def test_a_name_that_is_refused_says_what_to_do_instead(name):
    with pytest.raises(AttributeError) as refused:
        getattr(cpunmt, name)
    assert str(refused.value) == f"cpunmt has no {name}; {ABSENT[name]}" and not hasattr(cpunmt, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from 'cpunmt'"):
        exec(f"from cpunmt import {name}")
    with pytest.raises(AttributeError, match="^module 'cpunmt' has no attribute 'set_seed'$"):
        _ = cpunmt.set_seed


# Arguments with which each option of its `translate_batch` has an effect: see test_each_option_runs
GIVEN = {
    "max_batch_size": 1,
    "batch_type": "tokens",
    "asynchronous": True,
    "beam_size": 3,
    "patience": 2,
    "num_hypotheses": 2,
    "length_penalty": 0.5,
    "coverage_penalty": 0.2,
    "repetition_penalty": 3,
    "no_repeat_ngram_size": 2,
    "disable_unk": True,
    "suppress_sequences": [["▁Ein"]],
    "end_token": "▁Mann",
    "return_end_token": True,
    "prefix_bias_beta": 0.5,
    "max_input_length": 3,
    "max_decoding_length": 3,
    "min_decoding_length": 25,
    "use_vmap": False,
    "return_scores": True,
    "return_logits_vocab": True,
    "return_attention": True,
    "return_alternatives": True,
    "min_alternative_expansion_prob": (0.9, {"return_alternatives": True, "num_hypotheses": 3}),
    "sampling_topk": 0,
    "sampling_topp": (0.5, {"sampling_topk": 0}),
    "sampling_temperature": (2, {"sampling_topk": 0}),
    "replace_unknowns": True,
    "callback": lambda step: step.step == 1,
    "target_prefix": [["▁Zwei"]],
}
CHANGING = (  # results for a sentence that shows the effect
    *(
        "num_hypotheses",
        "suppress_sequences",
        "end_token",
        "return_end_token",
        "max_input_length",
        "repetition_penalty",
    ),
    *("max_decoding_length", "min_decoding_length", "return_scores", "return_attention", "callback", "target_prefix"),
    *(
        "min_alternative_expansion_prob",
        "sampling_topp",
        "sampling_temperature",
        "sampling_topk",
        "no_repeat_ngram_size",
    ),
)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "source"])
def test_each_option_runs(student, name):
    value, beside = GIVEN[name] if isinstance(GIVEN[name], tuple) else (GIVEN[name], {})
    source = [student.tokenize("A man and a woman and a man and a woman walk.")]
    made = student.translate_batch(source, **{name: value}, **beside)
    if name == "asynchronous":
        made = [one.result() for one in made]
    assert len(made) == 1 and made[0].hypotheses[0]
    assert name not in CHANGING or made != student.translate_batch(source, **beside)


def test_help_of_commands():
    assert command_help().startswith("usage: cpunmt COMMAND") and "--beam-size" in command_help("translate")
    assert max(map(len, command_help("translate").splitlines())) <= 92
