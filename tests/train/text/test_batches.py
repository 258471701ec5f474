"""Epochs: complete, reproducible, and cut into batches that fit."""

import itertools

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.train.text.batches import Batches, Examples, Texts, batches_of_epoch, endless, pairs_of_epoch


def texts(lengths) -> Texts:
    """Returns texts: text i is of ids 100 i, 100 i + 1, ... and a final 0."""
    ids = [np.append(100 * number + np.arange(length - 1), 0) for number, length in enumerate(lengths)]
    return Texts(np.concatenate(ids), np.concatenate([[0], np.cumsum(lengths)]))


def examples(sources, targets, repeat) -> Examples:
    """Makes examples from lists of lengths, one list for each example."""
    return Examples(
        texts([length for some in sources for length in some]),
        texts([length for some in targets for length in some]),
        np.concatenate([[0], np.cumsum([len(some) for some in sources])]),
        np.concatenate([[0], np.cumsum([len(some) for some in targets])]),
        np.array(repeat, float),
    )


some_lengths = st.lists(st.integers(1, 30), min_size=1, max_size=4)
some_examples = st.lists(st.tuples(some_lengths, some_lengths), min_size=1, max_size=30)


@given(some_examples, st.integers(0, 3), st.integers(30, 90))
def test_batches_hold_the_pairs_of_the_epoch_and_fit(lengths, epoch, tokens):
    given_examples = examples(*zip(*lengths, strict=True), [1] * len(lengths))
    pairs = pairs_of_epoch(given_examples, 7, epoch, longest=25)
    batches = batches_of_epoch(given_examples, 7, epoch, 25, tokens)
    made = np.concatenate([*batches, np.empty((0, 2), np.int64)])
    assert sorted(map(tuple, made)) == sorted(map(tuple, pairs))
    for batch in batches:
        lengths_of = given_examples.sources.lengths[batch[:, 0]], given_examples.targets.lengths[batch[:, 1]]
        assert max(map(max, lengths_of)) * len(batch) <= tokens
        assert max(map(max, lengths_of)) <= 25


@given(some_examples, st.integers(1, 4))
def test_batches_of_few_shapes_hold_the_same_pairs(lengths, bits):
    given_examples = examples(*zip(*lengths, strict=True), [1] * len(lengths))
    plain, rounded = (batches_of_epoch(given_examples, 7, 0, 25, 200, row_bits) for row_bits in (0, bits))
    made = [sorted(map(tuple, np.concatenate([*some, np.empty((0, 2), np.int64)]))) for some in (plain, rounded)]
    assert made[0] == made[1]
    for batch in rounded:
        assert len(f"{len(batch):b}".rstrip("0")) <= bits


def test_an_epoch_takes_one_pair_of_each_example():
    given_examples = examples([[3], [3, 3]], [[4, 4, 4], [5]], [1, 1])
    seen = set()
    for epoch in range(40):
        pairs = pairs_of_epoch(given_examples, 1, epoch, 10)
        assert sorted(source > 0 for source, _ in pairs) == [False, True]
        seen |= set(map(tuple, pairs))
    assert seen == {(0, 0), (0, 1), (0, 2), (1, 3), (2, 3)}


def test_repeats_may_be_fractions():
    given_examples = examples([[3], [3]], [[3], [3]], [2, 0.5])
    counts = np.array([np.bincount(pairs_of_epoch(given_examples, 1, e, 9)[:, 0], minlength=2) for e in range(400)])
    assert set(counts[:, 0]) == {2} and set(counts[:, 1]) == {0, 1}
    assert 0.4 < counts[:, 1].mean() < 0.6


def test_any_place_can_be_gone_on_from():
    given_examples = examples([[3]] * 40, [[n % 9 + 1] for n in range(40)], [1] * 40)
    whole = list(itertools.islice(endless(given_examples, 3, 20, 40), 30))
    assert whole[-1][0][0] > 0  # more than one epoch
    for start in (0, 4, 11, 20):
        place = whole[start][0]
        resumed = list(itertools.islice(endless(given_examples, 3, 20, 40, *place), 29 - start))
        assert [p for p, _ in resumed] == [p for p, _ in whole[start + 1 :]]
        assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(resumed, whole[start + 1 :], strict=True))
    first, other = (np.concatenate(batches_of_epoch(given_examples, seed, 0, 20, 40)) for seed in (3, 4))
    assert not np.array_equal(first, other)


def test_a_batch_is_filled_up():
    batch = Batches(examples([[3], [2]], [[2], [4]], [1, 1]), eos_id=0).of(np.array([[0, 1], [1, 0]]))
    assert batch.sources.tolist() == [[0, 1, 0], [100, 0, 0]] and batch.source_lengths.tolist() == [3, 2]
    assert batch.targets.tolist() == [[100, 101, 102, 0], [0, 0, 0, 0]] and batch.target_lengths.tolist() == [4, 2]
    assert batch.tokens == 6 and batch.sources.dtype == batch.targets.dtype == torch.int64
    assert batch.places.tolist() == [0, 1, 2, 3, 4, 5]
    assert batch.pieces(batch.targets[..., None] * torch.tensor([1, 2])).tolist()[1] == [101, 202]
    batch = Batches(examples([[3], [2]], [[2], [4]], [1, 1]), eos_id=0).of(np.array([[0, 0], [1, 1]]))
    assert batch.pieces(batch.targets).tolist() == [0, 0, 100, 101, 102, 0] and batch.places.tolist()[2] == 4
