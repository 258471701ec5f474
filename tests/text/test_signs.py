"""Fast checks of characters against slow, plain definitions."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.text.signs import digit_runs, has_digits, has_no_codes, is_plain, without

TEXTS = st.text() | st.text("a 1\u0663\u00e9.,\U0001d7d9\ud800", max_size=8)


@given(TEXTS, st.sets(st.characters(max_codepoint=127)))
@settings(max_examples=500)
def test_some_characters_are_left_out(text, characters):
    assert without(text, "".join(characters).encode()) == "".join(c for c in text if c not in characters)


@given(TEXTS)
@settings(max_examples=500)
def test_digits_are_found(text):
    assert has_digits(text) == any(map(str.isdecimal, text))


@given(TEXTS, TEXTS)
@example("\u00e91", "e1")
@settings(max_examples=500)
def test_runs_of_digits_are_equal_where_their_texts_are(one, other):
    ones, others = (re.findall(r"\d+", text) for text in (one, other))
    assert (digit_runs(one) == digit_runs(other)) == (ones == others)
    assert [run if isinstance(run, str) else run.decode() for run in digit_runs(one)] == ones


@pytest.mark.parametrize(
    ("text", "plain", "no_codes"),
    [
        ("A man is riding a bicycle.", True, True),
        ("Two dogs, one cat", True, True),
        ("It costs 350 euros", True, True),
        ("He paid 1234", True, True),
        ("Call 030 1234567", True, False),
        ("Since 2024-05-01", True, False),
        ("The commit deadbee1", True, False),
        ("The commit dead1eef", True, False),
        ("A well--known man", True, False),
        ("The effaced name", True, True),  # hexadecimal digits, and no number
        ("Yes!", True, True),
        ("Yes.No", False, False),
        ("Yes,", False, False),
        ("A dog. ", False, False),
        ("It costs $5", False, False),
        ("\u00c4rger mit \u00d6l?", True, True),
        ("A", False, False),
        ("3 dogs", False, False),
    ],
)
def test_plain_texts_and_codes(text, plain, no_codes):
    assert (is_plain(text), has_no_codes(text)) == (plain, no_codes)
