"""Worker threads: order, parallel work, errors, forks."""

import os
import threading

import pytest

from cpunmt.process.workers import Workers
from tests.support.processes import wait_for


def test_one_worker_is_the_calling_thread():
    workers = Workers(1)
    assert list(workers.map(lambda _: threading.current_thread(), range(3))) == [threading.current_thread()] * 3
    assert (workers.active, workers.queued) == (0, 0)


def test_two_work_at_once_and_results_keep_order():
    workers = Workers(2)
    both = threading.Barrier(2)

    def work(item):
        both.wait(30)  # passes when two are here
        return item, threading.current_thread().name

    made = list(workers.map(work, range(8)))
    assert [item for item, _ in made] == list(range(8))
    names = {name for _, name in made}
    assert len(names) == 2 and all(name.startswith("cpunmt worker") for name in names)


def test_an_error_comes_through_and_the_rest_is_left_undone():
    workers = Workers(2)
    done, go = [], threading.Event()

    def work(item):
        if item == 0:
            raise KeyError("the first")
        go.wait(30)
        done.append(item)

    with pytest.raises(KeyError, match="the first"):
        list(workers.map(work, range(100)))
    go.set()
    wait_for(lambda: workers.active == 0)
    assert len(done) <= 4


def test_what_nobody_waits_for_any_more_is_left_undone():
    workers, go, done = Workers(2), threading.Event(), []
    results = workers.map(lambda item: (item and go.wait(), done.append(item)), range(200))
    next(results)
    results.close()
    go.set()
    wait_for(lambda: workers.active == 0)
    assert len(done) <= 3  # the first, and the tasks that the two had begun


def test_counts_of_batches():
    workers = Workers(2)
    go = threading.Event()
    futures = [workers.submit(go.wait, 30) for _ in range(5)]
    wait_for(lambda: workers.queued == 3)
    assert workers.active == 5
    go.set()
    assert [future.result() for future in futures] == [True] * 5
    wait_for(lambda: workers.active == 0)
    assert workers.queued == 0


def test_a_full_queue_makes_submit_wait():
    workers = Workers(1, queued=2)
    go = threading.Event()
    for _ in range(3):
        workers.submit(go.wait, 30)
    fourth = threading.Thread(target=workers.submit, args=(go.wait, 30))
    fourth.start()
    fourth.join(0.1)
    assert fourth.is_alive() and workers.active == 3
    go.set()
    fourth.join(30)
    assert not fourth.is_alive()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    workers = Workers(2)
    assert list(workers.map(lambda item: 2 * item, range(5))) == [0, 2, 4, 6, 8]
    go = threading.Event()
    waiting = workers.submit(go.wait, 30)
    wait_for(lambda: workers.active == 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            idle = workers.active == 0  # the parent's work does not count
            status = 0 if idle and list(workers.map(lambda item: 3 * item, range(5))) == [0, 3, 6, 9, 12] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go.set()
    assert waiting.result() is True
    assert list(workers.map(lambda item: 2 * item, range(3))) == [0, 2, 4]


def test_a_call_apart_waits_for_no_other_one():
    """An interrupted call may still be busy with abandoned work."""
    workers, begun, let_go = Workers(1), threading.Event(), threading.Event()

    def slow(item):
        begun.set()
        assert let_go.wait(30)
        return threading.current_thread()

    first = []
    thread = threading.Thread(target=lambda: first.extend(workers.map(slow, [0], apart=True)))
    thread.start()
    assert begun.wait(30)
    (second,) = workers.map(lambda _: threading.current_thread(), [0], apart=True)
    assert second not in (threading.current_thread(), thread) and not first
    let_go.set()
    thread.join(30)
    assert first and first[0] not in (second, thread)
    assert list(workers.map(lambda _: threading.current_thread(), [0])) == [threading.current_thread()]
