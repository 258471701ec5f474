"""Conversion of the engine's hypotheses to results: text, joined parts, unknown pieces."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.decoding.batching import best_places
from cpunmt.decoding.joining import PIECES, Source, blank_result, make_result, replaced
from cpunmt.engine import engine
from cpunmt.options.options import Options
from cpunmt.results.results import Hypothesis

PLAIN, ALIGNED = Options(), Options(return_alignments=True, return_token_log_probs=True)
REPLACING = Options(replace_unknowns=True)


@pytest.fixture(scope="module")
def vocabulary(student):
    return student.target_vocabulary


def found(ids, score, source=None, truncated=False):
    """Makes a hypothesis of the engine; piece i attends to source piece i, and half to </s>."""
    attention = None
    if source is not None:
        attention = np.full((len(ids), source + 1), 0.01, np.float32)
        attention[:, -1] = 0.5
        attention[np.arange(len(ids)), np.arange(len(ids)) % source] = 0.4
    terms = None if source is None else [score] * len(ids)
    return engine.Hypothesis(ids, score * len(ids), score, truncated, terms, attention)


def test_one_part(vocabulary):
    ids = vocabulary.ids(["▁Ein", "▁Mann", "."])
    made = make_result([[found([*ids, 0], -0.5), found(ids[:1], -1.0, truncated=True)]], [2], vocabulary, PIECES, PLAIN)
    assert made.hypotheses == (
        Hypothesis("Ein Mann.", -0.5, -2.0, False, ("▁Ein", "▁Mann", ".")),
        Hypothesis("Ein", -1.0, -1.0, True, ("▁Ein",)),
    )
    assert made.source_pieces is None


def test_attention_leaves_out_the_ends(vocabulary):
    ids = vocabulary.ids(["▁Ein", "▁Mann"])
    made = make_result([[found([*ids, 0], -0.5, 2)]], [2], vocabulary, Source(pieces=["▁One", "▁man"]), ALIGNED)
    assert made.attention.shape == (2, 2) and made.alignments == [(0, 0), (1, 1)]
    assert made.token_log_probs == (-0.5, -0.5, -0.5) and made.source_pieces == ("▁One", "▁man")
    made = make_result(
        [[found(ids, -0.5, 2, truncated=True)]], [2], vocabulary, Source(pieces=["▁One", "▁man"]), ALIGNED
    )
    assert made.attention.shape == (2, 2) and made.truncated


def test_source_pieces_beyond_the_input_limit_are_left_out(vocabulary):
    ids = vocabulary.ids(["▁Ein"])
    source = Source(12, ["▁One", "▁man", "▁more"], [(0, 3), (4, 7), (8, 12)])
    made = make_result([[found([*ids, 0], -0.5, 2)]], [2], vocabulary, source, ALIGNED)
    assert made.source_pieces == ("▁One", "▁man") and made.source_spans == ((0, 3), (4, 7))
    assert (made.num_source_pieces, made.num_source_characters) == (2, 12)


WORDS = ("▁Ein", "▁Mann", "▁Hund", ".")
FOUND = st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), st.floats(-9, 0), st.booleans())
PARTS = st.lists(st.tuples(st.integers(1, 5), st.lists(FOUND, min_size=1, max_size=4)), min_size=2, max_size=4)


@given(PARTS)
def test_a_whole_is_what_its_parts_are(vocabulary, parts):
    """Joins rank by rank."""
    engines = [
        [found([*vocabulary.ids(pieces), *[0] * (not cut)], score, length, cut) for pieces, score, cut in ranks]
        for length, ranks in parts
    ]
    lengths = [length for length, _ in parts]
    source = Source(9, list("abcdefghijklmnopqrst")[: sum(lengths)], [(0, 1)] * sum(lengths))
    made = make_result(engines, lengths, vocabulary, source, ALIGNED).hypotheses
    assert len(made) == max(len(ranks) for _, ranks in parts)
    for rank, whole in enumerate(made):
        chosen = [ranks[rank] if rank < len(ranks) else ranks[-1] for _, ranks in parts]
        texts = [vocabulary.decode(vocabulary.ids(pieces)) for pieces, _, _ in chosen]
        assert whole.text == " ".join(text for text in texts if text)
        assert whole.pieces == tuple(piece for pieces, _, _ in chosen for piece in pieces)
        assert whole.truncated == (True in [cut for _, _, cut in chosen])
        weighted = [score * length for (_, score, _), length in zip(chosen, lengths, strict=True)]
        assert whole.score == pytest.approx(sum(weighted) / sum(lengths))
        written = [len(pieces) + (not cut) for pieces, _, cut in chosen]
        scores = [score for _, score, _ in chosen]
        assert whole.log_prob == pytest.approx(sum(s * count for s, count in zip(scores, written, strict=True)))
        assert whole.token_log_probs == tuple(
            score for score, count in zip(scores, written, strict=True) for _ in range(count)
        )
        stands = [whole.text[slice(*span)] for span in whole.spans]
        assert stands == [piece.strip("▁") for piece in whole.pieces] and list(whole.spans) == sorted(whole.spans)


# Unknown pieces


def test_unknown_pieces_become_those_they_attend_to(vocabulary):
    unk = vocabulary.unk_id
    ids = [*vocabulary.ids(["▁Ein"]), unk, unk, 0]
    pieces = ["▁A", "▁🚲", "🎉"]
    with_attention = [[found(ids, -1.0, 3)]]
    made = make_result(with_attention, [3], vocabulary, Source(pieces=pieces), REPLACING)
    assert (made.text, made.pieces) == ("Ein 🚲🎉", ("▁Ein", "▁🚲", "🎉"))
    assert made.attention is None  # not requested
    kept = make_result(with_attention, [3], vocabulary, Source(pieces=pieces), ALIGNED)
    assert kept.pieces == ("▁Ein", "<unk>", "<unk>")


def test_in_a_later_part_they_become_pieces_of_that_part(vocabulary):
    unk, one = vocabulary.unk_id, vocabulary.ids(["▁Ein"])[0]
    parts = [[found([one, 0], -1.0, 2)], [found([one, unk, 0], -1.0, 2)]]
    made = make_result(parts, [2, 2], vocabulary, Source(pieces=["▁a", "▁b", "▁c", "▁🚲"]), REPLACING)
    assert (made.text, made.pieces) == ("Ein Ein 🚲", ("▁Ein", "▁Ein", "▁🚲"))


def test_replacing_takes_the_most_attention(vocabulary):
    """But never </s>; of its rows, or of the places to which a batch has reduced them."""
    unk, one = vocabulary.unk_id, vocabulary.ids(["▁Ein"])[0]
    attention = np.array([[0.2, 0.6, 0.1, 0.1], [0.5, 0.3, 0.2, 0], [0.1, 0, 0.2, 0.7], [0, 0, 0, 1]], np.float32)
    assert best_places(attention).tolist() == [1, 0, 2, 0] and best_places(attention).dtype == np.int32
    for kept in (attention, best_places(attention)):
        hypothesis = engine.Hypothesis([unk, one, unk, 0], -1.0, -1.0, False, None, kept)
        made = make_result([[hypothesis]], [3], vocabulary, Source(pieces=["▁x", "▁y", "▁z"]), REPLACING)
        assert made.pieces == ("▁y", "▁Ein", "▁z") and made.attention is None
    assert replaced(["a", "b", "c"], [1, 5, 1], 1, [1, 0, 2], ["x", "y", "z"]) == ["y", "b", "z"]


def test_text_and_pieces_keep_what_no_vocabulary_has(vocabulary):
    pieces = vocabulary.surfaces("Ein 🚲 im Park.")
    assert "🚲" in "".join(pieces) and "<unk>" not in pieces and "</s>" not in pieces
    assert vocabulary.text_of(pieces) == "Ein 🚲 im Park."
    assert vocabulary.surfaces(" ") == [] and vocabulary.text_of([]) == ""
    assert vocabulary.surfaces("\ud800") == vocabulary.surfaces("\ufffd")
    assert vocabulary.text_of(["▁a\ud800"]) == "a\ufffd"


# Blank sentences


def test_a_blank_sentence_has_one_certain_translation(vocabulary):
    assert blank_result([], vocabulary, PIECES, PLAIN).hypotheses == (Hypothesis("", 0.0, 0.0, False, ()),)
    made = blank_result([0], vocabulary, PIECES, ALIGNED)
    assert (made.text, made.score, made.token_log_probs) == ("", 0.0, (0.0,))
    assert made.attention.shape == (0, 0) and made.alignments == [] and made.source_pieces == ()


@pytest.mark.parametrize("end", [[], [0]])
def test_a_prefix_of_a_blank_sentence_is_kept_and_impossible(vocabulary, end):
    made = blank_result([*vocabulary.ids(["▁Ein", "▁Mann"]), *end], vocabulary, PIECES, ALIGNED)
    assert (made.text, made.log_prob, made.score) == ("Ein Mann", -math.inf, -math.inf)
    assert made.token_log_probs == (-math.inf, -math.inf, 0.0) and made.attention.shape == (2, 0)
    assert made.alignments == []
