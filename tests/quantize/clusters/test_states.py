"""Recorded states: those of the reference, of every architecture and search; their best pieces are the search's."""

import math

import numpy as np
import pytest

from cpunmt.formats.conversion import packed_tensors
from cpunmt.kernels import softmax
from cpunmt.model.tensors import output_table
from cpunmt.search.settings import Search
from cpunmt.simd import tile
from quantize.checkpoints.stored_weights import stored_table
from quantize.clusters import states as module
from quantize.clusters.states import Sample, decoder_states
from quantize.reference.inputs import hear_inputs
from tests.definitions.matmul import quantize_rows_reference
from tests.sample_models.architectures import NAMED
from tests.sample_models.random_models import engine_of, random_shortlist, random_sources, random_tensors
from tests.sample_models.transformers import make_config


def recorded(engine, sources, top=3, **options):
    """Returns for each source, in the order of the steps: (states [rows, depth], best [rows, top]); logits fall."""
    found = [([], []) for _ in sources]
    for step in decoder_states(engine, sources, top, **options):
        assert step.states.dtype == step.logits.dtype == np.float32 and step.best.dtype == np.int32
        assert step.logits.shape == step.best.shape and (np.diff(step.logits) <= 0).all()
        for sentence, state, best in zip(step.sentences, step.states, step.best, strict=True):
            found[sentence][0].append(state)
            found[sentence][1].append(best)
    return [(np.array(states), np.array(best)) for states, best in found]


def greedy(engine, sources):
    limits = [math.ceil(engine.model.config.max_length_factor * len(source)) for source in sources]
    return [found[0].ids for found in engine.translate(sources, limits, Search(full=True))]


def test_its_constants_are_the_kernels():
    assert (module.AFFINE, module.LOWEST) == (tile.AFFINE, softmax.LOWEST)


@pytest.mark.parametrize("name", NAMED)
def test_states_are_those_of_the_reference(name):
    config = NAMED[name]
    tensors = random_tensors(config, 4)
    engine = engine_of(config, tensors)
    sources = random_sources(3, config.source_size, 6, longest=12)
    targets = greedy(engine, sources)
    weights = tensors["output.bias"], tensors[output_table(config)]
    for source, target, (states, best) in zip(sources, targets, recorded(engine, sources), strict=True):
        heard = []
        hear_inputs(config, tensors, [source], [target], lambda name, x, heard=heard: heard.append((name, np.array(x))))
        expected = np.concatenate([x for name, x in heard if name == output_table(config)])
        assert states.shape == expected.shape == (len(target), config.architecture.model_dim)
        assert np.allclose(states, expected, atol=2e-3 * np.abs(expected).max())
        assert best[:, 0].tolist() == target
        are_best(best, states.astype(np.float64) @ weights[1].T + weights[0], config.unk_id, 1e-5)


def are_best(best, logits, unk_id, error):
    """Checks that rows of `best` are the largest of `logits` except <unk>, within `error` of the true ones."""
    logits[:, unk_id] = -np.inf
    error = error * np.abs(logits[np.isfinite(logits)]).max()
    ranked = np.sort(logits, axis=1)[:, ::-1][:, : best.shape[1]]
    assert np.allclose(np.take_along_axis(logits, best.astype(np.int64), axis=1), ranked, atol=error, rtol=0)
    assert all(len(set(row)) == len(row) for row in best.tolist()) and not (best == unk_id).any()


@pytest.mark.parametrize("scheme", ["int8", "int16", "code4", "float16"])
@pytest.mark.parametrize("name", ["opus", "untied", list(NAMED)[-1]])
def test_a_packed_model_is_recorded_as_it_is(name, scheme):
    """The first of the best pieces is the engine's, in every scheme."""
    config = NAMED[name]
    engine = engine_of(config, random_tensors(config, 4), scheme)
    sources = random_sources(5, config.source_size, 40, longest=20)
    for target, (_, best) in zip(greedy(engine, sources), recorded(engine, sources, 5), strict=True):
        assert best[:, 0].tolist() == target


