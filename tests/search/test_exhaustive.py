"""A beam wide enough for all hypotheses equals exhaustive search."""

import itertools

import numpy as np
import pytest

from cpunmt.search.settings import Search
from tests.definitions.greedy import log_softmax
from tests.definitions.naive_network import NaiveNetwork
from tests.sample_models.random_models import engine_of, random_checkpoint
from tests.support.speeds import slow_after

EOS, UNK = 0, 1
LIMIT = 4
SIZES = {"d": 32, "f": 32, "heads": 2, "enc": 1, "dec": 2, "vocab": 5}


def all_translations(vocabulary):
    """Yields every sequence that ends with </s>, or is cut off at LIMIT."""
    words = [i for i in range(vocabulary) if i not in (EOS, UNK)]
    for length in range(LIMIT):
        for begin in itertools.product(words, repeat=length):
            yield [*begin, EOS]
    yield from (list(cut) for cut in itertools.product(words, repeat=LIMIT))


def log_prob(network, source, target):
    """Returns the log-probability of one translation, from a network that decodes it from the start."""
    scores = log_softmax(network.logits(source, target))
    return float(scores[np.arange(len(target)), target].sum())


@pytest.mark.parametrize("seed", slow_after(1, range(4)))
@pytest.mark.parametrize("length_penalty, word_penalty", slow_after(1, [(0.7, 0.5), (1.0, 0.0), (0.0, 0.0)]))
def test_a_wide_beam_ranks_all_translations(seed, length_penalty, word_penalty):
    config, tensors = random_checkpoint(seed, **SIZES)
    network, source = NaiveNetwork(config, tensors), [2, 4, 3, EOS]
    targets = list(all_translations(config.vocab_size))
    sums = [log_prob(network, source, target) for target in targets]
    scores = [
        (total - word_penalty * len(target)) / len(target) ** length_penalty
        for total, target in zip(sums, targets, strict=True)
    ]
    best = sorted(range(len(targets)), key=lambda i: -scores[i])
    count = len(targets)
    search = Search(count, count, length_penalty, word_penalty)
    made = engine_of(config, tensors).translate([source], [LIMIT], search)[0]
    assert len(made) == count == 121
    for hypothesis, i in zip(made, best, strict=True):
        assert abs(hypothesis.score - scores[i]) < 1e-4
        assert abs(hypothesis.log_prob - sums[targets.index(hypothesis.ids)]) < 1e-4
    assert made[0].ids == targets[best[0]]
    assert {tuple(h.ids) for h in made} == {tuple(target) for target in targets}
