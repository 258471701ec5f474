"""Calls: sentences shared among workers, each result in its place."""

import itertools
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import CancelledError, TimeLimitError
from cpunmt.decoding.call_settings import MAX_SHARE_PIECES, MIN_SHARE_PIECES, SHARE_DIVISOR, Call, shares
from cpunmt.process.stopping import Watch
from cpunmt.process.workers import Workers


@given(st.lists(st.integers(1, 3000), max_size=200), st.integers(1, 8))
def test_shares_hold_every_sentence_once_the_longest_first_and_become_smaller(sizes, workers):
    made = list(shares(sizes, workers))
    order = list(itertools.chain.from_iterable(made))
    assert sorted(order) == list(range(len(sizes)))
    assert [sizes[i] for i in order] == sorted(sizes, reverse=True)
    weights = [sum(sizes[i] for i in share) for share in made]
    left = sum(sizes)
    for weight in weights[:-1]:
        wanted = min(MAX_SHARE_PIECES, max(MIN_SHARE_PIECES, left / (workers * SHARE_DIVISOR)))
        assert wanted <= weight <= wanted + max(sizes)
        left -= weight


def negated(numbers, shared):
    return [-number for number in numbers]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_results_are_in_order(workers, count):
    sizes = [number % 40 + 1 for number in range(count)]
    call = Call(Workers(workers), sizes, negated)
    assert call.results() == negated(range(count), None)
    found = Call(Workers(workers), sizes, negated).asynchronous(None)
    assert [result.result() for result in found] == negated(range(count), None)
    assert all(result.done() for result in found)


def test_little_work_starts_no_thread():
    seen = []
    call = Call(Workers(4), [10, 10], lambda numbers, _: seen.append(threading.current_thread()) or list(numbers))
    assert call.results() == [0, 1]
    assert seen == [threading.current_thread()]


def test_a_result_that_is_in_the_making_is_not_done():
    go = threading.Event()
    (result,) = Call(Workers(1), [1], lambda numbers, _: go.wait(30) and list(numbers)).asynchronous(None)
    assert not result.done()
    go.set()
    assert result.result() == 0 and result.done()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["result", "done"])
def test_a_fork_does_not_wait_for_a_result_that_no_thread_of_it_makes(method):
    go = threading.Event()
    (result,) = Call(Workers(1), [1], lambda numbers, _: go.wait(30) and list(numbers)).asynchronous(None)
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
    def fail(numbers, shared):
        raise ZeroDivisionError("on purpose")

    call = Call(Workers(workers), [MIN_SHARE_PIECES] * 4, fail)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        call.results()
    results = call.asynchronous(None)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        results[3].result()


def waiting(go, begun, asked):
    """Makes results like the engine, which asks from time to time for cancelled items."""

    def translate(numbers, shared):
        begun.set()
        assert go.wait(30)
        asked.append(sorted(shared.unwanted()))
        shared.missing.update(shared.unwanted())
        return [-number for number in numbers]

    return translate


def test_results_are_cancelled_one_by_one():
    go, begun, asked = threading.Event(), threading.Event(), []
    call = Call(Workers(1), [1] * 4, waiting(go, begun, asked))
    found = call.asynchronous(None)
    assert begun.wait(30)
    assert found[2].cancel() and found[2].cancel() and found[2].cancelled() and found[2].done()
    with pytest.raises(CancelledError, match="^the result was cancelled, and there is none$"):
        found[2].result()
    assert not found[1].done() and not found[1].cancelled()
    with pytest.raises(TimeoutError, match=r"^the result is not there after 0 s, and still in the making; call "):
        found[1].result(timeout=0)
    go.set()
    assert [found[number].result(timeout=30) for number in (0, 1, 3)] == [0, -1, -3] and asked == [[2]]
    assert not found[0].cancel() and not found[0].cancelled() and found[0].result() == 0
    assert found[2].cancelled()
    for wrong in ("1", -1, float("nan")):
        with pytest.raises((TypeError, ValueError), match="^timeout is "):
            found[0].result(wrong)


def test_what_no_worker_has_begun_never_is():
    go, begun, asked = threading.Event(), threading.Event(), []
    workers = Workers(1)
    first = Call(workers, [1], waiting(go, begun, asked)).asynchronous(None)
    second = Call(workers, [1] * 2, waiting(go, begun, asked)).asynchronous(None)
    assert begun.wait(30)
    assert all(result.cancel() for result in second) and workers.active == 1
    go.set()
    assert first[0].result() == 0 and len(asked) == 1
    for result in second:
        with pytest.raises(CancelledError):
            result.result(timeout=5)


def test_what_was_done_when_the_time_was_over_is_there():
    def translate(numbers, shared):
        assert sorted(shared.unwanted()) == sorted(range(len(numbers)))
        shared.missing.add(1)
        return list(numbers)

    found = Call(Workers(1), [1] * 3, translate).asynchronous(Watch(time_limit=0))
    assert (found[0].result(), found[2].result()) == (0, 2)
    with pytest.raises(TimeLimitError):
        found[1].result()