def test_best_pieces_of_an_int8_model_are_those_of_its_integers():
    config = make_config(vocab_size=300)
    tensors = random_tensors(config, 6)
    packed_config, packed = packed_tensors(config, tensors, "int8")
    engine = engine_of(config, tensors, "int8")
    table = output_table(config)
    weights = stored_table(packed_config, packed, table).astype(np.float64) * packed[f"{table}.scale"][:300, None]
    for step in decoder_states(engine, random_sources(5, 300, 20), 7):
        q, scales, shifts = quantize_rows_reference(step.states)
        rounded = q * scales[:, None].astype(np.float64) + shifts[:, None]
        logits = rounded @ weights.T + packed["output.bias"][:300]
        expected = np.take_along_axis(logits, step.best.astype(np.int64), axis=1)
        assert np.allclose(step.logits, expected, atol=1e-6 * np.abs(logits).max(), rtol=0)
        are_best(step.best, logits, config.unk_id, 1e-6)


def test_no_sentence_depends_on_the_others(monkeypatch):
    """Many more sentences than a batch holds, in sorted order, in one batch or several."""
    config = make_config()
    engine = engine_of(config, random_tensors(config, 2), "int8")
    sources = random_sources(8, config.vocab_size, 150, longest=30)
    told = []
    together = recorded(engine, sources, done=told.append)
    assert sum(told) == 150
    for source, (states, best) in list(zip(sources, together, strict=True))[::15]:
        ((alone, best_alone),) = recorded(engine, [source])
        assert np.array_equal(states, alone) and np.array_equal(best, best_alone)
    monkeypatch.setattr(module, "_SENTENCES", 47)
    monkeypatch.setattr(module, "_ROWS", 3)
    for one, other in zip(together, recorded(engine, sources), strict=True):
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def test_a_shortlist_is_not_used():
    config = make_config()
    tensors = random_tensors(config, 2)
    sources = random_sources(8, config.vocab_size, 10)
    short = engine_of(config, tensors, shortlist=random_shortlist(1, config.vocab_size, first=4, most=2))
    for one, other in zip(recorded(engine_of(config, tensors), sources, 20), recorded(short, sources, 20), strict=True):
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def test_a_beam_has_a_state_for_each_hypothesis():
    config = make_config()
    engine = engine_of(config, random_tensors(config, 2))
    sources = random_sources(8, config.vocab_size, 12)
    steps = {number: [] for number in range(len(sources))}
    for step in decoder_states(engine, sources, 2, beam_size=3):
        for number in set(step.sentences.tolist()):
            steps[number].append(np.count_nonzero(step.sentences == number))
    for counts in steps.values():
        assert counts[0] == 1 and max(counts) <= 3
        assert sorted(counts[1:], reverse=True) == counts[1:]  # it shrinks as hypotheses end
    assert any(len(counts) > 1 and counts[1] > 1 for counts in steps.values())


def test_a_model_that_may_say_unk_has_it_among_the_best():
    config = make_config(replace_unknowns=True)
    tensors = random_tensors(config, 2)
    tensors["output.bias"][config.unk_id] += 100
    ((_, best),) = recorded(engine_of(config, tensors), [[5, 6, 7, 0]])
    assert (best[:, 0] == config.unk_id).all()


def filled(most, rows, part, seed=1):
    sample = Sample(most, 2, 1, seed)
    values = np.arange(rows)
    for begin in range(0, rows, part):
        some = values[begin : begin + part]
        states, best = np.stack([some, -some], axis=1).astype(np.float32), some[:, None].astype(np.int32)
        sample.add(states, best, states[:, :1] / 2)
    assert sample.seen == rows and np.array_equal(sample.states[:, 0], sample.best[:, 0])
    assert np.array_equal(sample.states[:, 1], -sample.states[:, 0])
    assert np.array_equal(sample.logits[:, 0], sample.states[:, 0] / 2) and sample.logits.dtype == np.float32
    return sample.best[:, 0]


def test_what_there_is_room_for_is_kept_in_order():
    assert filled(100, 70, 9).tolist() == list(range(70))
    assert filled(70, 70, 9).tolist() == list(range(70))


def test_of_more_as_many_are_kept_and_none_twice_each_as_likely_as_another():
    kept = filled(50, 1000, 13)
    assert len(kept) == len(set(kept.tolist())) == 50
    assert np.array_equal(kept, filled(50, 1000, 13)) and not np.array_equal(kept, filled(50, 1000, 13, seed=2))
    counts = np.bincount(np.concatenate([filled(20, 100, 7, seed) for seed in range(1000)]), minlength=100)
    assert abs(counts - 200).max() < 5 * np.sqrt(200 * 0.8)
