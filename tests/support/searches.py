"""Random searches of the engine and sentences for them, and comparisons of results."""

import ctypes

import numpy as np
from hypothesis import strategies as st

from cpunmt.search.records import WORKSPACE
from cpunmt.search.settings import Search
from tests.sample_models.random_models import random_sources

either = st.booleans()
NEAR = 1e-3  # hypotheses with scores this close may change places, or leave the beam


@st.composite
def searches(draw, scored=either):
    """Draws any search, with the shortlist if given; half of them compute logits in blocks (search.fused_output)."""
    beam = draw(st.integers(1, 6))
    apart = draw(st.sampled_from(["no", "no", "alternatives", "samples"]))
    groups = draw(st.sampled_from([1, 1, 2, 3])) if apart == "no" else 1
    beam = -(-beam // groups) * groups
    made = Search(
        beam_size=beam,
        num_hypotheses=beam if apart != "no" else draw(st.integers(1, beam)),
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0, 1.5])),
        word_penalty=draw(st.sampled_from([0.0, 0.3, -0.2])),
        coverage_penalty=draw(st.sampled_from([0.0, 0.0, 0.2])),
        min_length=draw(st.sampled_from([0, 0, 3])),
        token_log_probs=draw(st.booleans()),
        attention=draw(st.booleans()),
        scored=draw(scored),
        repetition_penalty=draw(st.sampled_from([1.0, 1.0, 1.3, 0.8])),
        no_repeat_ngram_size=draw(st.sampled_from([0, 0, 1, 2, 3])),
        suppressed=draw(st.sampled_from([(), (), ((5,), (6, 7)), tuple((i, j) for i in range(9) for j in (3, i + 1))])),
        end_pieces=draw(st.sampled_from([(), (), (5,), tuple(range(2, 30, 3))])),
        patience=draw(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.5])) if apart == "no" else 0.0,
        num_beam_groups=groups,
        diversity_penalty=draw(st.sampled_from([0.3, 1.0, 20.0])) if groups > 1 else 0.0,
        prefix_bias_beta=draw(st.sampled_from([0.0, 0.0, 0.3, 0.9])),
        return_alternatives=apart == "alternatives",
        min_alternative_expansion_prob=draw(st.sampled_from([0.0, 0.0, 0.03])),
        sampling_topk=draw(st.sampled_from([0, 2, 10, 1000])) if apart == "samples" else 1,
        sampling_topp=draw(st.sampled_from([1.0, 1.0, 0.7, 0.2])),
        sampling_temperature=draw(st.sampled_from([1.0, 0.5, 3.0])),
        seed=draw(st.sampled_from([0, 1, 2**63 - 1])),
        source_begin=draw(st.sampled_from([(), (), (7,)])),
        source_finish=draw(st.sampled_from([(), (), (8,)])),
        prompt=draw(st.sampled_from([(), (), (9,), (1, 4)])),
    )
    if draw(st.booleans()):
        unchanged = ("repetition_penalty", "no_repeat_ngram_size", "suppressed", "prefix_bias_beta")
        made = made._replace(**{name: Search._field_defaults[name] for name in unchanged})
        made = made._replace(sampling_topk=1)
        if made.end_pieces:
            made = made._replace(min_length=0, patience=0.0)
        assert not made.whole_logits
    return made


def bits(translations) -> list:
    """Returns everything in each sentence's hypotheses, for comparison to the last bit."""
    return [
        [h._replace(attention=None if h.attention is None else h.attention.tobytes()) for h in hypotheses]
        for hypotheses in translations
    ]


def tagged(source, search) -> list:
    """Returns a source as the model reads it."""
    return [*search.source_begin, *source, *search.source_finish]


def close(a, b) -> bool:
    return a == b or abs(a - b) < NEAR


def agree(made, expected) -> bool:
    """Returns whether the hypotheses agree in order, except near ties; numbers of equal ones must always agree."""
    for hypothesis, wanted in zip(made, expected, strict=False):
        if hypothesis.ids == wanted.ids:
            assert hypothesis.truncated == wanted.truncated
            assert close(hypothesis.score, wanted.score) and close(hypothesis.log_prob, wanted.log_prob)
            if hypothesis.token_log_probs is not None:
                assert np.allclose(hypothesis.token_log_probs, wanted.token_log_probs, atol=NEAR)
            if hypothesis.attention is not None:
                assert np.allclose(hypothesis.attention, wanted.attention, atol=1e-4)
    return [h.ids for h in made] == [e.ids for e in expected]


def work(seed, vocabulary, count, with_prefix=True, longest=9, limits=(4, 12), most=3):
    """Draws (sources, limits, prefixes of at most `most` pieces, or None) of random sentences."""
    generator = np.random.default_rng(seed)
    sources = random_sources(seed, vocabulary, count, longest=longest)
    lengths = generator.integers(0, most + 1, count)
    prefixes = [generator.integers(2, vocabulary, length).tolist() for length in lengths] if with_prefix else None
    return sources, generator.integers(*limits, count).tolist(), prefixes


def check_first_group(engine, sources, alone, **groups):
    """Checks that the hypotheses of `alone` are among those of three groups of its size; all continue to the end."""
    alone, size = alone._replace(num_hypotheses=alone.beam_size, to_the_end=True), 3 * alone.beam_size
    both = alone._replace(beam_size=size, num_hypotheses=size, num_beam_groups=3, **groups)
    found, expected = (bits(engine.translate(sources, [10] * len(sources), search)) for search in (both, alone))
    for some, first in zip(found, expected, strict=True):
        assert all(hypothesis in some for hypothesis in first)


def watch_calls(monkeypatch, engine, budget=1, *fields) -> list:
    """Limits compiled calls to `budget` rows; returns the values of the WORKSPACE `fields` at each call."""
    monkeypatch.setattr("cpunmt.engine.run.BUDGET", budget)
    monkeypatch.setattr("cpunmt.engine.run.LONGEST_CALL", 0)  # keeps the budget
    program, seen = engine._program, []

    class Watched:
        def translate(self, batch, workspace, *rest):
            more = program.translate(batch, workspace, *rest)
            places = (workspace + WORKSPACE.fields[name][1] for name in fields)
            seen.append([ctypes.c_int64.from_address(place).value for place in places])
            return more

    monkeypatch.setattr(engine, "_program", Watched())
    return seen
