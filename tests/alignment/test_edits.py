"""The positions of a text's pieces after edits."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.alignment.edits import Edit, edited, moved, moved_each

TEXT = "one two three four"
WORDS = [(0, 3), (4, 7), (8, 13), (14, 18)]


def test_an_edit_and_the_pieces_it_touches_are_one():
    text, _, new = edited(TEXT, [Edit(4, 13, "2 3!"), Edit(18, 18, " five")])
    assert text == "one 2 3! four five"
    found = moved(WORDS, [(4, 13), (18, 18)], new)
    assert [text[begin:end] for begin, end in found.spans] == ["one", "2 3!", "four", " five"]
    assert (found.pieces, found.edits) == ([0, 1, 1, 2], [1, 3])


def test_what_is_put_into_a_piece_becomes_a_part_of_it():
    text, _, new = edited(TEXT, [Edit(5, 5, "XX")])
    found = moved(WORDS, [(5, 5)], new)
    assert [text[begin:end] for begin, end in found.spans] == ["one", "tXXwo", "three", "four"]
    assert found.pieces == [0, 1, 2, 3] and found.edits == [1]


def test_each_piece_keeps_its_number():
    text, _, new = edited(TEXT, [Edit(4, 13, "2 3!")])
    found = moved_each(WORDS, [(4, 13)], new)
    assert [text[begin:end] for begin, end in found] == ["one", "2 3!", "", "four"]


@st.composite
def edits_of(draw):
    text = draw(st.text("ab ", max_size=30))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = [(b, e) for b, e in zip(places[::2], places[1::2], strict=False)]
    edits = [Edit(b, e, draw(st.text("XY", min_size=1, max_size=3))) for b, e in pairs]
    cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=8))})
    return text, edits, list(itertools.pairwise(cuts))


@given(edits_of())
@example(("aaa", [Edit(0, 0, "X"), Edit(0, 0, "X"), Edit(0, 2, "X")], [(0, 1), (1, 2), (2, 3)]))
def test_moved_pieces_are_ascending_and_hold_what_was_not_edited(case):
    text, edits, spans = case
    changed, old, new = edited(text, edits)
    found = moved(spans, old, new)
    assert all(0 <= b <= e <= len(changed) for b, e in found.spans)
    assert all(before[1] <= after[0] for before, after in zip(found.spans, found.spans[1:], strict=False))
    for (begin, end), number in zip(new, found.edits, strict=True):
        assert found.spans[number][0] <= begin and end <= found.spans[number][1]
    assert "".join(changed[b:e] for b, e in found.spans) == changed
    each = moved_each(spans, old, new)
    assert len(each) == len(spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(each))
