"""Loops: exactly what the definition says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.text.vocabulary import Vocabulary
from cpunmt.translation.repetition import (
    LEAST_DIFFERENT,
    LEAST_PIECES,
    LEAST_TIMES,
    LONGEST_GROUP,
    STRETCH,
    repeats,
)
from tests.sample_models.real_model import SHIPPED
from tests.support.command_line import sentences

# What models wrote that were lost: each turn is a little different from the one before.
TURNS = [
    "▁als ▁die ▁Öff nung en , ▁die ▁{} ▁Öff nung ▁der ▁Öff nung en",
    "▁in ▁der ▁Nähe ▁von ▁{} ▁und ▁in ▁der ▁Nähe ▁der",
    "▁um ▁die ▁Ti {} ▁zu ▁be enden ,",
]


def repeats_reference(pieces) -> bool:
    """The definition of `repeats`, word by word."""
    for begin in range(len(pieces) - STRETCH):
        part = pieces[begin : begin + STRETCH + 1]
        if len({(part[i], part[i + 1]) for i in range(STRETCH)}) < LEAST_DIFFERENT:
            return True
    for size in range(1, LONGEST_GROUP + 1):
        for begin in range(len(pieces)):
            times = max(LEAST_TIMES, -(-LEAST_PIECES // size))
            group = pieces[begin : begin + size]
            if len(group) == size and pieces[begin : begin + times * size] == group * times:
                return True
    return False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("aaaaaaa", False),  # seven of one
        ("aaaaaaaa", True),
        ("xyaaaaaaaaz", True),
        ("aaaabaaaa", False),
        ("abababa", False),
        ("abababab", True),
        ("abcabcabcab", False),  # four times is twelve
        ("abcabcabcabc", True),
        ("xabcabcabcabcd", True),
        ("abcdefgh" * 3, False),
        ("abcdefgh" * 4, True),
        ("abcdefgh" * 3 + "abcdefg", False),
        ("abcdefghi" * 9, False),  # nine are too long a group,
        ("abcdefghi" * 12, True),  # but not for a hundred pairs
        ("Ein Mann fährt Fahrrad.", False),
    ],
)
def test_examples(text, expected):
    assert repeats(tuple(text)) is expected
    assert repeats_reference(tuple(text)) is expected


@given(st.lists(st.sampled_from("ab"), max_size=40).map(tuple))
def test_it_equals_its_reference(pieces):
    assert repeats(pieces) is repeats_reference(pieces)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=10), st.integers(1, 9), st.text("abc", max_size=5))
def test_it_equals_its_reference_where_loops_are(group, times, around):
    pieces = (*around, *group * times, *around)
    assert repeats(pieces) is repeats_reference(pieces)


@pytest.mark.parametrize("turn", TURNS)
def test_a_loop_that_changes_each_time(turn):
    pieces = " ".join(turn.format(f"word{i}") for i in range(20)).split(" ")
    assert repeats(tuple(pieces)) and repeats_reference(pieces)
    natural = [f"new{i}" for i in range(1000)]
    assert repeats([*natural, *pieces, *natural])
    assert not repeats([*natural, *pieces[:40], *natural])


@given(st.lists(st.integers(0, 9) | st.integers(0, 60), min_size=95, max_size=220))
def test_it_equals_its_reference_on_long_texts(pieces):
    assert repeats(pieces) is repeats_reference(pieces)


@given(st.integers(45, 55), st.integers(0, 3))
def test_it_equals_its_reference_at_its_limit(different, around):
    """Of 100 pairs `different` ones: nine or more pieces apart, so that no short group repeats itself."""
    pieces = [*(f"x{i}" for i in range(around)), *(list(range(different)) * 3)[: STRETCH + 1]]
    assert repeats(pieces) is repeats_reference(pieces) is (different < LEAST_DIFFERENT)


def test_natural_text_is_no_loop():
    """Sentences, and twenty of them as one text: captions, which are much alike."""
    vocabulary = Vocabulary(SHIPPED / "vocabulary.spm")
    lines = sentences(2000)
    texts = lines + [" ".join(lines[i : i + 20]) for i in range(0, len(lines), 20)]
    assert [text for text in texts if repeats(vocabulary.surfaces(text))] == []


def test_a_very_long_text_takes_time_in_proportion():
    """A million pieces in seconds: with a product of the stretch and the length it would be minutes."""
    assert not repeats([i * i % 5003 * (i % 7 + 1) for i in range(1_000_000)])
