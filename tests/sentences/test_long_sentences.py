"""Sentences longer than the model takes are cut at the end of a clause or between words, never inside a word."""

# ruff: noqa: RUF001 - marks of other scripts

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.sentences.long_sentences import MOST, cut_long


def letters(word):
    return len(word.split())


def parts(text, room, count=letters):
    return [text[slice(*span)] for span in cut_long(text, count, count(text), room)]


def test_it_is_cut_after_the_last_clause_that_fits():
    assert parts("a, b c; d e f g", 4) == ["a, b c;", "d e f g"]
    assert parts('a b c:" d e f', 5) == ['a b c:"', "d e f"]


def test_else_into_parts_of_equal_size():
    assert parts("a b c d e f g h i", 5) == ["a b c d e", "f g h i"]
    assert parts("a b c d e f g h i j k l", 5) == ["a b c d", "e f g h", "i j k l"]
    assert [letters(part) for part in parts("a " * 105, 50)] == [35, 35, 35]


def test_parts_are_as_long_as_sentences_are():
    """Parts stay short even if a model takes 127 or 511 pieces: it has rarely seen such long sentences."""
    for room in (127, 511):
        found = parts("a " * 600, room)
        assert max(map(letters, found)) <= MOST and sum(map(letters, found)) == 600
    assert parts("a, " * 66, 127)[0] == ("a, " * 64).strip()


def test_a_long_word_is_a_part_of_its_own():
    assert parts("a bbbbbbbb c d", 4, lambda text: len(text.replace(" ", ""))) == ["a", "bbbbbbbb", "c d"]


def test_clauses_without_spaces():
    count = len
    assert parts("一二三，四五六，七八九。", 9, count) == ["一二三，四五六，", "七八九。"]


@given(st.text(st.sampled_from("ab ,;。，\n\u3000é"), max_size=80), st.integers(2, 9))
@settings(max_examples=300)
def test_nothing_is_lost_and_no_word_is_cut(text, room):
    text = text.strip() or "a"
    found = cut_long(text, letters, letters(text), room)
    last = 0
    for begin, end in found:
        assert last <= begin <= end and not text[last:begin].strip()
        assert letters(text[begin:end]) <= room or not any(map(str.isspace, text[begin:end]))
        assert begin == 0 or text[begin - 1].isspace() or text[begin - 1] in "。，"
        last = end
    assert not text[last:].strip()


def test_a_long_sentence_of_a_text(student):
    """Each part is translated as a separate text; gaps are those of the source."""
    clause = "a man is riding a bicycle in the park, "
    text = (clause * 40).strip(" ,") + "."
    made = student.translate(text, return_alignments=True)
    assert len(made.sentences) == 1 and made.sentences[0].source == (0, len(text))
    count = student.source_vocabulary.encode
    spans = cut_long(
        text, lambda word: len(count(word)) - 1, len(count(text)) - 1, student.config.max_source_length - 1
    )
    assert len(spans) > 2 and all(text[end - 1] in ",." for _, end in spans)
    expected = student.translate([text[slice(*span)] for span in spans], split="none")
    assert made.text == " ".join(result.text for result in expected)
    assert made.log_prob == pytest.approx(sum(result.log_prob for result in expected))
    assert made.num_source_pieces == sum(result.num_source_pieces for result in expected)
    assert [text[slice(*span)] for span in made.source_spans if span[0] < span[1]][-2:] == ["park", "."]
    assert [made.text[slice(*span)] for span in made.hypotheses[0].spans if span[0] < span[1]][-1] == "."


def test_only_split_none_cuts_words(student):
    text = "dog " * 63 + "x" * 200 + " cat" * 100
    made = student.translate(text.strip(), max_length=3)
    assert made.truncated and made.num_source_pieces == len(student.source_vocabulary.encode(text.strip())) - 1
    limited = student.translate(text, max_input_length=7, max_length=3)
    assert limited.num_source_pieces == 7
