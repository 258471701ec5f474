"""The choice of bits under a budget: divergences are those of the definition, and the budget holds."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.engine.engine import Engine
from cpunmt.errors import CpunmtError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model, matrices
from quantize.evaluation import bit_budget as module
from quantize.evaluation import forced_decoding
from quantize.evaluation.bit_budget import Predictions, choose_bits, frontier_sets, remembered
from quantize.reference.network import Reference
from quantize.rounding.matrix_quantizer import matrix_quantizer
from quantize.rounding.ranges import Range
from tests.sample_models.random_models import engine_of, random_checkpoint, random_sources

CONFIG, TENSORS = random_checkpoint(3, enc=1, dec=1)
SOURCES = random_sources(1, CONFIG.vocab_size, 6, longest=9)
TARGETS = [[*target[:-1][::-1], 0] for target in SOURCES]
PROMPTS = [tuple(target[:count]) for target, count in zip(TARGETS, [0, 1, 0, 1, 0, 0], strict=True)]
KEPT = {"encoder.0.feed_forward.inner": "int16"}
QUANTIZER = remembered(matrix_quantizer(CONFIG, Range()))


@pytest.fixture(scope="module")
def predictions():
    return Predictions(engine_of(CONFIG, TENSORS), SOURCES, TARGETS, PROMPTS)


def model(scheme, schemes):
    return packed_tensors(CONFIG, TENSORS, scheme, schemes=schemes, quantizer=QUANTIZER)


def chosen(predictions, budget):
    """Returns a choice, and the bytes of the model; the divergence is that of the whole model."""
    choice = choose_bits(CONFIG, TENSORS, "log4", budget, predictions, kept=KEPT, quantizer=QUANTIZER)
    made = model("log4", choice.schemes)
    assert choice.whole == predictions.divergence(Engine(Model(*made)))
    assert choice.alone.keys() == set(matrices(CONFIG)) - KEPT.keys() and KEPT.items() <= choice.schemes.items()
    return choice, sum(tensor.nbytes for tensor in made[1].values())


def distributions(tensors):
    """Returns the probabilities of all pieces at each place of each sentence, by the definition of the network."""
    reference, found = Reference(CONFIG, tensors), []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        state, rows = reference.start(reference.encode(source)), []
        for place in range(len(target)):
            logits, state = reference.step(state, [target[place - 1]])
            rows.append(np.exp(logits[0].astype(np.float64) - logits.max()))
        found.append(np.array(rows) / np.sum(rows, axis=1, keepdims=True))
    return found


def test_divergence_is_that_of_the_definition(predictions, monkeypatch):
    engine, expected = engine_of(CONFIG, TENSORS), distributions(TENSORS)
    monkeypatch.setattr(forced_decoding, "_SENTENCES", 4)
    found = list(forced_decoding.log_distributions(engine, SOURCES, TARGETS, PROMPTS))
    for ours, theirs, prompt in zip(found, expected, PROMPTS, strict=True):
        assert ours.shape == theirs[len(prompt) :].shape and np.allclose(np.exp(ours), theirs[len(prompt) :], atol=1e-5)
    assert predictions.divergence(engine) == 0
    changed = {**TENSORS, "embedding": TENSORS["embedding"] * np.float32(1.1)}
    pairs = zip(expected, distributions(changed), PROMPTS, strict=True)
    terms = np.concatenate([(p * np.log(p / q)).sum(axis=1)[len(prompt) :] for p, q, prompt in pairs])
    nats = predictions.divergence(engine_of(CONFIG, changed))
    assert nats == pytest.approx(terms.mean(), rel=1e-3) and nats > 0.001


def test_predictions_of_large_vocabularies_are_of_fewer_sentences(predictions, monkeypatch):
    assert predictions.sentences == 6
    two = CONFIG.vocab_size * (len(TARGETS[0]) + len(TARGETS[1]))
    for most, expected in ((two, 2), (two - 1, 1), (1, 1)):
        monkeypatch.setattr(module, "_MAX_LOGITS", most)
        made = Predictions(engine_of(CONFIG, TENSORS), SOURCES, TARGETS, PROMPTS)
        assert made.sentences == expected and made.divergence(engine_of(CONFIG, TENSORS)) == 0


def test_the_budget_holds_and_a_larger_one_never_takes_more_bytes(predictions):
    (nothing, most), (whole, least) = chosen(predictions, 0), chosen(predictions, 1e9)
    assert nothing.schemes == {**dict.fromkeys(matrices(CONFIG), "int8"), **KEPT} and whole.schemes == KEPT
    assert 0 < nothing.whole < whole.whole and least < most
    sizes = []
    for budget in np.geomspace(nothing.whole, whole.whole, 4):
        choice, size = chosen(predictions, budget)
        assert choice.whole <= budget and choice.alone == nothing.alone
        sizes.append(size)
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) > 2 and sizes[-1] == least


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30)), max_size=7))
def test_the_frontier_is_that_of_all_sets(matrices):
    sizes, losses = ({str(i): matrix[k] for i, matrix in enumerate(matrices)} for k in (0, 1))

    def sums(names):
        return sum(sizes[name] for name in names), sum(losses[name] for name in names)

    sets = [names for count in range(len(sizes) + 1) for names in itertools.combinations(sizes, count)]
    found = [sums(names) for names in frontier_sets(sizes, losses)]
    every = {sums(names) for names in sets}
    assert found == sorted(
        (size, loss)
        for size, loss in every
        if not any(other != (size, loss) and other[0] >= size and other[1] <= loss for other in every)
    )


def test_each_matrix_is_measured_alone_and_rounded_once(predictions):
    calls, rounded = [], []

    def quantizer(name, weights, scheme):
        rounded.append((name, scheme))
        return QUANTIZER(name, weights, scheme)

    options = {"kept": KEPT, "quantizer": remembered(quantizer), "done": calls.append}
    choice = choose_bits(CONFIG, TENSORS, "code4", 0.01, predictions, **options)
    name = "decoder.0.feed_forward.outer"
    alone = model("float32", {name: "code4"})
    assert choice.alone[name] == predictions.divergence(Engine(Model(*alone)))
    assert calls == [1] * (len(matrices(CONFIG)) - 1) and len(rounded) == len(set(rounded))


def test_a_model_without_finite_predictions_is_refused():
    huge = {**TENSORS, "output.bias": np.full_like(TENSORS["output.bias"], 3e38)}
    huge["output.bias"][:2] = -3e38
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(CpunmtError, match="embedding as log4, predictions"),
    ):
        made = Predictions(engine_of(CONFIG, huge), SOURCES, TARGETS, PROMPTS)
        choose_bits(CONFIG, huge, "log4", 1, made, kept={}, quantizer=QUANTIZER)
