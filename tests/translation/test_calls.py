"""Calls: sentences shared among workers, every result at its place."""

import itertools
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.process.workers import Workers
from cpunmt.translation.calls import LEAST, MOST, PARTS, Call, shares


@given(st.lists(st.integers(1, 3000), max_size=200), st.integers(1, 8))
def test_shares_hold_every_sentence_once_the_longest_first_and_become_smaller(sizes, workers):
    made = list(shares(sizes, workers))
    order = list(itertools.chain.from_iterable(made))
    assert sorted(order) == list(range(len(sizes)))
    assert [sizes[i] for i in order] == sorted(sizes, reverse=True)
    weights = [sum(sizes[i] for i in share) for share in made]
    left = sum(sizes)
    for weight in weights[:-1]:
        wanted = min(MOST, max(LEAST, left / (workers * PARTS)))
        assert wanted <= weight <= wanted + max(sizes)
        left -= weight


def negated(numbers):
    return [-number for number in numbers]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_results_are_in_order(workers, count):
    sizes = [number % 40 + 1 for number in range(count)]
    call = Call(Workers(workers), sizes, negated)
    assert call.results() == negated(range(count))
    found = Call(Workers(workers), sizes, negated).asynchronous()
    assert [result.result() for result in found] == negated(range(count))
    assert all(result.done() for result in found)


def test_little_work_starts_no_thread():
    seen = []
    call = Call(Workers(4), [10, 10], lambda numbers: seen.append(threading.current_thread()) or list(numbers))
    assert call.results() == [0, 1]
    assert seen == [threading.current_thread()]


def test_a_result_that_is_in_the_making_is_not_done():
    go = threading.Event()
    (result,) = Call(Workers(1), [1], lambda numbers: go.wait(30) and list(numbers)).asynchronous()
    assert not result.done()
    go.set()
    assert result.result() == 0 and result.done()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["result", "done"])
def test_a_fork_does_not_wait_for_a_result_that_no_thread_of_it_makes(method):
    go = threading.Event()
    (result,) = Call(Workers(1), [1], lambda numbers: go.wait(30) and list(numbers)).asynchronous()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            getattr(result, method)()
        except RuntimeError as error:
            told = f"this result is made in process {os.getppid()}, and cannot be waited for in a fork of it; call "
            os._exit(0 if str(error).startswith(told) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go.set()
    assert result.result() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_where_the_result_is_wanted(workers):
    def fail(numbers):
        raise ZeroDivisionError("on purpose")

    call = Call(Workers(workers), [LEAST] * 4, fail)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        call.results()
    results = call.asynchronous()
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        results[3].result()
