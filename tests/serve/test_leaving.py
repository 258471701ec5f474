"""Requests that leave the scheduler before they are done: nobody else notices."""

import threading

import pytest

from cpunmt.errors import CancelledError
from cpunmt.process.stopping import Watch, check, under
from cpunmt.serve.queue.scheduler import Scheduler
from tests.serve.scheduling import SETTINGS, WAIT, Asking, Sentences, Watched, limits_of, until


def test_a_request_that_is_cancelled_leaves(schedulers):
    scheduler, _ = schedulers()
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    gone, other = (Asking(scheduler, sentences, texts) for texts in (["gone", "shared"], ["shared"]))
    until(lambda: scheduler.queued == 2)
    gone.task.cancel()
    with pytest.raises(CancelledError):
        gone.result()
    until(lambda: scheduler.queued == 1)
    sentences.open()
    assert first.result() == ["FIRST"] and other.result() == ["SHARED"]
    assert sentences.batches == [["first"], ["shared"]]
    with pytest.raises(CancelledError):  # whatever it asks for then
        gone.through(["more"], [[]], SETTINGS)


def test_who_leaves_late_takes_no_other_along(schedulers):
    """All of a request has been taken; others of the same kind, which came after it, wait."""
    scheduler, _ = schedulers()
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    second = Asking(scheduler, sentences, ["second"])
    until(lambda: scheduler.queued == 1)
    first.task.cancel()
    sentences.open()
    assert second.result() == ["SECOND"]
    with pytest.raises(CancelledError):
        first.result()


def test_its_end_ends_no_other(schedulers):
    """The thread of a request that nobody waits for any more translates a batch in which others are."""
    scheduler, _ = schedulers()
    sentences, held = Sentences(False), []

    def looks(texts, forced, settings):
        made = sentences(texts, forced, settings)
        check()
        return made

    def ask():
        with pytest.raises(CancelledError), under(Watch(cancel=lambda: task.cancelled)):
            held.extend(through(["first", "same"], [[], []], SETTINGS))

    task = scheduler.task()
    through = scheduler.through(task, "model", looks)
    leading = threading.Thread(target=ask)
    leading.start()
    assert sentences.begun.acquire(timeout=WAIT)
    other = Asking(scheduler, looks, ["same"])
    until(lambda: len(scheduler._flying[next(key for key in scheduler._flying if "same" in key)].tasks) == 2)
    task.cancel()
    sentences.open()
    leading.join(WAIT)
    assert other.result() == ["SAME"] and held == [] and not leading.is_alive()


def test_its_end_lets_everybody_go():
    scheduler = Scheduler(1, limits_of(batch=1), 0, Watched())
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    waiting = Asking(scheduler, sentences, ["never"])
    until(lambda: scheduler.queued == 1)
    ending = threading.Thread(target=scheduler.close)
    ending.start()
    sentences.open()
    ending.join(WAIT)
    assert first.result() == ["FIRST"]
    with pytest.raises(CancelledError):
        waiting.result()
    with pytest.raises(CancelledError):
        Asking(scheduler, sentences, ["too late"]).result()
