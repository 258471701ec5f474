"""Options: what they accept, and that every refusal names the option."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.options import MARIAN_FLAGS, Options, make_options

FIELDS = {option.name: option for option in dataclasses.fields(Options)}
RANGES = {name: option for name, option in FIELDS.items() if option.metadata["low"] is not None}


def test_nothing_given_gives_the_defaults():
    assert make_options({}) == Options()
    assert {name: getattr(Options(), name) for name in FIELDS} == {
        "beam_size": 1,
        "vocabulary": None,
        "max_length_factor": None,
        "max_length": None,
        "max_batch_tokens": 65536,
    }


def test_every_option_is_documented_and_bounded():
    for name, option in FIELDS.items():
        rule = option.metadata
        assert rule["help"], name
        assert rule["choices"] or rule["low"] <= rule["high"], name


@pytest.mark.parametrize("name", RANGES)
def test_both_ends_of_a_range_are_in_it(name):
    for end in ("low", "high"):
        value = RANGES[name].metadata[end]
        assert getattr(make_options({name: value}), name) == value


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


def test_an_integer_option_takes_no_fraction_and_a_number_option_takes_an_integer():
    with pytest.raises(TypeError, match="^max_length is 2.0, expected an integer"):
        make_options({"max_length": 2.0})
    assert make_options({"max_length_factor": 2}).max_length_factor == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_length_without_bound(value):
    with pytest.raises(ValueError, match="^max_length_factor is "):
        make_options({"max_length_factor": value})


def test_numpy_numbers_are_numbers():
    options = make_options({"max_length": np.int64(7), "max_length_factor": np.float32(1.5)})
    assert (options.max_length, options.max_length_factor) == (7, 1.5)


@given(st.text().filter(lambda text: text not in ("shortlist", "full")))
def test_a_vocabulary_is_one_of_those_listed(text):
    with pytest.raises(ValueError, match=r"(?s)^vocabulary is .*, expected one of 'shortlist', 'full'$"):
        make_options({"vocabulary": text})


@given(st.text().filter(lambda text: text not in FIELDS))
def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(name):
    with pytest.raises(TypeError, match=r"(?s)^unknown option .*; expected one of: beam_size, vocabulary, "):
        make_options({name: 1})


def test_none_means_not_given_only_where_that_is_the_default():
    assert make_options({"max_length": None, "vocabulary": None}) == Options()
    with pytest.raises(TypeError, match="^beam_size is None"):
        make_options({"beam_size": None})


def test_options_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().beam_size = 2


def test_marian_flags_set_options_that_exist():
    for flag, (name, value) in MARIAN_FLAGS.items():
        assert flag.startswith("-") and name in FIELDS
        if value is not None:
            make_options({name: value})
