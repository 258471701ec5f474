"""The comparison of speed: the translated sentences, and the figures computed from them, not the speed itself."""

import itertools
import os

import pytest

from cpunmt.simd.isa import Isa
from quantize.evaluation.speed import SENTENCES, compare_speed, machine, sampled
from tests.support.command_line import sentences


@pytest.mark.parametrize("count", [1, 2, 299, 300, 301, 1000, 2737])
def test_the_sample_is_spread_evenly(count):
    lines = [str(number) for number in range(count)]
    chosen = sampled(lines)
    assert min(count, SENTENCES // 2) <= len(chosen) <= SENTENCES
    assert chosen[0] == "0" and int(chosen[-1]) > 0.98 * count - 2
    assert len({int(b) - int(a) for a, b in itertools.pairwise(chosen)}) <= 1


def test_figures_are_positive_and_of_the_words_that_were_translated(student, float_student):
    lines, done = sentences(12), []
    found = compare_speed(student, float_student, lines, {"vocabulary": "full"}, 3, done.append)
    assert done == [12] * 6
    assert (found["sentences"], found["words"], found["rounds"]) == (12, sum(len(s.split()) for s in lines), 3)
    for mode in ("one_at_a_time", "bulk"):
        rates = found[mode]
        assert rates.keys() == {"baseline", "model", "ratio"} and min(rates.values()) > 0
    one = compare_speed(student, student, lines[:1], {}, 1)
    for mode in ("one_at_a_time", "bulk"):
        assert one[mode]["ratio"] == pytest.approx(one[mode]["model"] / one[mode]["baseline"])


def test_the_machine_is_named():
    found = machine()
    assert found["cpu"] and found["isa"] in {path.value for path in Isa}
    assert found["cores"] == sorted(os.sched_getaffinity(0))
