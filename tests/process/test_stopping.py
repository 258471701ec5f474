"""The end of a call: with threads, with nested calls, and with items shared by several calls."""

import threading

import pytest

from cpunmt import CancelledError, CpunmtError, TimeLimitError
from cpunmt.process.stopping import SharedWork, Watch, check, checked, under, watched
from cpunmt.process.workers import Workers


def raised() -> type | None:
    try:
        check()
    except CpunmtError as error:
        return type(error)
    return None


def test_what_is_within_is_watched_and_nothing_else():
    stop = threading.Event()
    with under(Watch(cancel=stop.is_set)):
        check()
        stop.set()
        assert raised() is CancelledError
        assert Workers(2).submit(raised).result() is CancelledError  # in the context of the thread that submits it
        thread = threading.Thread(target=lambda: seen.append(raised()))
        seen = []
        thread.start()
        thread.join()
        assert seen == [None]  # other threads are not affected
    assert raised() is None
    with pytest.raises(TimeLimitError), under(Watch(time_limit=0)):
        raise AssertionError("it is over before it begins")
    told = "^the time limit of 0 s is over, and the call is not done; expected a longer time_limit, or less to do"
    with pytest.raises(TimeoutError, match=told), under(Watch(0)):
        pass
    with under(None):
        check()


def test_a_call_within_a_call_ends_with_it():
    stop = threading.Event()
    with under(Watch(cancel=stop.is_set)), under(Watch(time_limit=1000)):
        check()
        stop.set()
        assert raised() is CancelledError
        with pytest.raises(CancelledError), under(Watch()):
            pass
    assert raised() is None


def test_items_are_made_under_it_and_used_without():
    stop, made = threading.Event(), []

    def items():
        for number in range(9):
            made.append(number)
            check()
            yield number

    stream = watched(items(), Watch(cancel=stop.is_set))
    assert next(stream) == 0 and raised() is None
    stop.set()
    assert raised() is None
    with pytest.raises(CancelledError):
        next(stream)
    assert made == [0] and list(stream) == []


def test_many_items_are_checked_sometimes():
    """At the first one, and then at each 256th."""
    items = checked(range(1000))
    with pytest.raises(CancelledError), under(watch := Watch()):
        seen = []
        for item in items:
            seen.append(item)
            watch.leave()
    assert seen == list(range(256)) and list(checked("abc")) == ["a", "b", "c"]


def test_workers_leave_what_nobody_waits_for():
    """Items in work stop, too: an error in one item, or an interrupt, makes the others useless."""
    workers, begun, left = Workers(2), threading.Barrier(3), threading.Event()

    def work(item):
        begun.wait(30)
        if item == 0:
            raise KeyError("the first")
        while raised() is None:  # as the engine asks between two compiled calls
            pass
        left.set()

    thread = threading.Thread(target=lambda: begun.wait(30))
    thread.start()
    with pytest.raises(KeyError):
        list(workers.map(work, range(2)))
    assert left.wait(30)
    thread.join()


def test_work_that_several_share():
    stop = threading.Event()
    shared = SharedWork(3, Watch(cancel=stop.is_set))
    assert list(shared.unwanted()) == [] and not shared.is_unwanted
    shared.drop(1)
    shared.drop(1)
    assert list(shared.unwanted()) == [1] and not shared.is_unwanted and shared.error is None
    stop.set()
    assert list(shared.unwanted()) == [0, 1, 2] and isinstance(shared.error, CancelledError)
    stop.clear()
    assert list(shared.unwanted()) == [0, 1, 2]  # remains unwanted
