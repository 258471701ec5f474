"""Forbidden pieces and repetitions. test_beam compares other options with the definition."""

import numpy as np
import pytest

from cpunmt.search.settings import Search
from tests.definitions.restrictions import forbidden, penalized
from tests.sample_models.random_models import engine_of, random_checkpoint, random_sources

EOS, UNK, VOCAB = 0, 1, 96


@pytest.fixture
def engines(model):
    """Returns engines with the whole vocabulary, and with a shortlist."""
    return model[1:3]


def test_the_definition_forbids_what_was_said_and_what_is_suppressed():
    said = [5, 6, 7, 5, 6]
    assert forbidden(said, Search(no_repeat_ngram_size=3)) == [7]
    assert forbidden(said, Search(no_repeat_ngram_size=2)) == [7]
    assert forbidden(said, Search(no_repeat_ngram_size=1)) == said
    assert forbidden(said, Search(no_repeat_ngram_size=4)) == forbidden([], Search(no_repeat_ngram_size=1)) == []
    assert forbidden(said, Search(suppressed=((9,), (6, 8), (7, 6, 8)))) == [9, 8]


def test_the_definition_penalizes_a_piece_once():
    logits = np.array([2.0, -2.0, 3.0, -3.0], np.float32)
    assert penalized(logits, np.arange(4), [0, 1, 0], 2.0).tolist() == [1.0, -4.0, 3.0, -3.0]


@pytest.mark.parametrize("beam", [1, 3])
def test_where_all_is_forbidden_the_translation_ends(engines, beam):
    """Even before its minimum length: each piece may occur once, and there are fewer than that length needs."""
    for engine in engines:
        for source in random_sources(3, VOCAB, 4, longest=5):
            search = Search(beam_size=beam, num_hypotheses=beam, no_repeat_ngram_size=1, min_length=200)
            for h in engine.translate([source], [300], search)[0]:
                assert not h.truncated and len(set(h.ids)) == len(h.ids) <= VOCAB and np.isfinite(h.log_prob)
    everything = tuple((piece,) for piece in range(2, VOCAB))
    found = engines[0].translate([source], [300], Search(beam_size=beam, suppressed=everything, min_length=200))[0]
    assert [h.ids for h in found] == [[EOS]] and np.isfinite(found[0].score)


def test_what_a_prefix_forces_may_be_said(engines):
    source = random_sources(3, VOCAB, 1, longest=5)[0]
    search = Search(beam_size=2, no_repeat_ngram_size=1, suppressed=((7,),), repetition_penalty=1.5)
    for engine in engines:
        assert engine.translate([source], [12], search, [[7, 7, 8]])[0][0].ids[:3] == [7, 7, 8]


def test_a_sequence_longer_than_what_was_said_forbids_nothing(engines):
    source = random_sources(3, VOCAB, 1, longest=5)[0]
    plain = engines[0].translate([source], [12])[0]
    first = plain[0].ids[0]
    kept = engines[0].translate([source], [12], Search(suppressed=((9, 9, first), (first,) * 13)))[0]
    assert kept[0].ids == plain[0].ids
    assert engines[0].translate([source], [12], Search(suppressed=((first,),)))[0][0].ids[0] != first


def test_options_that_change_nothing_change_no_bit(engines):
    sources = random_sources(3, VOCAB, 20, longest=9)
    for engine in engines:
        plain = engine.translate(sources, [12] * 20, Search(beam_size=3, token_log_probs=True))
        same = Search(beam_size=3, token_log_probs=True, no_repeat_ngram_size=50, suppressed=((5, 6, 7, 8, 9, 10),))
        assert engine.translate(sources, [12] * 20, same) == plain


def test_lists_of_what_is_suppressed_are_not_kept():
    """They may be long, and different in each call."""
    engine = engine_of(*random_checkpoint(1))
    for piece in range(2, 6):
        engine.translate([[5, 6, 0]], [6], Search(suppressed=((piece,),)))
    assert not any(search.suppressed for search in engine._searches)
