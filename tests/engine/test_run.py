"""Between two compiled calls, pieces are reported, and sentences end or are dropped; others keep their bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import CancelledError
from cpunmt.process.stopping import Watch, under
from tests.sample_models import real_model, transformers
from tests.sample_models.random_models import engine_of, random_shortlist, random_sources, random_tensors
from tests.support.searches import bits, searches


@st.composite
def batches(draw, beam=None):
    """Draws an engine, and arguments of its `translate`."""
    config, seed = draw(transformers.configs()), draw(st.integers(0, 2**32 - 1))
    shortlist = random_shortlist(seed, config.vocab_size) if draw(st.booleans()) else None
    scheme = draw(st.sampled_from(["float32", "int8"]))
    engine = engine_of(config, random_tensors(config, seed), scheme, shortlist)
    count, generator = draw(st.integers(1, 12)), np.random.default_rng(seed)
    sources = random_sources(seed, config.source_size, count, longest=int(generator.integers(1, 20)))
    prefixes = [generator.integers(2, config.vocab_size, generator.integers(0, 3)).tolist() for _ in sources]
    limits = [max(int(limit), len(p)) for limit, p in zip(generator.integers(1, 20, count), prefixes, strict=True)]
    search = draw(searches())
    if beam == 1:
        search = search._replace(beam_size=1, num_beam_groups=1, num_hypotheses=1, patience=0.0)
    return engine, (sources, limits, search, prefixes, draw(st.integers(1, 20)))


@given(batches(beam=1), st.data())
@settings(max_examples=60)
def test_steps_are_the_translation_and_a_sentence_ends_where_it_is_told_to(batch, data):
    engine, arguments = batch
    whole = engine.translate(*arguments)
    count = len(whole)
    stops = data.draw(st.lists(st.integers(0, 25), min_size=count, max_size=count), "stops")
    said = [[] for _ in whole]

    def tell(step):
        said[step.sentence].append(step)
        return len(said[step.sentence]) > stops[step.sentence]

    made = engine.translate(*arguments, tell=tell)
    search = arguments[2]
    for sentence, (full, got, steps) in enumerate(zip(whole, made, said, strict=True)):
        pieces = [step.piece for step in steps]
        assert got[0].ids == pieces == full[0].ids[: stops[sentence] + 1]
        assert [step.is_last for step in steps[:-1]] == [False] * (len(steps) - 1)
        assert steps[-1].is_last == (len(pieces) == len(full[0].ids))
        if steps[-1].is_last:
            assert bits([got]) == bits([full])
            continue
        assert got[0].truncated or pieces[-1] in search.end_pieces
        if full[0].token_log_probs:
            assert got[0].token_log_probs == full[0].token_log_probs[: len(pieces)]
            assert [step.log_prob for step in steps] == got[0].token_log_probs
        if full[0].attention is not None:
            assert got[0].attention.tobytes() == full[0].attention[: len(pieces)].tobytes()
        if not search.coverage_penalty and np.isfinite(got[0].log_prob):
            length = np.float32(len(search.prompt) + len(pieces))
            penalty = np.float32(search.word_penalty) * length
            expected = (np.float32(got[0].log_prob) - penalty) / length ** np.float32(search.length_penalty)
            assert got[0].score == pytest.approx(float(expected), rel=1e-5, abs=1e-6)
    assert bits(engine.translate(*arguments)) == bits(whole)


@given(batches(), st.data())
@settings(max_examples=60)
def test_what_is_dropped_has_no_translation_and_the_others_theirs(batch, data):
    """It may be dropped at any compiled call, begun or not."""
    engine, arguments = batch
    whole = engine.translate(*arguments)
    when = data.draw(st.lists(st.integers(0, 12), min_size=len(whole), max_size=len(whole)), "calls before it is so")
    calls, named = [], set()

    def unwanted():
        calls.append(0)
        named.update(sentence for sentence, call in enumerate(when) if call < len(calls))
        return named

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cpunmt.engine.run.BUDGET", 1)
        patch.setattr("cpunmt.engine.run.LONGEST_CALL", 0)  # keeps the budget
        made = engine.translate(*arguments, unwanted=unwanted)
    for sentence, (full, got) in enumerate(zip(whole, made, strict=True)):
        assert bits([got]) == bits([full]) if got else sentence in named
    assert all(made[sentence] == [] for sentence, call in enumerate(when) if call == 0)
    assert bits(engine.translate(*arguments)) == bits(whole)


def test_the_work_ends_when_nobody_wants_any_of_it():
    engine, sources = real_model.engine("int8"), list(real_model.sources(300))
    calls = []

    def unwanted():
        calls.append(0)
        return range(len(sources)) if len(calls) > 1 else ()

    made = engine.translate(sources, [300] * len(sources), unwanted=unwanted)
    assert made[-1] == [] and len(calls) < 6  # one more step for begun sentences, none for the others
    limits = [2 * len(source) for source in sources[:9]]
    assert engine.translate(sources[:9], limits, unwanted=lambda: range(9)) == [[]] * 9
    assert engine.translate(sources[:9], limits, unwanted=lambda: ()) == engine.translate(sources[:9], limits)


def test_a_watch_ends_it_between_two_calls_and_the_next_search_is_as_ever():
    engine, sources = real_model.engine("int8"), list(real_model.sources(60))
    limits, asked = [2 * len(source) for source in sources], []
    expected = engine.translate(sources, limits)
    with pytest.raises(CancelledError), under(Watch(cancel=lambda: asked.append(0) or len(asked) > 2)):
        engine.translate(sources, limits)
    assert len(asked) == 3  # at the beginning, and before both calls
    assert engine.translate(sources, limits) == expected
    with pytest.raises(ZeroDivisionError):
        engine.translate(sources, limits, tell=lambda step: 1 // 0)
    inner = []
    engine.translate(sources, limits, tell=lambda step: inner.append(engine.translate(sources[:2], limits[:2])) or True)
    assert inner == [expected[:2]] * 60
    assert engine.translate(sources, limits) == expected
