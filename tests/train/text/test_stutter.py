"""Stutter: what the decoder reads repeats a group, and what it learns goes on after each repetition."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.train.text.batches import batch_of
from models.train.text.stutter import LONGEST_GROUP, MOST_TIMES, stuttered

some_targets = st.lists(st.lists(st.integers(1, 5), max_size=12), min_size=1, max_size=6)


def batch(targets):
    """Returns a batch of these targets and </s>, 0, each with a source of one piece."""
    lengths = torch.tensor([len(target) + 1 for target in targets])
    rows = torch.tensor([target + [0] * (int(lengths.max()) - len(target)) for target in targets])
    return batch_of(rows[:, :1] * 0, lengths * 0 + 1, rows, lengths)


def rows_of(batch):
    """Returns pairs of what is read and what is learned, without padding."""
    pairs = zip(batch.targets.tolist(), batch.wanted.tolist(), batch.target_lengths.tolist(), strict=True)
    return [(read[:length], wanted[:length]) for read, wanted, length in pairs]


def learned_texts(read, wanted, text):
    """Returns all (size, times, end) of a group of `text` that explain what is read and what is learned."""
    found = []
    for size in range(1, LONGEST_GROUP + 1):
        for times in range(1, MOST_TIMES + 1):
            for end in range(size, len(text)):
                repeated = text[:end] + text[end - size : end] * times + text[end:]
                goal = text[:end] + [text[end], *[-1] * (size - 1)] * times + text[end:]
                if (read, wanted) == (repeated, goal):
                    found.append((size, times, end))
    return found


@given(some_targets, st.integers(0, 99))
def test_each_target_is_as_it_was_or_repeats_one_group(targets, seed):
    made = stuttered(batch(targets), 1.0, np.random.default_rng(seed))
    for target, (read, wanted) in zip(targets, rows_of(made), strict=True):
        text = [*target, 0]
        assert (read, wanted) == (text, text) or learned_texts(read, wanted, text)
    beyond = torch.arange(made.targets.shape[1]) >= made.target_lengths[:, None]
    assert not made.targets[beyond].any()  # padded with </s>
    assert (made.wanted[beyond] == -1).all()


def test_a_group_is_followed_by_what_follows_it_in_the_text():
    made = stuttered(batch([[1, 2, 3, 4]] * 400), 1.0, np.random.default_rng(1))
    found = [learned_texts(read, wanted, [1, 2, 3, 4, 0]) for read, wanted in rows_of(made)]
    assert all(len(some) == 1 for some in found)  # different pieces: it is certain what was repeated
    sizes, times, ends = (set(some) for some in zip(*(some[0] for some in found), strict=True))
    assert (sizes, times, ends) == ({1, 2, 3, 4}, {1, 2, 3}, {1, 2, 3, 4})
    assert ([1, 2, 2, 2, 3, 4, 0], [1, 2, 3, 3, 3, 4, 0]) in rows_of(made)
    assert ([1, 2, 1, 2, 3, 4, 0], [1, 2, 3, -1, 3, 4, 0]) in rows_of(made)


def test_a_share_of_the_targets_repeats_and_repetitions_of_the_text_are_left():
    made = stuttered(batch([[1, 2, 3, 4]] * 1000), 0.2, np.random.default_rng(1))
    assert 150 < sum(read != [1, 2, 3, 4, 0] for read, _ in rows_of(made)) < 250
    again = rows_of(stuttered(batch([[1, 1, 1]] * 50), 1.0, np.random.default_rng(1)))
    changed = [learned_texts(read, wanted, [1, 1, 1, 0]) for read, wanted in again if read != [1, 1, 1, 0]]
    assert changed and all(end == 3 for some in changed for *_, end in some)  # only </s> is something else
