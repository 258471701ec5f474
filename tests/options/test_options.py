"""Options: accepted values, and refusals that name the option."""

import dataclasses
import re
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.options.contradictions import refuse_missing
from cpunmt.options.element_roles import element_roles
from cpunmt.options.foreign_names import CTRANSLATE2_OFF
from cpunmt.options.option_field import kind
from cpunmt.options.options import (
    CTRANSLATE2_NAMES,
    MARIAN_FLAGS,
    MEANT,
    SCORING,
    VOCABULARIES,
    Options,
    make_options,
    model_options,
)
from cpunmt.options.protect_option import KINDS, protected
from cpunmt.options.suppressed_sequences import suppressed, with_ids
from tests.sample_models.transformers import make_config
from tests.support.option_values import beside

FIELDS = {option.name: option for option in dataclasses.fields(Options)}
RANGES = {name: option for name, option in FIELDS.items() if option.metadata["low"] is not None}
SWITCHES = [name for name, option in FIELDS.items() if kind(option) is bool]


def test_nothing_given_gives_the_defaults():
    assert make_options({}) == Options()
    assert {name: getattr(Options(), name) for name in FIELDS} == {
        "split": "sentence",
        "html": False,
        "xml": False,
        "tags": None,
        "protect": None,
        "copy_numbers": None,
        "lower_capitals": None,
        "glossary": None,
        "retry": None,
        "source_lang": None,
        "target_lang": None,
        "beam_size": 1,
        "num_hypotheses": 1,
        "length_penalty": 1.0,
        "word_penalty": 0.0,
        "coverage_penalty": 0.0,
        "repetition_penalty": 1.0,
        "no_repeat_ngram_size": 0,
        "suppress_sequences": None,
        "end_token": None,
        "disable_unk": False,
        "sampling_topk": 1,
        "sampling_topp": 1.0,
        "sampling_temperature": 1.0,
        "seed": 0,
        "rerank": None,
        "num_candidates": None,
        "patience": None,
        "num_beam_groups": 1,
        "diversity_penalty": 0.0,
        "prefix_bias_beta": 0.0,
        "return_alternatives": False,
        "min_alternative_expansion_prob": 0.0,
        "vocabulary": None,
        "min_length": 0,
        "max_length_factor": None,
        "max_length_extra": 0,
        "max_length": None,
        "max_input_length": 0,
        "replace_unknowns": False,
        "return_scores": False,
        "return_end_token": False,
        "return_token_log_probs": False,
        "return_alignments": False,
        "max_batch_size": 0,
        "max_batch_tokens": 65536,
    }


def test_every_option_is_documented_and_bounded():
    for name, option in FIELDS.items():
        rule = option.metadata
        assert rule["help"], name
        assert rule["choices"] or rule["read"] or kind(option) is bool or rule["low"] <= rule["high"], name
        assert kind(option) in (int, float, str, bool), name


@pytest.mark.parametrize("name", RANGES)
def test_both_ends_of_a_range_are_in_it(name):
    for end in ("low", "high"):
        value = RANGES[name].metadata[end]
        assert getattr(make_options({name: value, **beside(name, value)}), name) == value


@pytest.mark.parametrize("name", RANGES)
def test_what_is_outside_a_range_is_refused_by_name(name):
    low, high = RANGES[name].metadata["low"], RANGES[name].metadata["high"]
    for value in (low - 1, high + 1, -(10**30), 10**30):
        with pytest.raises(ValueError, match=rf"^{name} is {value}, expected "):
            make_options({name: value})


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("value", ["1", True, [1], b"1", 1j])
def test_another_type_is_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"^{name} is "):
        make_options({name: value})


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", [1, 0, "yes", None, "hard"])
def test_a_switch_is_on_or_off(name, value):
    assert getattr(make_options({name: True}), name) is True
    assert getattr(make_options({name: False}), name) is False
    if value is None and FIELDS[name].default is None:
        assert getattr(make_options({name: None}), name) is None
        return
    with pytest.raises(TypeError, match=f"^{name} is .*, expected True or False$"):
        make_options({name: value})


def test_more_hypotheses_than_the_beam_has_are_refused_and_both_options_named():
    assert make_options({"num_hypotheses": 4, "beam_size": 4}).num_hypotheses == 4
    with pytest.raises(ValueError, match="^num_hypotheses is 3 and beam_size is 2, expected at most beam_size$"):
        make_options({"num_hypotheses": 3, "beam_size": 2})
    with pytest.raises(ValueError, match="^num_hypotheses is 3 and beam_size is 2, expected at most beam_size$"):
        Options(num_hypotheses=3, beam_size=2)


