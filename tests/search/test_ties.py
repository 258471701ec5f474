"""Ties: pieces come in identical pairs, so every translation has equals. Lower ids come first."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.search.settings import Search
from cpunmt.text.shortlists.shortlist import Shortlist
from tests.sample_models.random_models import engine_of, random_checkpoint, random_sources, random_tensors
from tests.sample_models.transformers import make_config
from tests.support.searches import check_first_group

VOCAB, FIRST = 96, 10
TWINS = range(FIRST, VOCAB - 1, 2)  # the lower pieces: each has the same embedding, output row and bias as the next id


def with_twins(tensors):
    """Returns the same tensors, with pairs of pieces from FIRST on."""
    found = {name: tensor.copy() for name, tensor in tensors.items()}
    for name in found:
        if name.endswith("embedding") or name in ("output", "output.bias"):
            found[name][FIRST + 1 :: 2] = found[name][FIRST : VOCAB - 1 : 2]
    return found


def shortlist_of_pairs(seed) -> Shortlist:
    """Makes a shortlist whose candidates contain both of a pair, or neither."""
    generator = np.random.default_rng(seed)
    lists = [np.sort(generator.choice(TWINS, 6, replace=False)) for _ in range(VOCAB)]
    ids = np.concatenate([np.stack([low, low + 1], axis=1).ravel() for low in lists]).astype(np.int32)
    return Shortlist(12 * np.arange(VOCAB + 1), ids, FIRST, 12, VOCAB)


@pytest.fixture(scope="module", params=["float32", "int8", "int16"])
def engines(request):
    """Returns (engine without a shortlist, engine with one)."""
    config, tensors = random_checkpoint(7, d=32, f=64, heads=2, enc=2, dec=2, vocab=VOCAB)
    tensors = with_twins(tensors)
    return [engine_of(config, tensors, request.param, shortlist) for shortlist in (None, shortlist_of_pairs(4))]


def is_higher(piece) -> bool:
    return piece >= FIRST and (piece - FIRST) % 2 == 1


def lowered(ids):
    """Returns the same translation with the lower piece of every pair."""
    return [piece - 1 if is_higher(piece) else piece for piece in ids]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4, 6]), st.booleans(), st.sampled_from([0.0, 0.6, 1.0]))
@settings(max_examples=60)
def test_the_best_never_has_the_higher_twin(engines, seed, beam, listed, penalty):
    """On equal sums, the better parent comes first, then the lower id; on equal scores, the first to end."""
    sources = [lowered(source) for source in random_sources(seed, VOCAB, 6, longest=9)]  # they are candidates too
    search = Search(beam_size=beam, num_hypotheses=beam, length_penalty=penalty)
    for hypotheses in engines[listed].translate(sources, [12] * len(sources), search):
        assert hypotheses[0].ids == lowered(hypotheses[0].ids)
        ranks = {tuple(h.ids): rank for rank, h in enumerate(hypotheses)}
        for rank, h in enumerate(hypotheses):
            assert ranks.get(tuple(lowered(h.ids)), -1) <= rank
        for one, other in itertools.combinations(hypotheses, 2):
            if lowered(one.ids) == lowered(other.ids):
                assert (one.score, one.log_prob) == (other.score, other.log_prob)


def test_there_are_ties(engines):
    """Some lists of the search above contain equal translations."""
    sources = [lowered(source) for source in random_sources(1, VOCAB, 40, longest=9)]
    for engine in engines:
        found = engine.translate(sources, [12] * len(sources), Search(beam_size=4, num_hypotheses=4))
        assert sum(len({tuple(lowered(h.ids)) for h in hypotheses}) < len(hypotheses) for hypotheses in found) > 20


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("unk_id", [0, 3])
def test_unknown_pieces_are_barred_whatever_their_id_is(unk_id, listed, beam):
    """Even the first of all, whose column is 0."""
    config = make_config(unk_id=unk_id, eos_id=1)
    tensors = random_tensors(config, 3)
    tensors["output.bias"][unk_id] += 100  # it would always win
    lists = np.arange(config.vocab_size, dtype=np.int32)
    shortlist = Shortlist(np.arange(config.vocab_size + 1), lists, 4, 1, config.vocab_size) if listed else None
    sources = [[*ids[:-1], 1] for ids in random_sources(5, config.vocab_size, 8)]
    engine = engine_of(config, tensors, shortlist=shortlist)
    for hypotheses in engine.translate(sources, [9] * 8, Search(beam_size=beam, num_hypotheses=beam)):
        assert all(unk_id not in h.ids and h.log_prob < -50 for h in hypotheses)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 1.0]))
@settings(max_examples=30)
def test_the_first_group_is_a_beam_of_its_size(engines, seed, size, listed, patience):
    """On ties the first to end are kept, as in a beam without groups."""
    sources = random_sources(seed, VOCAB, 6, longest=9)
    check_first_group(engines[listed], sources, Search(beam_size=size, patience=patience), diversity_penalty=0.5)
