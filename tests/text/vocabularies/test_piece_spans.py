"""Spans of pieces in a text, despite normalization, bytes and unknown characters, to the code point."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.text.vocabularies.piece_spans import source_spans, target_spans

ODD = "Aé½ﷺ ﬁe\u0301\u00ad\u200b\u2581\n\t\u3000🚲走가\ud800\0<unk>."


def pairs(vocabulary, text):
    return [
        (piece, text[slice(*span)])
        for piece, span in zip(vocabulary.surfaces(text), vocabulary.spans(text), strict=True)
    ]


def test_a_piece_stands_where_its_letters_do(student):
    found = pairs(student.source_vocabulary, "  Two  dogs,\n\tplaying ")
    assert [surface for _, surface in found if surface] == ["Two", "dogs", ",", "playing"]
    assert all(piece.strip("\u2581") == surface for piece, surface in found)


def test_what_normalization_makes_longer_or_shorter(student):
    vocabulary = student.source_vocabulary
    assert {surface for _, surface in pairs(vocabulary, "½")} <= {"", "½"}
    assert "½" in {surface for _, surface in pairs(vocabulary, "a ½ b")}
    assert "".join(surface for _, surface in pairs(vocabulary, "e\u0301")) == "e\u0301"
    assert {surface for _, surface in pairs(vocabulary, "\ufdfa")} == {"", "\ufdfa"}


@given(st.text(st.sampled_from(ODD) | st.characters(), max_size=30))
@settings(max_examples=300)
def test_spans_ascend_and_lie_in_the_text(student, text):
    vocabulary = student.source_vocabulary
    spans, pieces = vocabulary.spans(text), vocabulary.surfaces(text)
    assert len(spans) == len(pieces) == len(vocabulary.encode(text)) - 1
    assert all(0 <= begin <= end <= len(text) for begin, end in spans)
    assert [begin for begin, _ in spans] == sorted(begin for begin, _ in spans)
    assert [end for _, end in spans] == sorted(end for _, end in spans)
    assert all(text[begin:end] == text[begin:end].strip() for begin, end in spans)


@given(st.lists(st.text(st.sampled_from("abc de.,é走🚲")), max_size=6))
@settings(max_examples=200)
def test_pieces_of_a_translation_stand_where_they_were_written(student, words):
    vocabulary = student.target_vocabulary
    ids = vocabulary.encode(" ".join(words))[:-1]
    pieces, text = vocabulary.pieces(ids), vocabulary.decode(ids)
    spans = target_spans(pieces, text)
    assert "".join(text[slice(*span)] for span in spans) == "".join(text.split())
    for piece, (begin, end) in zip(pieces, spans, strict=True):
        assert piece == "<unk>" or text[begin:end] == piece.strip("\u2581")


def test_unknown_pieces_of_a_translation(student):
    vocabulary = student.target_vocabulary
    unk, (one, man) = vocabulary.unk_id, vocabulary.ids(["\u2581Ein", "\u2581Mann"])
    ids = [one, unk, man]
    text, pieces = vocabulary.decode(ids), vocabulary.pieces(ids)
    assert [text[slice(*span)] for span in target_spans(pieces, text)] == ["Ein", "\u2047", "Mann"]


def test_bytes_of_a_character_stand_on_it():
    text = "a\u8d70b"
    pieces = ["\u2581a", "<0xE8>", "<0xB5>", "<0xB0>", "b"]
    assert source_spans(text, pieces, "\u2581" + text, [0, 0, 1, 2, 3]) == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    assert target_spans(pieces, text) == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    assert target_spans(["<0x0A>"], "<0x0A>") == [(0, 6)]  # as written
    for pieces, text, expected in (
        (["<0xE8>", "<0xB5>", "<0xB0>", "<0xEA>", "<0xB0>", "<0x80>"], "\u8d70\uac00", [(0, 1)] * 3 + [(1, 2)] * 3),
        (["a", "<0xFF>", "b"], "ab", [(0, 1), (1, 1), (1, 2)]),  # not a byte of the text
        (["a", "<0xFF>", "<0xFF>", "b"], "ab", [(0, 1), (1, 1), (1, 1), (1, 2)]),
        (["a", "<0x62>"], "ab", [(0, 1), (1, 2)]),
        (["a", "<0xFF>"], "a", [(0, 1), (1, 1)]),
        (["a\n"], "a\n", [(0, 1)]),
    ):
        assert target_spans(pieces, text) == expected


def test_a_character_of_several_pieces_is_the_span_of_each():
    assert source_spans("\u00bd", ["1", "\u2044", "2"], "1\u20442", [0, 0, 0, 1]) == [(0, 1)] * 3


@pytest.mark.parametrize("count, expected", [(16, (16, 17)), (17, (0, 0))])
def test_a_misplaced_piece_is_found_nearby(count, expected):
    assert target_spans(["z"], "a" * count + "z") == [expected]


@pytest.mark.parametrize("missing", ["</s>", "", "\u2581", "zzz", "<0xFF>"])
def test_a_piece_that_is_not_in_the_text_has_no_characters(missing):
    spans = target_spans(["\u2581Ein", missing, "\u2581Mann"], "Ein Mann")
    assert spans[0] == (0, 3) and spans[2] == (4, 8) and spans[1][0] == spans[1][1]