def test_more_hypotheses_alone_raise_the_beam():
    assert Options(num_hypotheses=3) == make_options({"num_hypotheses": 3}) == Options(num_hypotheses=3, beam_size=3)
    defaults = Options(beam_size=6)
    assert make_options({"num_hypotheses": 3}, defaults).beam_size == 6
    assert make_options({"num_hypotheses": 8, "beam_size": None}, defaults).beam_size == 8
    with pytest.raises(ValueError, match="^num_hypotheses is 65, expected 1 to 64$"):
        make_options({"num_hypotheses": 65})


def test_more_candidates_alone_raise_the_beam():
    assert Options(rerank="mbr-chrf", num_candidates=3).beam_size == 3
    assert make_options({"rerank": "mbr-bleu", "num_candidates": 8, "num_hypotheses": 2}, Options(beam_size=6)) == (
        Options(rerank="mbr-bleu", num_candidates=8, num_hypotheses=2, beam_size=8)
    )
    assert make_options({"rerank": "mbr-chrf", "num_candidates": 3}, Options(beam_size=6)).beam_size == 6
    assert Options(rerank="mbr-chrf", num_candidates=32, sampling_topk=0).beam_size == 1


@pytest.mark.parametrize(
    ("given", "candidates"),
    [
        ({"beam_size": 5}, 5),
        ({"beam_size": 5, "num_candidates": 3}, 3),
        ({"beam_size": 8, "patience": 0.5, "num_hypotheses": 2}, 4),
        ({"beam_size": 8, "patience": 2}, 8),
        ({"sampling_topk": 0}, 32),
        ({"sampling_topk": 0, "num_hypotheses": 40}, 40),
        ({"return_alternatives": True, "num_candidates": 9}, 9),
    ],
)
def test_how_many_are_reranked(given, candidates):
    options = Options(rerank="mbr-chrf", **given)
    assert options.candidates == candidates and options.num_hypotheses == given.get("num_hypotheses", 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "rerank is 'mbr-chrf', but there is one translation to choose from; expected num_candidates of 2 or more"),
        (
            {"num_candidates": 4, "num_hypotheses": 5},
            "num_hypotheses is 5 and num_candidates is 4, expected at most num_candidates",
        ),
        ({"num_candidates": 4, "beam_size": 3}, "num_candidates is 4 and beam_size is 3, expected at most beam_size"),
        (
            {"num_candidates": 4, "beam_size": 4, "patience": 0.5},
            "num_candidates is 4, beam_size 4 and patience 0.5, expected at most beam_size times patience",
        ),
        (
            {"num_candidates": 4, "beam_size": 4, "sampling_topk": 0},
            "beam_size is 4 and sampling_topk is 0, expected 1: each of the num_candidates translations is searched by "
            "itself",
        ),
        ({"num_candidates": 4, "rerank": None}, "num_candidates is 4 and rerank is None; expected rerank='mbr-chrf'"),
        ({"rerank": "mbr-chfr"}, "rerank is 'mbr-chfr', expected 'mbr-chrf' or 'mbr-bleu' (did you mean mbr-chrf?)"),
    ],
)
def test_what_cannot_be_reranked_is_refused(given, message):
    with pytest.raises(ValueError) as caught:
        make_options({"rerank": "mbr-chrf", **given})
    assert str(caught.value) == message


def test_a_least_length_above_the_largest_is_refused_and_both_options_named():
    assert make_options({"min_length": 4, "max_length": 4}).min_length == 4
    with pytest.raises(ValueError, match="^min_length is 5 and max_length is 4, expected at most max_length$"):
        make_options({"min_length": 5, "max_length": 4})


def test_an_array_is_a_list_of_kinds_or_refused_by_name():
    assert make_options({"protect": np.array(["url", "email"])}) == make_options({"protect": ["email", "url"]})
    with pytest.raises(TypeError, match=r"^protect is array\(0\), expected "):
        make_options({"protect": np.array(0)})


def test_an_integer_option_takes_no_fraction_and_a_number_option_takes_an_integer():
    with pytest.raises(TypeError, match="^max_length is 2.0, expected an integer"):
        make_options({"max_length": 2.0})
    assert make_options({"max_length_factor": 2}).max_length_factor == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", [name for name, option in RANGES.items() if kind(option) is float])
def test_no_number_without_bound(name, value):
    with pytest.raises(ValueError, match=f"^{name} is "):
        make_options({name: value})


