"""A caller's number becomes Python's own, or is refused by name: no other type reaches the engine."""

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import CpunmtError, Glossary
from cpunmt.architectures.families import FAMILIES
from cpunmt.corpora.job import Filters, Job
from cpunmt.engine.engine import Engine
from cpunmt.model.config import ModelConfig
from cpunmt.options.end_tokens import EndTokens
from cpunmt.options.foreign_names import CTRANSLATE2_OFF
from cpunmt.options.option_field import kind
from cpunmt.options.options import CTRANSLATE2_NAMES, Options
from cpunmt.options.suppressed_sequences import Suppressed
from cpunmt.serve.settings import ServeSettings
from cpunmt.values.checks import choice, number, same, shown, switch, whole
from tests.support.command_line import sentences
from tests.support.option_values import COMPANIONS, FIELDS, INTEGERS, REALS, option_sets

NEVER = [None, "3", b"3", 3j, [3], np.array([3]), np.array(3), np.timedelta64(3, "s"), math.sqrt, object()]


class Unshowable:
    """An object without a text."""

    def __repr__(self):
        raise RuntimeError


@given(st.sampled_from(INTEGERS), st.integers(0, 127))
def test_an_integer_of_any_type_becomes_an_int(kind, value):
    found = whole("n", kind(value), 0, 127)
    assert type(found) is int and found == value


@given(st.sampled_from(INTEGERS + REALS), st.integers(0, 100))
def test_a_number_of_any_type_becomes_a_float(kind, value):
    found = number("n", kind(value), 0, 100)
    assert type(found) is float and found == value


@pytest.mark.parametrize("value", [*NEVER, True, np.True_])
def test_what_is_no_number_is_refused_by_name(value):
    for check in (whole, number):
        with pytest.raises(TypeError, match="^n is .*, expected an? "):
            check("n", value, 0, 10)


@pytest.mark.parametrize("value", [2.0, np.float32(2), Fraction(2), Decimal(2)])
def test_an_integer_is_no_fraction(value):
    with pytest.raises(TypeError, match="^n is .*, expected an integer"):
        whole("n", value, 0, 10)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "-1e400", "11", "-1"])
@pytest.mark.parametrize("kind", [float, Decimal, np.float16, np.longdouble])
def test_no_number_outside_its_range(kind, text):
    with pytest.raises(ValueError, match="^n is .*, expected 0 to 10"), np.errstate(over="ignore"):
        number("n", kind(text), 0, 10)


def test_a_number_that_no_float_holds_is_outside_the_range():
    for value in (Decimal("sNaN"), Fraction(10**400), 10**5000, -(10**5000)):
        with pytest.raises(ValueError, match="^n is .*, expected 0 to 10$"):
            number("n", value, 0, 10)


def test_an_integer_outside_its_range():
    for value in (np.int8(-1), np.uint64(2**64 - 1), 10**5000):
        with pytest.raises(ValueError, match="^n is .*, expected 0 to 10$"):
            whole("n", value, 0, 10)


def test_switches():
    for value in (True, False, np.True_, np.False_):
        assert switch("n", value) is bool(value)
    for value in [*NEVER, 0, 1, np.int8(1), Unshowable()]:
        with pytest.raises(TypeError, match="^n is .*, expected True or False$"):
            switch("n", value)


def test_choices():
    assert choice("n", np.str_("full"), ("shortlist", "full")) == "full"
    assert type(choice("n", np.str_("full"), ("shortlist", "full"))) is str
    with pytest.raises(ValueError, match="^n is 'x', expected 'a' or 'b'$"):
        choice("n", "x", ("a", "b"))
    with pytest.raises(ValueError, match="^n is 'x', expected one of 'a', 'b', 'c'$"):
        choice("n", "x", ("a", "b", "c"))
    for value in (np.array(["a"]), ["a"], 1, None, b"a"):
        with pytest.raises(TypeError, match="^n is .*, expected 'a' or 'b'$"):
            choice("n", value, ("a", "b"))


def test_the_same_whatever_the_type_of_number():
    assert same(np.int64(0), 0) and same([np.int8(0)], [0]) and same(Fraction(1), 1) and same(np.False_, False)
    assert same(None, None) and same(np.str_("cpu"), "cpu") and same(1.0, 1)
    wrong = [
        (True, 1),
        (0, False),
        (np.array([0, 0]), 0),
        ([0, 0], [0]),
        (0, None),
        ("1", 1),
        (1, "1"),
        (Decimal("sNaN"), 1),
    ]
    assert [pair for pair in wrong if same(*pair)] == []


def test_a_message_is_short_whatever_was_given():
    assert shown(10**5000) == "a value of type int" and "Unshowable" in shown(Unshowable())
    assert len(shown("x" * 1000)) == 100 and len(shown([["y" * 1000] * 1000] * 3)) <= 100 and shown("x") == "'x'"


# For any option, by any name, in any type

# others, at most of their values
CONTRADICTING = (*COMPANIONS, "max_length", "sampling_topk", "return_alternatives", "xml")


