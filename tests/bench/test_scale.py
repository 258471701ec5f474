"""The simulated cluster: nothing is lost or doubled, time is accounted for, and closed forms hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.scale.cluster import Cluster, Storage, simulate


def same(found, expected):
    assert found == pytest.approx(expected, rel=1e-9)


@given(
    workers=st.integers(1, 12),
    seconds=st.lists(st.floats(0.5, 50), min_size=1, max_size=40),
    size=st.sampled_from([0.0, 10.0, 100.0]),
    failure=st.sampled_from([20.0, 60.0, 300.0, math.inf]),
    replacement=st.sampled_from([0.0, 7.0]),
    startup=st.sampled_from([0.0, 3.0]),
    storage=st.sampled_from([1.0, 50.0, math.inf]),
    spread=st.sampled_from([0.0, 0.3]),
    speculation=st.booleans(),
    seed=st.integers(0, 99),
)
def test_every_shard_counts_once_and_all_time_is_accounted_for(
    workers, seconds, size, failure, replacement, startup, storage, spread, speculation, seed
):
    seconds = np.minimum(seconds, failure)  # e^k attempts for one of k mean times to failure: it shall end
    sizes = np.full(len(seconds), min(size, size if storage > 1 else 1.0))
    cluster = Cluster(workers, spread, failure, replacement, startup, storage, 20.0, speculation)
    found = simulate(cluster, seconds, sizes, seed)
    assert (found.done == 1).all()
    same(found.total, workers * found.makespan)
    assert min(found.useful, found.lost, found.doubled, found.idle, found.down, found.starting) >= 0
    assert found.attempts >= len(seconds) and (found.failures > 0 or found.lost == found.down == 0)
    assert speculation or found.doubled == 0
    assert simulate(cluster, seconds, sizes, seed).makespan == found.makespan


@pytest.mark.parametrize(("workers", "shards"), [(1, 7), (10, 10), (10, 11), (64, 1000)])
def test_without_failures_equal_shards_go_in_rounds(workers, shards):
    found = simulate(Cluster(workers, startup=5), np.full(shards, 30.0), np.zeros(shards))
    rounds = math.ceil(shards / workers)
    same(found.makespan, 5 + 30 * rounds)
    same(found.useful, 30 * shards)
    same(found.idle, 30 * (rounds * workers - shards))
    assert (found.attempts, found.lost, found.starting) == (shards, 0, 5 * workers)


def test_transfers_share_the_storage():
    """Four of 100 bytes at 40 bytes per second, of which one card takes 25: 10 each; alone 25."""
    four = simulate(Cluster(4, storage=40, card=25), np.full(4, 1.0), np.full(4, 100.0))
    same(four.makespan, 11)
    one = simulate(Cluster(1, storage=40, card=25), np.full(3, 1.0), np.full(3, 100.0))
    same(one.makespan, 15)
    same(one.waiting, 12)


def test_who_comes_later_slows_the_others_down():
    """100 bytes at 10 per second from 0 on, 20 more bytes from 4 on: both go at 5 until 8; 100 - 40 - 20 are left."""
    storage = Storage(10, math.inf)
    storage.advance(0)
    storage.add(0, 100)
    storage.advance(4)
    storage.add(1, 20)
    assert storage.next() == (8, 1)
    storage.advance(8)
    storage.remove(1)
    assert storage.next() == (12, 0)


@pytest.mark.parametrize("work", [0.05, 0.5, 1.5])
def test_failures_cost_what_theory_says(work):
    """The time until a task of t is done, begun again at each failure, with failures at the rate r.

    Its mean is (e^(rt) - 1) / r, its variance (e^(2rt) - 2 rt e^(rt) - 1) / r^2; there are e^(rt) - 1 failures. The
    exponential distribution has no memory, so this holds for each shard of many workers.
    """
    rate, shards, workers = 1 / 1000, 20_000, 50
    seconds = work / rate
    found = simulate(Cluster(workers, 0.0, 1 / rate, 60.0), np.full(shards, seconds), np.zeros(shards), seed=3)
    grown = math.exp(work)
    mean, deviation = (grown - 1) / rate, math.sqrt(grown**2 - 2 * work * grown - 1) / rate
    assert abs((found.useful + found.lost) / shards - mean) < 4 * deviation / math.sqrt(shards)
    same(found.useful, seconds * shards)
    # each attempt fails with probability 1 - e^(-rt): attempts are geometric, of variance e^(2rt) - e^(rt)
    assert abs(found.attempts / shards - grown) < 4 * math.sqrt((grown**2 - grown) / shards)
    lost = found.attempts - shards
    assert lost <= found.failures <= lost + found.idle / 1000 * 3 + 20  # failures of idle workers lose nothing
    assert found.down == pytest.approx(60 * found.failures, rel=0.01)  # but for the last ones


@pytest.mark.parametrize("seed", range(8))
def test_a_copy_saves_a_straggler(seed):
    """Two machines, two shards: the first to finish also begins the other's shard, and the faster attempt ends it."""
    slow, fast = sorted(np.exp(np.random.default_rng(seed).normal(0, 1, 2)))
    seconds, sizes = np.full(2, 60.0), np.zeros(2)
    alone, copied = (simulate(Cluster(2, 1.0, speculation=on), seconds, sizes, seed) for on in (False, True))
    same(alone.makespan, 60 / slow)
    same(copied.makespan, min(60 / slow, 2 * 60 / fast))
    same(copied.doubled, 60 / slow - 60 / fast if 60 / slow < 120 / fast else 120 / fast)
    assert (copied.attempts, alone.attempts, alone.doubled) == (3, 2, 0)