def test_numpy_numbers_are_numbers():
    options = make_options({"max_length": np.int64(7), "max_length_factor": np.float32(1.5)})
    assert (options.max_length, options.max_length_factor) == (7, 1.5)


@given(st.text().filter(lambda text: text not in VOCABULARIES))
def test_a_vocabulary_is_one_of_those_listed(text):
    meant = r"( \(did you mean .*\?\))?"
    listed = ", ".join(map(repr, VOCABULARIES))
    with pytest.raises(ValueError, match=rf"(?s)^vocabulary is .*, expected one of {listed}{meant}$"):
        make_options({"vocabulary": text})


@given(st.text().filter(lambda text: text not in {*FIELDS, *CTRANSLATE2_NAMES, *CTRANSLATE2_OFF, "batch_type"}))
def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(name):
    with pytest.raises(TypeError, match=r"(?s)^unknown option .*; expected one of: split, html, xml, tags, protect, "):
        make_options({name: 1})


@pytest.mark.parametrize(
    ("name", "meant"),
    [("bem_size", "beam_size"), ("max_decoding_lenght", "max_decoding_length"), ("alignments", "return_alignments")],
)
def test_a_name_that_is_nearly_right_is_told(name, meant):
    with pytest.raises(
        TypeError, match=f"^unknown option '{name}' \\(did you mean {meant}\\?\\); see docs/options.md$"
    ):
        make_options({name: 1})
    with pytest.raises(TypeError, match="^unknown option 'xyzzy'; expected one of: "):
        make_options({"xyzzy": 1})


@pytest.mark.parametrize(("theirs", "ours"), MEANT.items())
def test_a_name_of_another_engine_is_told_what_it_is_here(theirs, ours):
    if ours in FIELDS:
        with pytest.raises(
            TypeError, match=f"^unknown option '{theirs}' \\(did you mean {ours}\\?\\); see docs/options.md$"
        ):
            make_options({theirs: 1})
    with pytest.raises(TypeError, match=f"^unknown option '{theirs}'(?! .did you mean {ours})"):
        make_options({theirs: 1}, Options(), ("max_batch_tokens",))  # nor where this option does not exist


def test_none_means_not_given_only_where_that_is_the_default():
    assert make_options({"max_length": None, "vocabulary": None}) == Options()
    with pytest.raises(TypeError, match="^min_length is None"):
        make_options({"min_length": None})


def test_options_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().beam_size = 2


def test_marian_flags_set_options_that_exist():
    for flag, (name, value) in MARIAN_FLAGS.items():
        assert flag.startswith("-") and name in FIELDS
        if value is not None:
            make_options({name: value})


# Precedence: the call, the model, the defaults


def test_what_is_not_given_is_as_in_the_defaults_that_are_given():
    defaults = Options(beam_size=4, max_length=7, vocabulary="full")
    assert make_options({}, defaults) is defaults
    assert make_options({"word_penalty": 1}, defaults) == dataclasses.replace(defaults, word_penalty=1)
    assert make_options({"beam_size": 2, "max_length": None}, defaults) == dataclasses.replace(defaults, beam_size=2)
    assert make_options({"num_hypotheses": 4}, defaults).num_hypotheses == 4  # the model's beam is wide enough
    with pytest.raises(ValueError, match="^num_hypotheses is 4 and beam_size is 1"):
        make_options({"num_hypotheses": 4, "beam_size": 1}, defaults)


def test_a_models_config_has_defaults_of_its_own():
    assert model_options(make_config(max_length_factor=1.5)) == Options(max_length_factor=1.5)

    class Said:
        beam_size, length_penalty, vocabulary, heads = 6, 0.5, None, 8

    assert model_options(Said) == Options(beam_size=6, length_penalty=0.5)


# CTranslate2's names


def test_its_names_of_our_options():
    given = {"max_decoding_length": 9, "min_decoding_length": 2, "return_attention": True, "use_vmap": True}
    assert make_options(given) == Options(max_length=9, min_length=2, return_alignments=True, vocabulary="shortlist")
    assert make_options({"use_vmap": False}) == Options(vocabulary="full")
    assert set(CTRANSLATE2_NAMES.values()) <= set(FIELDS)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_batch_size": 32, "batch_type": "tokens"}, {"max_batch_tokens": 32}),
        ({"max_batch_size": 32, "batch_type": "examples"}, {"max_batch_size": 32}),
        ({"max_batch_size": 0, "batch_type": "tokens"}, {}),
        ({"max_batch_size": 0}, {}),
        ({"batch_type": "tokens"}, {}),
    ],
)
def test_its_way_to_limit_batches(given, expected):
    assert make_options(given) == Options(**expected)


