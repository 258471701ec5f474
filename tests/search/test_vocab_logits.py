"""Optional logits over a vocabulary: they explain the choice of the pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.decoding.batching import SourcePart, search_parts
from cpunmt.engine.engine import Engine
from cpunmt.engine.workspace import Member
from cpunmt.kernels.softmax import LOWEST
from cpunmt.options.options import Options
from cpunmt.search.settings import Search
from quantize.reference.network import Reference
from tests.definitions.vocab_logits import vocab_logits
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist, random_sources
from tests.support.searches import bits, searches, tagged, work

VOCAB = 91  # not a multiple of the block size
SHORTLIST = random_shortlist(4, VOCAB)


@pytest.fixture(scope="module")
def checkpoints():
    return [random_checkpoint(seed, d=32, f=64, heads=2, enc=1, dec=2, vocab=VOCAB) for seed in (7, 8)]


@pytest.fixture(scope="module", params=["one", "shortlist", "ensemble", "ensemble with a shortlist"])
def model(request, checkpoints):
    """Returns (definition, engine, its shortlist or None)."""
    shortlist = SHORTLIST if "shortlist" in request.param else None
    engines = [engine_of(*checkpoint, shortlist=shortlist) for checkpoint in checkpoints]
    references = [Reference(*checkpoint) for checkpoint in checkpoints]
    if "ensemble" not in request.param:
        return references[0], engines[0], shortlist
    members = [Member(engine.model, weight) for engine, weight in zip(engines, (0.75, 0.25), strict=True)]
    return list(zip(references, (0.75, 0.25), strict=True)), Engine(members, shortlist), shortlist


def searched(engine, sources, search, prefixes=None, **options):
    limits = np.random.default_rng(len(sources)).integers(4, 10, len(sources)).tolist()
    begun = prefixes or [[]] * len(sources)
    parts = [SourcePart(*part) for part in zip(range(len(sources)), sources, begun, limits, strict=True)]
    return search_parts(engine, parts, Options(**options), search)


@given(st.integers(0, 2**32 - 1), searches(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_they_equal_their_definition(model, program, seed, search, with_prefix):
    reference, engine, shortlist = model
    sources, _, prefixes = work(seed, VOCAB, 5, with_prefix)
    search = search._replace(token_log_probs=True, vocab_logits=True)
    made = searched(engine, sources, search, prefixes)
    plain = searched(engine, sources, search._replace(vocab_logits=False), prefixes)
    assert bits([[h._replace(logits=None) for h in some] for some in made]) == bits(plain)
    for source, hypotheses in zip(sources, made, strict=True):
        source, prompt = tagged(source, search), list(search.prompt)
        candidates = shortlist.candidates(source, True) if shortlist else np.arange(VOCAB)
        for h in hypotheses:
            expected = vocab_logits(reference, source, prompt + h.ids, candidates, search.repetition_penalty)
            expected = expected[len(prompt) :]
            assert h.logits.dtype == np.float32 and h.logits.shape == (len(h.ids), VOCAB)
            assert np.allclose(h.logits, expected, atol=1e-3)
            if search.prefix_bias_beta:
                continue
            for row, piece, log_prob in zip(h.logits, h.ids, h.token_log_probs, strict=True):
                total = np.float32(0)
                if isinstance(reference, Reference):
                    padded = np.full(-(-len(candidates) // 16) * 16, LOWEST, np.float32)
                    padded[: len(candidates)] = row[candidates]
                    total = np.float32(program.log_sum_exp(padded, len(padded)))
                assert np.float32(row[piece] - total) == np.float32(log_prob)  # to the last bit


@given(st.integers(0, 2**32 - 1), searches())
@settings(deadline=None, max_examples=15)
def test_they_do_not_depend_on_the_batch(model, seed, search):
    _, engine, _ = model
    sources = random_sources(seed, VOCAB, 20, longest=30)
    search = search._replace(vocab_logits=True)
    limits = [9] * len(sources)
    parts = [SourcePart(i, source, [], limit) for i, (source, limit) in enumerate(zip(sources, limits, strict=True))]
    together = search_parts(engine, parts, Options(), search)
    for part, hypotheses in zip(parts, together, strict=True):
        (alone,) = search_parts(engine, [part], Options(max_batch_size=1), search)
        assert [h.logits.tobytes() for h in alone] == [h.logits.tobytes() for h in hypotheses]


def test_a_search_that_is_not_asked_has_none(model):
    _, engine, _ = model
    sources = random_sources(1, VOCAB, 3)
    assert all(h.logits is None for some in searched(engine, sources, Search(beam_size=2)) for h in some)
    assert Search().whole_logits is False and Search(vocab_logits=True).whole_logits


def test_of_a_model_that_reads_from_right_to_left_rows_belong_to_its_pieces(checkpoints):
    from cpunmt.decoding.batching import translate_parts

    config, tensors = checkpoints[0]
    engines = [engine_of(config.changed(right_to_left=backward), tensors) for backward in (False, True)]
    parts = [SourcePart(i, source, [], 9) for i, source in enumerate(random_sources(5, VOCAB, 20))]
    turned = [part._replace(ids=[*part.ids[:-1][::-1], part.ids[-1]]) for part in parts]
    search = Search(beam_size=2, num_hypotheses=2, vocab_logits=True)
    plain, backward = (translate_parts(e, p, Options(), search) for e, p in zip(engines, (parts, turned), strict=True))
    ended = 0
    for one, other in zip(plain, backward, strict=True):
        for a, b in zip(one, other, strict=True):
            rows = a.logits[::-1] if a.truncated else np.concatenate([a.logits[:-1][::-1], a.logits[-1:]])
            assert np.array_equal(rows, b.logits) and len(b.ids) == len(rows)
            ended += not a.truncated
    assert 0 < ended < 40