@given(option_sets([name for name in FIELDS if name not in CONTRADICTING]))
def test_options_hold_pythons_own_types(sets):
    plain, typed = sets
    made = Options(**typed)
    assert made == Options(**plain)
    for name, value in vars(made).items():
        expected = (
            (kind(FIELDS[name]), tuple, Suppressed, EndTokens, Glossary)
            if FIELDS[name].metadata["takes"]
            else (kind(FIELDS[name]),)
        )
        assert value is None or type(value) in expected, name


@given(option_sets(), st.sampled_from(INTEGERS))
@settings(max_examples=60)
def test_no_other_number_reaches_the_engine(student, sets, integer):
    """Its translations equal those with Python's own numbers."""
    plain, typed = sets
    texts, reached = sentences(3), []
    translate = Engine.translate

    def noting(engine, sources, limits, search, prefixes=None, slots=None):
        reached.append((sources, limits, tuple(search), prefixes or []))
        return translate(engine, sources, limits, search, prefixes, slots)

    def types(value):
        return set().union(*map(types, value)) if isinstance(value, list | tuple) else {type(value)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "translate", noting)
        try:
            made = student.translate(texts, **typed)
        except ValueError as error:  # two options that contradict each other
            with pytest.raises(ValueError) as other:
                student.translate(texts, **plain)
            assert str(other.value) == str(error)
            return
        student.score(texts, texts, max_input_length=integer(3))
    assert reached and types(reached) <= {int, float, bool}
    assert made == student.translate(texts, **plain)


@pytest.mark.parametrize(
    "options",
    [
        {"min_length": np.int16(100)},
        {"min_length": np.int8(127)},
        {"beam_size": 64, "num_hypotheses": np.uint8(64)},
        {"beam_size": np.int32(4)},
        {"max_length": np.uint16(100), "return_alignments": np.True_},
        {"length_penalty": Fraction(1, 2), "word_penalty": np.float16(0.5)},
        {"coverage_penalty": Decimal("0.2"), "beam_size": 2},
    ],
)
def test_sizes_are_not_computed_in_the_callers_type(student, options):
    """These overflowed their arrays, or ended in OverflowError or TypeError."""
    own = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
    own = {name: float(value) if isinstance(value, Fraction | Decimal) else value for name, value in own.items()}
    texts = ["One man."] * 40
    assert student.translate(texts, **options) == student.translate(texts, **own)


def test_threads_and_offsets_too(student):
    with pytest.raises(TypeError, match="^offset is 1.0, expected an integer$"):
        student.score_batch([["▁A"]], [["▁A"]], offset=1.0)
    assert student.score_batch([["▁A"]], [["▁A"]], offset=np.uint8(1)) == student.score_batch(
        [["▁A"]], [["▁A"]], offset=1
    )


# Anything at all


ANYTHING = st.one_of(
    st.sampled_from([0, 1, 2, 3, 5, 40]),
    st.sampled_from([0.0, 0.3, 1.0, 2.5, -1.0]),
    st.sampled_from([-1, 64, 65, 100, 127, 128, 255, 4096, 1 << 16, 1 << 24, 1 << 31, 1 << 63, -(1 << 63), 10**30]),
    st.floats(),
    st.integers(),
    st.booleans(),
)
TYPES = (*INTEGERS, *REALS, bool, np.bool_, str, np.str_, np.array, lambda value: [value], lambda value: value)


def typed(value, kind):
    """Returns `value` in another type, if that has it."""
    with np.errstate(all="ignore"):
        try:
            return kind(value)
        except (TypeError, ValueError, ArithmeticError):
            return value


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_options_give_translations_or_one_error_that_names_one(student, count):
    names = st.sampled_from([*FIELDS, *CTRANSLATE2_NAMES, *CTRANSLATE2_OFF, "use_vmap"])
    sets = st.dictionaries(names, st.builds(typed, ANYTHING, st.sampled_from(TYPES)), min_size=1, max_size=3)
    texts = ["One man.", "", "A dog runs."]

    @given(sets)
    @settings(max_examples=count, suppress_health_check=list(HealthCheck), database=None)
    def translate(options):
        try:
            results = student.translate(texts, **{"max_length": 12, **options})
        except (TypeError, ValueError, CpunmtError) as error:  # the last: a glossary's file
            named = {ours for name in options for ours in (name, CTRANSLATE2_NAMES.get(name, name))} | {"max_length"}
            assert any(name in str(error) for name in named) or "vocabulary" in str(error), error
            assert len(str(error)) < 500
        else:
            assert len(results) == 3 and all(result.hypotheses for result in results)

    translate()


def test_every_default_passes_its_own_check():
    """So a field with its default need not be checked."""
    settings_of = ServeSettings, Job, Filters
    for declared in (Options, ModelConfig, *settings_of, *(family.config for family in FAMILIES.values())):
        for field in dataclasses.fields(declared):
            if "check" in field.metadata and field.default not in (None, dataclasses.MISSING):
                value = field.metadata["check"](field.name, field.default)
                assert (type(value), value) == (type(field.default), field.default), field.name