def test_its_options_that_we_do_not_have_are_accepted_when_they_are_off():
    assert make_options({name: off for name, (off, _) in CTRANSLATE2_OFF.items()}) == Options()
    assert make_options({"end_token": None, "disable_unk": False}) == Options()


@pytest.mark.parametrize("name", CTRANSLATE2_OFF)
def test_they_are_refused_by_name_when_they_are_not(name):
    with pytest.raises(
        ValueError, match=f"^{name} is 7, which is not supported here; expected .*, which turns it off \\(.+\\)$"
    ):
        make_options({name: 7})


def test_one_option_under_two_names_is_refused():
    for names in (("max_length", "max_decoding_length"), ("max_decoding_length", "max_length")):
        with pytest.raises(TypeError, match="^max_length is given twice"):
            make_options(dict.fromkeys(names, 5))


def test_a_wrong_batch_type_is_refused():
    with pytest.raises(ValueError, match="^batch_type is 'words', expected 'examples' or 'tokens'$"):
        make_options({"batch_type": "words"})


def test_scoring_takes_what_concerns_a_given_translation():
    assert set(SCORING) < set(FIELDS)
    given = {"use_vmap": True, "max_batch_size": 5, "batch_type": "tokens", "return_logits_vocab": False}
    assert make_options(given, Options(), SCORING) == Options(vocabulary="shortlist", max_batch_tokens=5)
    with pytest.raises(
        TypeError, match="^unknown option 'beam_size'; expected one of: source_lang, target_lang, length_p"
    ):
        make_options({"beam_size": 4}, Options(), SCORING)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_beam_groups": 2, "beam_size": 3, "diversity_penalty": 1.0}, "2 and beam_size is 3, expected a divisor"),
        ({"num_beam_groups": 2, "beam_size": 4}, "2 and diversity_penalty is 0, expected more"),
        ({"num_beam_groups": 2, "sampling_topk": 0}, "2 and sampling_topk is 0, expected 1"),
        ({"num_beam_groups": 2, "return_alternatives": True}, "2 and return_alternatives is True, expected 1"),
        ({"sampling_topk": 0, "patience": 2}, "^patience is 2.0, expected 1: samples"),
        ({"sampling_topk": 0, "beam_size": 2}, "^beam_size is 2 and sampling_topk is 0, expected 1"),
        ({"num_hypotheses": 2, "patience": 0.1}, "^num_hypotheses is 2, beam_size 2 and patience 0.1, expected at"),
        ({"rerank": "mbr-bleu", "beam_size": 2, "patience": 0.1}, "there is one translation to choose from"),
        ({"tags": "p=keep"}, "^tags is given, and neither html nor xml is True"),
        ({"html": True, "xml": True}, "^html is True and xml is True"),
        ({"batch_type": "tokens", "max_batch_size": (1 << 24) + 1}, "^max_batch_size is 16777217, expected 0 to"),
    ],
)
def test_contradictions(given, message):
    with pytest.raises(ValueError, match=message):
        make_options(given)


@pytest.mark.parametrize(
    "given",
    [
        {"num_beam_groups": 2, "beam_size": 4, "diversity_penalty": 1.0},
        {"sampling_topk": 0, "patience": 1},
        {"rerank": "mbr-chrf", "num_candidates": 4, "num_hypotheses": 4},
        {"html": True, "tags": "p=keep"},
        {"batch_type": "tokens", "max_batch_size": 1 << 24},
    ],
)
def test_combinations_that_are_allowed(given):
    assert isinstance(make_options(given), Options)


def test_kinds_of_values():
    kinds = {"split": str, "vocabulary": str, "tags": str, "html": bool, "beam_size": int, "patience": float}
    assert {name: kind(FIELDS[name]) for name in kinds} == kinds


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ("shortlist", "m has no shortlist; expected 'full'$"),
        ("both", "m has no shortlist; expected 'full'$"),
        ("clusters", "m has no clusters; expected 'full', or: python -m quantize clusters m --text FILE$"),
    ],
)
def test_vocabularies_that_a_model_lacks(vocabulary, message):
    with pytest.raises(ValueError, match=f"^vocabulary is '{vocabulary}', but {message}"):
        refuse_missing(vocabulary, types.SimpleNamespace(shortlist=None, clusters=None), "m")


