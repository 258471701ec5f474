"""Cuts of long sentences: complete, within the limit, and at the best place."""

import itertools
import math

from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.decoding.splitting import joined, split_pieces

PIECES = st.lists(st.sampled_from(["▁a", "b", ".", ",", "▁", "。", "▁(", "...", "▁x!"]), max_size=80)


def words(text: str) -> list[str]:
    """Returns a piece for each word, and for each mark behind a word."""
    return [piece for word in text.split() for piece in _with_mark(word)]


def _with_mark(word):
    return ["▁" + word[:-1], word[-1]] if word[-1] in ".,!?" else ["▁" + word]


def parts(pieces, limit):
    cuts = [0, *split_pieces(pieces, limit, "▁"), len(pieces)]
    return [pieces[begin:end] for begin, end in itertools.pairwise(cuts)]


@given(PIECES, st.integers(1, 30))
def test_nothing_is_lost_and_no_part_is_too_long_or_empty(pieces, limit):
    made = parts(pieces, limit)
    assert list(itertools.chain(*made)) == pieces
    assert all(len(part) <= limit for part in made)
    assert all(made) or not pieces


@given(PIECES, st.integers(1, 30))
def test_what_fits_is_not_cut(pieces, limit):
    assert (split_pieces(pieces, limit, "▁") == []) == (len(pieces) <= limit)


def test_words_without_marks_are_cut_between_subwords_only_for_want_of_another_place():
    assert split_pieces(["a", "b@@", "c", "d@@", "e@@"], 4, "") == [3]
    assert split_pieces(["a", "b", "c", "d", "e"], 4, "") == [3]
    assert split_pieces(["b@@", "b", "c", "d@@", "e", "f"], 4, "") == [3]
    assert split_pieces(["b@@", "b", "c@@", "d", "e", "f"], 4, "") == [2]
    assert split_pieces(["▁b@@", "▁b", "▁c@@", "▁d", "▁e", "▁f"], 4, "▁") == [3]


@given(PIECES, st.integers(2, 30))
def test_all_parts_but_the_last_are_at_least_half_full(pieces, limit):
    assert all(len(part) >= (limit + 1) // 2 for part in parts(pieces, limit)[:-1])


def best_cut(pieces, begin, limit):
    """Returns the end of the part that begins at `begin`: the definition of `split_pieces`, case by case."""
    room = range(begin + (limit + 1) // 2, begin + limit + 1)
    words = [place for place in room if pieces[place].startswith("▁") or pieces[place - 1].endswith("。")]
    for marks in (".!?。", ","):
        ends = [place for place in words if pieces[place - 1][-1] in marks]
        if ends:
            return ends[-1]
    remaining = len(pieces) - begin
    parts = math.ceil(remaining / limit)
    even = begin + math.ceil(remaining / parts)
    return min(words or room, key=lambda place: (abs(place - even), place))


CLAUSES = st.lists(st.sampled_from(["▁a", "b", ",", "▁"]), min_size=13, max_size=40)  # without the end of a sentence


@given(PIECES | CLAUSES, st.integers(1, 30))
@example(["▁a", ","] * 6 + ["▁a"], 12)  # the last clause, not the one in the middle
def test_each_part_ends_at_its_best_place(pieces, limit):
    expected, begin = [], 0
    while len(pieces) - begin > limit:
        begin = best_cut(pieces, begin, limit)
        expected.append(begin)
    assert split_pieces(pieces, limit, "▁") == expected


def test_a_sentence_end_is_preferred_to_a_clause_and_a_clause_to_a_word():
    text = words("one two three four, five six seven. eight nine ten")
    assert len(text) == 12
    assert parts(text, 10)[0][-1] == "."
    assert parts(text, 8)[0][-1] == ","
    assert parts(text, 7)[0][-1] == ","
    assert parts(words("one two three four five six"), 4) == [words("one two three"), words("four five six")]


def test_the_latest_of_equal_sentence_ends_is_taken():
    text = words("a b c. d e f. g h i. j k l m n")
    assert [len(part) for part in parts(text, 13)] == [12, 5]


def test_a_point_inside_a_word_is_no_sentence_end():
    pieces = ["▁3", ".", "5", "▁a", "▁b", "▁c"]
    assert parts(pieces, 4) == [["▁3", ".", "5"], ["▁a", "▁b", "▁c"]]


def test_a_word_is_cut_only_where_there_is_no_other_place_and_then_evenly():
    assert [len(part) for part in parts(["▁a"] + ["b"] * 129, 127)] == [65, 65]
    assert [len(part) for part in parts(["▁a"] + ["b"] * 10, 4)] == [4, 4, 3]
    pieces = ["▁a", "b", "b", "▁c", "d", "d", "d"]
    assert parts(pieces, 5) == [pieces[:3], pieces[3:]]


def test_between_words_parts_are_even_too():
    assert [len(part) for part in parts(["▁a"] * 130, 127)] == [65, 65]


def test_scripts_without_spaces_are_cut_after_their_marks():
    pieces = ["▁", "我们", "走", "。", "你们", "来", "吗"]
    assert parts(pieces, 6) == [pieces[:4], pieces[4:]]


@given(st.lists(st.text(min_size=1, max_size=5)))
def test_joined_puts_one_space_between_what_is_there(texts):
    assert joined([*texts, ""]) == " ".join(texts)
    assert joined(["", *texts]) == " ".join(texts)
