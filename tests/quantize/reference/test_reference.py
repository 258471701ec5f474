"""The reference against the same formulae written as loops over float64, and its laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.model.tensors import checkpoint_tensors, linears
from quantize.reference.formulas import attention, layer_norm, positions, relu, sigmoid, softmax
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy, log_softmax
from tests.definitions.naive_network import NaiveNetwork, naive_attention, naive_layer_norm, naive_positions
from tests.sample_models import recurrents
from tests.sample_models.marian_model import read_marian_npz, write_marian_npz
from tests.sample_models.random_models import random_tensors

EOS, UNK, VOCAB = 0, 1, 96
SOURCE = [5, 17, 42, 17, 80, EOS]
CLOSE = {"rtol": 2e-4, "atol": 2e-5}  # float32 with a handful of layers against float64

sources = st.lists(st.integers(2, VOCAB - 1), min_size=1, max_size=8).map(lambda ids: [*ids, EOS])


def read_model(path, **sizes):
    write_marian_npz(path, **sizes)
    return read_marian_npz(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Reference(*read_model(tmp_path_factory.mktemp("model") / "model.npz", seed=4, enc=2, dec=2))


# --- pieces ---


@pytest.mark.parametrize("first, count, d", [(0, 1, 16), (0, 9, 32), (37, 3, 64)])
def test_positions_are_marians(first, count, d):
    found = positions(first, count, d)
    assert found.dtype == np.float32 and found.shape == (count, d)
    np.testing.assert_allclose(found, naive_positions(first, count, d), atol=1e-5)
    if first == 0:
        np.testing.assert_array_equal(found[0], [0] * (d // 2) + [1] * (d // 2))


def test_the_slowest_sine_has_denominator_10000():
    np.testing.assert_allclose(positions(5000, 1, 16)[0, 7], math.sin(0.5), atol=1e-6)


@pytest.mark.parametrize("queries, keys, heads, d", [(1, 1, 1, 4), (3, 5, 2, 8), (4, 2, 4, 8)])
def test_attention_equals_loops(queries, keys, heads, d):
    generator = np.random.default_rng(1)
    q, k, v = (generator.normal(size=(n, d)).astype(np.float32) for n in (queries, keys, keys))
    found = attention(q, k, v, heads)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive_attention(q, k, v, heads), **CLOSE)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5])
def test_layer_norm_equals_loops(epsilon):
    generator = np.random.default_rng(2)
    x = generator.normal(3, 2, (4, 10)).astype(np.float32)
    scale, bias = generator.normal(size=(2, 10)).astype(np.float32)
    found = layer_norm(x, scale, bias, epsilon)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive_layer_norm(x, scale, bias, epsilon), **CLOSE)


def test_elementwise_functions():
    x = np.array([-1000, -2, 0, 3, 1000], np.float32)
    np.testing.assert_array_equal(relu(x), [0, 0, 0, 3, 1000])
    np.testing.assert_allclose(sigmoid(x), [0, 1 / (1 + math.exp(2)), 0.5, 1 / (1 + math.exp(-3)), 1], rtol=1e-5)
    assert sigmoid(x).dtype == relu(x).dtype == np.float32
    total = 2 + math.exp(-1)
    x = np.array([1000, 1000, 999], np.float32)
    np.testing.assert_allclose(softmax(x), [1 / total, 1 / total, math.exp(-1) / total], rtol=1e-5)
    np.testing.assert_allclose(log_softmax(x), np.log([1, 1, math.exp(-1)]) - math.log(total), rtol=1e-5)


# --- the whole network ---


@pytest.mark.parametrize(
    "sizes",
    [
        {"enc": 1, "dec": 1},
        {"enc": 2, "dec": 2},
        {"enc": 1, "dec": 3, "tied_layers": [2, 1, 2]},
    ],
)
def test_network_equals_loops(tmp_path, sizes):
    config, tensors = read_model(tmp_path / "model.npz", seed=3, **sizes)
    model, naive = Reference(config, tensors), NaiveNetwork(config, tensors)
    encoded = model.encode(SOURCE)
    assert encoded.dtype == np.float32
    np.testing.assert_allclose(encoded, naive.encode(SOURCE), **CLOSE)
    target = [9, 9, 71, 4]
    state, found = model.start(encoded), []
    for i in range(len(target)):
        logits, state = model.step(state, target[i - 1 : i])
        assert logits.dtype == np.float32 and logits.shape == (1, VOCAB)
        found.append(logits[0])
    np.testing.assert_allclose(found, naive.logits(SOURCE, target), rtol=1e-3, atol=1e-4)


def test_tied_layers_share_parameters_but_not_cells(tmp_path):
    config, tensors = read_model(tmp_path / "model.npz", seed=3, dec=2, tied_layers=[1, 1])
    model = Reference(config, tensors)
    _, state = model.step(model.start(model.encode(SOURCE)), [0])
    assert not np.allclose(state.cells[0], state.cells[1])


def test_the_first_step_ignores_the_previous_token(model):
    logits, _ = model.step(model.start(model.encode(SOURCE), rows=2), [3, 50])
    np.testing.assert_array_equal(logits[0], logits[1])


@pytest.fixture(params=["transformer", *recurrents.NAMED])
def network(request, model):
    """Returns a network of either family; their laws are the same."""
    if request.param == "transformer":
        return model
    config = recurrents.make_config(**recurrents.NAMED[request.param])
    return Reference(config, random_tensors(config, 2))


def test_rows_do_not_see_each_other_and_a_step_leaves_its_state_alone(network):
    source = [7, 31, 4, 18, 5, 22, 0]
    encoded, prefixes = network.encode(source), [[4, 8, 15], [16, 23, 30], [4, 8, 30]]
    together, alone = network.start(encoded, rows=3), [network.start(encoded) for _ in prefixes]
    for i in range(4):
        previous = [prefix[i - 1] for prefix in prefixes] if i else [0, 1, 2]
        before = [cell.copy() for cell in together.cells]
        logits, following = network.step(together, previous)
        assert all(np.array_equal(*pair) for pair in zip(before, together.cells, strict=True))
        assert following.alignment.shape == (3, len(source)) and np.allclose(following.alignment.sum(axis=1), 1)
        together = following
        assert together.position == i + 1
        for row in range(3):
            row_logits, alone[row] = network.step(alone[row], previous[row : row + 1])
            np.testing.assert_allclose(logits[row], row_logits[0], rtol=1e-3, atol=1e-3)
    chosen, _ = network.step(together.rows([2, 0]), [3, 5], [0, 7, 30])
    expected = network.step(together, [5, 1, 3])[0][[2, 0]][:, [0, 7, 30]]
    np.testing.assert_allclose(chosen, expected, rtol=1e-3, atol=1e-3)


def test_product_and_embed_see_every_matrix(network):
    class Recorder(Reference):
        names, embedded = set(), 0

        def product(self, name, x):
            self.names.add(name)
            return super().product(name, x)

        def embed(self, table, ids):
            self.embedded += len(ids)
            return super().embed(table, ids)

    recorder, source = Recorder(network.config, network.tensors), [5, 17, 32, 17, 30, EOS]
    translation = greedy(recorder, source)
    assert translation == greedy(network, source)
    weights = {weight for linear in linears(network.config) for weight, _ in linear.parts}
    assert recorder.names == weights | {network.tables["output"]}
    assert recorder.embedded == len(source) + len(translation.ids) - 1
    used = {name for name, shape in checkpoint_tensors(network.config).items() if len(shape) == 2}
    assert used == weights | set(network.tables.values())


# --- greedy search, the definition of the compiled one ---


@settings(deadline=None, max_examples=40)
@given(source=sources, factor=st.floats(0.1, 4), others=st.sets(st.integers(2, VOCAB - 1), max_size=20))
def test_greedy_takes_the_best_token_of_each_step(model, source, factor, others):
    candidates = sorted({EOS, UNK} | others) if others else list(range(VOCAB))
    translation = greedy(model, source, candidates, max_length_factor=factor)
    state, log_prob = model.start(model.encode(source)), 0.0
    for i, token in enumerate(translation.ids):
        logits, state = model.step(state, translation.ids[max(i - 1, 0) : max(i, 1)])
        scores = logits[0, candidates].astype(np.float64)
        assert token != UNK and scores[candidates.index(token)] == np.delete(scores, candidates.index(UNK)).max()
        log_prob += scores[candidates.index(token)] - math.log(np.exp(scores - scores.max()).sum()) - scores.max()
    assert math.isclose(translation.log_prob, log_prob, abs_tol=1e-3)
    assert translation.truncated == (translation.ids[-1] != EOS) and EOS not in translation.ids[:-1]
    if translation.truncated:
        assert len(translation.ids) - 1 < factor * len(source) <= len(translation.ids)


def biased(model, changes, **tensors) -> Reference:
    bias = np.array(model.tensors["output.bias"])
    for token, value in changes.items():
        bias[token] = value
    return Reference(model.config, {**model.tensors, **tensors, "output.bias": bias})


def test_the_ends_of_greedy_search(model):
    endless, plain = biased(model, {EOS: -1e6}), greedy(model, SOURCE)
    assert len(greedy(endless, SOURCE).ids) == model.config.max_length_factor * len(SOURCE) == 3 * len(SOURCE)
    assert greedy(endless, [EOS]) == ([EOS], 0.0, False)  # an empty source has an empty translation
    assert greedy(biased(model, {EOS: 1e6}), [5, EOS], max_length_factor=0.5)[::2] == ([EOS], False)  # at the limit
    barred = greedy(biased(model, {UNK: 100.0}), SOURCE)  # <unk> keeps its probability
    assert barred.ids == plain.ids and barred.log_prob < plain.log_prob - 50 * len(plain.ids)
    equal = biased(model, {**dict.fromkeys(range(VOCAB), 0), EOS: -1}, embedding=np.zeros((VOCAB, 32), np.float32))
    assert greedy(equal, [5, EOS]).ids == [2] * 6  # of equal ones the lowest id: 0 is worse, 1 is barred
