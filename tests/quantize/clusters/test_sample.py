"""The reservoir: all rows while there is room, then as many, each as likely as another."""

import numpy as np

from quantize.clusters.sample import Sample


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
