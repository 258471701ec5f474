"""Characters that matter, by what is slow and plain."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.text.signs import digit_runs, has_digits, without

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
@settings(max_examples=500)
def test_runs_of_digits_are_equal_where_their_texts_are(one, other):
    ones, others = (re.findall(r"\d+", text) for text in (one, other))
    assert (digit_runs(one) == digit_runs(other)) == (ones == others)
    assert [run if isinstance(run, str) else run.decode() for run in digit_runs(one)] == ones