PATTERN, BYTES = re.compile("x"), re.compile(b"x")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("url, code", ("code", "url")),
        (["url"] * 1000, ("url",)),
        (["none"], "none"),
        ([], "none"),
        (["all"], "all"),
        (list(KINDS), "all"),
        (PATTERN, (PATTERN,)),
        (len, (len,)),
        ([len, "url", PATTERN, len], ("url", len, PATTERN)),
        (["all", len], (*KINDS, len)),
        (["url"] * 1001, "protect has more than 1000 items; give at most 1000"),
        (["none", "url"], "protect has 'none' and something else beside it; expected one of them"),
        (["none", len], "protect has 'none' and something else beside it; expected one of them"),
        ("emial", r"protect is 'emial', expected .* \(did you mean email\?\)"),
        (BYTES, "protect has .*, a regular expression of bytes; expected one of text"),
        ([7], "protect has 7, expected 'all'"),
        (7, "protect is 7, expected 'all'"),
        ({"url": 1}, "protect is .*, expected 'all'"),
    ],
)
def test_kinds_of_protected_parts(value, expected):
    if isinstance(expected, tuple) or expected in ("all", "none"):
        assert protected(value) == expected
        return
    with pytest.raises((TypeError, ValueError), match=f"^{expected}"):
        protected(value)


def test_an_endless_list_of_kinds_is_not_read_to_its_end():
    items = iter(["url"] * 2000)
    with pytest.raises(ValueError, match="more than 1000"):
        protected(items)
    assert len(list(items)) == 999


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("p=keep, a=inline", (("a", "inline"), ("p", "keep"))),
        ({"x": "split"}, (("x", "split"),)),
        ([["x", "split"]], (("x", "split"),)),
        ({f"x{number}": "keep" for number in range(1000)}, None),
        ({f"x{number}": "keep" for number in range(1001)}, "tags has 1001 names; give at most 1000"),
        ({"x" * 200: "keep"}, None),
        ({"x" * 201: "keep"}, "tags has 'xxx.*, expected the name of an element"),
        ({"": "keep"}, "tags has '', expected the name of an element"),
        ({7: "keep"}, "tags has 7, expected the name of an element"),
        ("p=keep=split", r"tags has \['p', 'keep=split'\], expected a name and keep, split or inline: x=keep"),
        ("p=stay", r"tags has \['p', 'stay'\], expected a name and"),
        ("p", r"tags has \['p'\], expected a name and"),
        ([["p", "keep", "keep"]], r"tags has \['p', 'keep', 'keep'\], expected a name and"),
        (["p=keep"], "tags is .*, expected a mapping of names"),
        (7, "tags is 7, expected a mapping of names"),
    ],
)
def test_roles_of_elements(value, expected):
    if isinstance(expected, str):
        with pytest.raises((TypeError, ValueError), match=f"^{expected}"):
            element_roles(value)
    else:
        assert element_roles(value) == (expected or tuple(sorted(value.items())))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["a"] * 10_000, None),
        (["a"] * 10_001, "has more than 10000 sequences; give at most 10000"),
        ([["a"] * 100, "a" * 101], None),
        ([["a"] * 101], "0 has more than 100 pieces; give at most 100"),
        (["a", []], "1 is empty, expected text or pieces"),
        ("a, ,b", "1 is empty, expected text or pieces"),
    ],
)
def test_suppressed_sequences(value, message):
    if message is None:
        assert suppressed(value) == tuple(tuple(item) if isinstance(item, list) else item for item in value)
        return
    with pytest.raises(ValueError, match=f"^suppress_sequences {message}"):
        suppressed(value)


def test_ids_of_suppressed_sequences(student):
    vocabulary = student.target_vocabulary
    ein, hund = vocabulary.ids(["▁Ein", "▁Hund"])
    found = with_ids(["Ein Hund", ["▁Hund"], ["▁Hund"] * 100], vocabulary, False)
    assert found.ids == ((ein, hund), (hund,), (hund,) * 100)
    assert with_ids(None, vocabulary, True).ids == ((vocabulary.unk_id,),)
    for items, message in (
        ([["▁Ein", "n0nsense"]], "0 has 'n0nsense', which the target vocabulary has no piece for"),
        (["Hund", "走"], "1 has '走', which the target vocabulary has no piece for"),
        ([["▁Ein", "</s>"]], "0 has </s>, with which every translation ends"),
        (["Hund " * 101], "0 has 101 pieces, expected at most 100"),
    ):
        with pytest.raises(ValueError, match=f"^suppress_sequences {message}"):
            with_ids(items, vocabulary, False)
    assert with_ids(["Hund " * 100], vocabulary, False).ids == ((hund,) * 100,)
