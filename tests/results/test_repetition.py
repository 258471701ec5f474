"""Loop detection equals its definition."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.results.repetition import LEAST_PIECES, LEAST_TIMES, LONG_TIMES, LONGEST_GROUP, STRETCHES, repeats
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.real_model import SHIPPED
from tests.support.command_line import sentences

# Output of failing models: each turn differs a little from the one before.
TURNS = [
    "▁als ▁die ▁Öff nung en , ▁die ▁{} ▁Öff nung ▁der ▁Öff nung en",
    "▁in ▁der ▁Nähe ▁von ▁{} ▁und ▁in ▁der ▁Nähe ▁der",
    "▁um ▁die ▁Ti {} ▁zu ▁be enden ,",
]


def repeats_reference(pieces) -> bool:
    """Implements the definition of `repeats` directly."""
    pairs = list(pairwise(pieces))
    for stretch in STRETCHES:
        for begin in range(len(pairs) - stretch.pairs + 1):
            counts = Counter(pairs[begin : begin + stretch.pairs])
            if len(counts) < stretch.different or max(counts.values()) >= stretch.alike:
                return True
    for size in range(1, len(pieces) + 1):
        times = max(LEAST_TIMES, -(-LEAST_PIECES // size)) if size <= LONGEST_GROUP else LONG_TIMES
        for begin in range(len(pieces) - times * size + 1):
            if pieces[begin : begin + times * size] == pieces[begin : begin + size] * times:
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
        ("abcdefghi" * 2 + "abcdefgh", False),
        ("abcdefghi" * 3, True),  # nine are a long group
        ("xyz" + "abcdefghijklmnopqrst" * 3, True),
        ("abcdefghijklmnopqrst" * 2 + "abcdefghij", False),
        ("very very very, very good. ", False),
        ("Ein Mann fährt Fahrrad.", False),
    ],
)
def test_examples(text, expected):
    assert repeats(tuple(text)) is expected
    assert repeats_reference(tuple(text)) is expected


@given(st.lists(st.sampled_from("ab"), max_size=40).map(tuple))
def test_it_equals_its_reference(pieces):
    assert repeats(pieces) is repeats_reference(pieces)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), st.integers(1, 9), st.text("abc", max_size=5))
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


@pytest.mark.parametrize("stretch", STRETCHES)
@given(st.integers(-3, 3), st.integers(0, 3))
@settings(max_examples=30)
def test_it_equals_its_reference_at_its_limits(stretch, more, around):
    """Draws numbers of distinct pairs, or of one pair, near the limits for a loop."""
    group = list(range(stretch.different + more))
    pieces = [*(f"x{i}" for i in range(around)), *(group * 3)[: stretch.pairs + 1]]
    assert repeats(pieces) is repeats_reference(pieces) is (more < 0)
    often = [f"x{i}" for i in range(stretch.pairs + 1 + around)]
    for turn in range(stretch.alike + more):
        place = turn * (stretch.pairs // (stretch.alike + 3))
        often[place : place + 2] = ["in", "der"]
    assert repeats(often) is repeats_reference(often) is (more >= 0)


@pytest.mark.parametrize("stretch", STRETCHES)
@pytest.mark.parametrize("more", [0, 1])
def test_a_pair_that_leaves_a_stretch_where_it_stands_again(stretch, more):
    """A pair that recurs at twice the length of a stretch is counted once."""
    words = [f"x{i}" for i in range(stretch.pairs + 5)]
    step = stretch.pairs // stretch.alike
    for place in [*(turn * step for turn in range(stretch.alike - 1 + more)), stretch.pairs]:
        words[place : place + 2] = ["in", "der"]
    assert repeats(words) is repeats_reference(words) is bool(more)


@given(st.integers(9, 60), st.integers(1, 4), st.integers(0, 59), st.integers(0, 20))
def test_long_groups(size, times, more, around):
    """Three repetitions of distinct pieces count, two and a part do not, unless few pairs are distinct."""
    group = [f"a{i}" for i in range(size)]
    pieces = [*(f"x{i}" for i in range(around)), *group * times, *group[: more % size], "y"]
    assert repeats(pieces) is repeats_reference(pieces)
    assert repeats(pieces) is (times >= LONG_TIMES) or size < STRETCHES[1].different


def turns_of(kind, phrases, new):
    """Yields the turns of a loop."""
    first, second, third = phrases
    for turn in range(1000):
        if kind == "number":
            yield [*first, str(turn)]
        elif kind == "growing":
            yield [*first, *(new[i] for i in range(turn % 20))]
        elif kind == "changed":
            yield [new[turn] if i == turn % len(first) else word for i, word in enumerate(first)]
        elif kind == "list":
            yield ["und", "die", new[turn]]
        elif kind == "three":
            yield (first, third, second, second, first)[turn % 5][:6]
        else:
            yield first


@pytest.mark.parametrize("kind", ["exact", "number", "growing", "changed", "list", "three"])
@pytest.mark.parametrize("length", [6, 12])
@pytest.mark.parametrize("words", [100, 260, 1000])
def test_loops_of_many_kinds(kind, length, words):
    """100 words or more, at the beginning or after a normal one, also in a script without spaces."""
    vocabulary = Vocabulary(SHIPPED / "vocabulary.spm")
    text = [word for line in sentences(600) for word in line.split()]
    new = [word for word in dict.fromkeys(text) if len(word) > 3]
    phrases = [text[i * 40 + 3 : i * 40 + 3 + length] for i in range(3)]
    turns = turns_of(kind, phrases, new * 2)
    loop = [word for _, turn in zip(range(words), turns, strict=False) for word in turn][:words]
    assert repeats(vocabulary.surfaces(" ".join(loop)))
    assert repeats(vocabulary.surfaces(" ".join(text[200:220] + loop)))
    if kind == "exact":
        characters = "我们今天去公园看见一只狗它很高兴因为天气好"[: length * 2]
        assert repeats(list("我看见" + characters * (words // length)))


def test_natural_text_is_no_loop():
    """Tests captions, which are similar to each other, one by one and twenty as one text."""
    vocabulary = Vocabulary(SHIPPED / "vocabulary.spm")
    lines = sentences(2000)
    texts = lines + [" ".join(lines[i : i + 20]) for i in range(0, len(lines), 20)]
    assert [text for text in texts if repeats(vocabulary.surfaces(text))] == []


@pytest.mark.slow
def test_a_very_long_text_takes_time_in_proportion():
    """Half a million pieces take seconds; quadratic time would be minutes."""
    random = Random(1)
    assert not repeats([random.randrange(40_000) for _ in range(500_000)])
    assert repeats([*range(200_000)] * 3) and not repeats([*range(200_000)] * 2)
