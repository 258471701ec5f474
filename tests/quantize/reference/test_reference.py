"""The reference against the same formulae written as loops over float64, and its laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantize.reference.formulas import attention, layer_norm, positions, relu, sigmoid, softmax
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy, log_softmax
from tests.definitions.naive_network import NaiveNetwork, naive_attention, naive_layer_norm, naive_positions
from tests.sample_models.marian_model import read_marian_npz, write_marian_npz

EOS, UNK, VOCAB, D, FFN = 0, 1, 96, 32, 64
SOURCE = [5, 17, 42, 17, 80, EOS]
CLOSE = {"rtol": 2e-4, "atol": 2e-5}  # float32 with a handful of layers against float64

sources = st.lists(st.integers(2, VOCAB - 1), max_size=8).map(lambda ids: [*ids, EOS])


def read_model(path, **sizes):
    write_marian_npz(path, **sizes)
    return read_marian_npz(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Reference(*read_model(tmp_path_factory.mktemp("model") / "model.npz", seed=4, enc=2, dec=2))


def with_output_bias(model, changes) -> Reference:
    bias = model.tensors["output.bias"].copy()
    for token, value in changes.items():
        bias[token] = value
    return Reference(model.config, {**model.tensors, "output.bias": bias})


# --- pieces ---


@pytest.mark.parametrize("first, count, d", [(0, 1, 16), (0, 9, 32), (37, 3, 64)])
def test_positions_are_marians(first, count, d):
    found = positions(first, count, d)
    assert found.dtype == np.float32 and found.shape == (count, d)
    np.testing.assert_allclose(found, naive_positions(first, count, d), atol=1e-5)


def test_position_zero_is_zeros_then_ones():
    np.testing.assert_array_equal(positions(0, 1, 16)[0], [0] * 8 + [1] * 8)


def test_slowest_sine_has_denominator_10000():
    np.testing.assert_allclose(positions(5000, 1, 16)[0, 7], math.sin(0.5), atol=1e-6)


@pytest.mark.parametrize("queries, keys, heads, d", [(1, 1, 1, 4), (3, 5, 2, 8), (4, 2, 4, 8)])
def test_attention_equals_loops(queries, keys, heads, d):
    generator = np.random.default_rng(1)
    q, k, v = (generator.normal(size=(n, d)).astype(np.float32) for n in (queries, keys, keys))
    found = attention(q, k, v, heads)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive_attention(q, k, v, heads), **CLOSE)


def test_attention_to_one_key_returns_its_value():
    q, k, v = np.ones((3, 4), np.float32), np.ones((1, 4), np.float32), np.arange(4, dtype=np.float32)[None]
    np.testing.assert_array_equal(attention(q, k, v, 2), np.repeat(v, 3, axis=0))


def test_layer_norm_equals_loops():
    generator = np.random.default_rng(2)
    x = generator.normal(3, 2, (4, 10)).astype(np.float32)
    scale, bias = generator.normal(size=(2, 10)).astype(np.float32)
    found = layer_norm(x, scale, bias, 1e-6)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive_layer_norm(x, scale, bias, 1e-6), **CLOSE)


def test_epsilon_is_added_to_the_variance():
    x = np.array([[0.0, 0.002]], np.float32)  # variance 1e-6
    found = layer_norm(x, np.ones(2, np.float32), np.zeros(2, np.float32), 1e-6)
    np.testing.assert_allclose(found, [[-math.sqrt(0.5), math.sqrt(0.5)]], rtol=1e-4)


def test_elementwise_functions():
    x = np.array([-1000, -2, 0, 3, 1000], np.float32)
    np.testing.assert_array_equal(relu(x), [0, 0, 0, 3, 1000])
    expected = [0, 1 / (1 + math.exp(2)), 0.5, 1 / (1 + math.exp(-3)), 1]
    np.testing.assert_allclose(sigmoid(x), expected, rtol=1e-5)
    assert sigmoid(x).dtype == relu(x).dtype == np.float32


def test_softmax_of_large_values():
    x = np.array([1000, 1000, 999], np.float32)
    total = 2 + math.exp(-1)
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


def test_first_step_ignores_the_previous_token(model):
    start = model.start(model.encode(SOURCE), rows=2)
    logits, _ = model.step(start, [3, 50])
    np.testing.assert_array_equal(logits[0], logits[1])


def test_step_leaves_its_state_alone(model):
    _, state = model.step(model.start(model.encode(SOURCE)), [0])
    first, after_first = model.step(state, [5])
    second, after_second = model.step(state, [5])
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(after_first.cells, after_second.cells)
    assert after_first.position == 2


def test_rows_do_not_see_each_other(model):
    encoded = model.encode(SOURCE)
    prefixes = [[4, 8, 15], [16, 23, 42], [4, 8, 42]]
    together = model.start(encoded, rows=3)
    alone = [model.start(encoded) for _ in prefixes]
    for i in range(4):
        previous = [prefix[i - 1] for prefix in prefixes] if i else [0, 0, 0]
        logits, together = model.step(together, previous)
        for row in range(3):
            row_logits, alone[row] = model.step(alone[row], previous[row : row + 1])
            np.testing.assert_allclose(logits[row], row_logits[0], **CLOSE)


def test_candidates_select_logits(model):
    start = model.start(model.encode(SOURCE))
    np.testing.assert_array_equal(model.step(start, [0], [0, 7, 30])[0], model.step(start, [0])[0][:, [0, 7, 30]])


def test_product_and_embed_see_every_matrix(model):
    class Recorder(Reference):
        names, embedded = set(), 0

        def product(self, name, x):
            self.names.add(name)
            return super().product(name, x)

        def embed(self, table, ids):
            self.embedded += len(ids)
            return super().embed(table, ids)

    recorder = Recorder(model.config, model.tensors)
    translation = greedy(recorder, SOURCE)
    assert translation == greedy(model, SOURCE)
    assert recorder.names == {name for name in model.tensors if name.endswith("weight")} | {"embedding"}
    assert recorder.embedded == len(SOURCE) + len(translation.ids) - 1


# --- greedy search ---


@settings(deadline=None, max_examples=40)
@given(source=sources.filter(lambda ids: len(ids) > 1))
def test_greedy_takes_the_best_token_of_each_step(model, source):
    translation = greedy(model, source)
    state, log_prob = model.start(model.encode(source)), 0.0
    for i, token in enumerate(translation.ids):
        logits, state = model.step(state, translation.ids[max(i - 1, 0) : max(i, 1)])
        scores = logits[0].astype(np.float64)
        assert token != UNK and scores[token] == np.delete(scores, UNK).max()
        log_prob += scores[token] - math.log(np.exp(scores - scores.max()).sum()) - scores.max()
    assert math.isclose(translation.log_prob, log_prob, abs_tol=1e-3)
    assert translation.truncated == (translation.ids[-1] != EOS)
    assert EOS not in translation.ids[:-1] and len(translation.ids) <= 3 * len(source)


def test_translations_of_the_random_model_vary_and_end(model):
    found = [greedy(model, [i, 95 - i, EOS]) for i in range(2, 22)]
    assert len({tuple(translation.ids) for translation in found}) >= 10
    assert sum(not translation.truncated for translation in found) >= 5


@settings(deadline=None, max_examples=30)
@given(source=sources.filter(lambda ids: len(ids) > 1), factor=st.floats(0.1, 4))
def test_length_limit_is_exact(model, source, factor):
    endless = with_output_bias(model, {EOS: -1e6})
    translation = greedy(endless, source, max_length_factor=factor)
    assert translation.truncated
    assert len(translation.ids) - 1 < factor * len(source) <= len(translation.ids)


def test_length_factor_comes_from_the_config(model):
    endless = with_output_bias(model, {EOS: -1e6})
    assert model.config.max_length_factor == 3.0
    assert len(greedy(endless, SOURCE).ids) == 3 * len(SOURCE)


def test_end_at_the_limit_is_not_truncated(model):
    ending = with_output_bias(model, {EOS: 1e6})
    translation = greedy(ending, [5, EOS], max_length_factor=0.5)
    assert translation.ids == [EOS] and not translation.truncated


def test_empty_source_is_an_empty_translation(model):
    endless = with_output_bias(model, {EOS: -1e6})
    assert greedy(endless, [EOS]) == ([EOS], 0.0, False)


def test_unknown_is_barred_but_keeps_its_probability(model):
    plain = greedy(model, SOURCE)
    barred = greedy(with_output_bias(model, {UNK: 100.0}), SOURCE)
    assert barred.ids == plain.ids
    assert barred.log_prob < plain.log_prob - 50 * len(plain.ids)


def test_equal_tokens_resolve_to_the_lowest_id(model):
    tensors = {**model.tensors, "embedding": np.zeros((VOCAB, D), np.float32)}
    tensors["output.bias"] = np.zeros(VOCAB, np.float32)
    tensors["output.bias"][EOS] = -1
    translation = greedy(Reference(model.config, tensors), [5, EOS])
    assert translation.ids == [2] * 6  # 0 is worse, 1 is barred


def test_full_candidates_change_nothing(model):
    assert greedy(model, SOURCE, candidates=range(VOCAB)) == greedy(model, SOURCE)


@settings(deadline=None, max_examples=30)
@given(source=sources, others=st.sets(st.integers(2, VOCAB - 1), min_size=1, max_size=20))
def test_candidates_restrict_the_output_and_the_softmax(model, source, others):
    candidates = sorted({EOS, UNK} | others)
    translation = greedy(model, source, candidates)
    assert set(translation.ids) <= {EOS} | others
    if len(source) > 1:
        state = model.start(model.encode(source))
        first = model.step(state, [0])[0][0, candidates].astype(np.float64)
        best = np.delete(first, 1).max() - np.log(np.exp(first).sum())
        assert translation.log_prob <= best + 1e-4
        if len(translation.ids) == 1:
            assert math.isclose(translation.log_prob, best, abs_tol=1e-4)


def test_more_candidates_without_a_winner_keep_the_ids(model):
    full = greedy(model, SOURCE)
    narrow = greedy(model, SOURCE, sorted({EOS, UNK, *full.ids}))
    assert narrow.ids == full.ids and narrow.log_prob > full.log_prob
