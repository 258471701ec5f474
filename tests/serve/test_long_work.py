"""Long work lets others pass, and ends with its last client; estimates of work, and their limits."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CancelledError
from cpunmt.process.stopping import check
from cpunmt.serve.errors import ServeError
from cpunmt.serve.queue import waiting
from cpunmt.serve.queue.scheduler import Scheduler
from tests.serve.scheduling import (
    OTHERS,
    SETTINGS,
    WAIT,
    Asking,
    Sentences,
    Watched,
    capitals,
    driven,
    limits_of,
    take,
    until,
)


class Long:
    """A translator that reports its begin, and asks whether to continue, as the engine does, until it may end."""

    def __init__(self):
        self.sentences, self.is_over, self.looks = Sentences(), False, 0

    def __call__(self, texts, forced, options):
        if texts[0].startswith("long"):
            end = time.monotonic() + WAIT
            while not self.is_over and time.monotonic() < end:
                check()
                self.looks += 1
                time.sleep(0.001)
        return self.sentences(texts, forced, options)


LONG = "long" * 3000


def test_a_sentence_that_never_ends_lets_others_pass(schedulers, monkeypatch):
    monkeypatch.setattr(waiting, "_PATIENCE", 0.01)
    scheduler, watched = schedulers()
    long = Long()
    first = Asking(scheduler, long, [LONG])
    until(lambda: long.looks)
    others = [Asking(scheduler, long, [f"short {n}" * 9], settings) for n, settings in ((1, SETTINGS), (2, OTHERS))]
    second = Asking(scheduler, long, [f"{LONG}, too"])
    assert [one.result()[0][:7] for one in others] == ["SHORT 1", "SHORT 2"]  # while the long one is in the making
    assert first.is_alive() and second.is_alive() and scheduler.queued == 1  # of two endless ones, one waits
    long.is_over = True
    assert first.result() == [LONG.upper()] and second.result()
    assert watched.batches == [1] * 4


@pytest.mark.parametrize("pieces, is_watched", [(waiting._QUICK, False), (waiting._QUICK + 1, True)])
def test_what_nobody_waits_for_any_more_ends(schedulers, pieces, is_watched):
    scheduler, _ = schedulers()
    long, text = Long(), "long".ljust(4 * (pieces - 1), "x")
    first = Asking(scheduler, long, [text])
    until(lambda: long.looks)
    first.task.cancel()
    if not is_watched:  # it is not worth a look
        looks = long.looks
        until(lambda: long.looks > looks + 10)
        long.is_over = True
    with pytest.raises(CancelledError):
        first.result()
    long.is_over = True
    assert Asking(scheduler, long, [text]).result() == [text.upper()]  # another one has it made anew


def test_who_comes_after_all_others_have_left_has_it_made_anew():
    scheduler, _ = driven()
    calls, kind, texts = [], ("model", SETTINGS), ["one" * 400, "two" * 400]

    def made(texts, forced, options):
        calls.append(texts)
        return capitals(texts, forced, options)

    first = scheduler.task(lambda: None)
    scheduler.ask(first, kind, made, texts, [[], []])
    group, jobs = take(scheduler)
    assert not scheduler._forget(jobs)
    first.cancel()
    assert scheduler._forget(jobs)
    second = scheduler.task(lambda: None)
    asked = scheduler.ask(second, kind, made, texts, [[], []])
    assert scheduler.queued == 2
    scheduler._batch(group, jobs)  # which ends at the first look, and so does each of its sentences
    assert not calls and all(isinstance(job.error, CancelledError) for job in jobs) and len(scheduler._flying) == 2
    scheduler._batch(*take(scheduler))
    assert [one.target for one in scheduler.answer(second, asked)] == [text.upper() for text in texts]
    assert not scheduler._flying


def test_who_comes_while_all_others_leave_has_an_answer(schedulers):
    scheduler, _ = schedulers()
    long = Long()
    first = Asking(scheduler, long, [LONG])
    until(lambda: long.looks)
    second = Asking(scheduler, long, [LONG])
    until(lambda: len(next(iter(scheduler._flying.values())).tasks) == 2)
    first.task.cancel()
    looks = long.looks
    until(lambda: long.looks > looks + 10)
    assert second.is_alive() and not scheduler.queued  # it goes on for the second one
    long.is_over = True
    assert second.result() == [LONG.upper()]


def test_the_end_does_not_wait_for_a_sentence_that_never_ends():
    scheduler = Scheduler(1, limits_of(), 0, Watched())
    long = Long()
    first = Asking(scheduler, long, [LONG])
    until(lambda: long.looks)
    scheduler.close()
    assert not long.is_over
    with pytest.raises(CancelledError):
        first.result()


def test_time_lent_to_others_is_not_the_batch_s_own(schedulers, monkeypatch):
    monkeypatch.setattr(waiting, "_PATIENCE", 0.0)
    clock = [0.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: clock[0])

    def let_pass(seconds):
        clock[0] += 100 * seconds

    scheduler, _ = driven()
    asked = scheduler.ask(scheduler.task(lambda: None), ("m", SETTINGS), capitals, [LONG], [[]])
    _, jobs = take(scheduler)
    batch = waiting.RunningBatch(jobs, lambda jobs: False, let_pass)
    for _ in range(3):
        clock[0] += 1
        assert not batch._is_to_end()
    assert batch.seconds() == 3 and clock[0] == 303 and asked.waits


def test_a_server_that_begins_refuses_nobody():
    """200 clients with 30 sentences each, before any measurement: a small model does them within the deadline."""
    scheduler, _ = driven()
    for number in range(200):
        texts = [f"{number}, {n}: ".ljust(100, "x") for n in range(30)]
        scheduler.ask(scheduler.task(lambda: None), ("model", SETTINGS), capitals, texts, [[]] * 30)
    assert scheduler.queued == 6000 and scheduler.wait() < 30
    scheduler.stop()


@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 100)), max_size=12))
def test_speed_is_a_mean_of_batches_that_count_half_after_five_seconds(batches):
    speed = waiting.Speed()
    for pieces, seconds in batches:
        speed.add(pieces, seconds)
    every = [(10_000, 0.5), *batches]
    later = [sum(seconds for _, seconds in batches[number:]) for number in range(len(batches) + 1)]
    means = [sum(one[part] * 0.5 ** (after / 5) for one, after in zip(every, later, strict=True)) for part in (0, 1)]
    assert speed.seconds_of(1000) == pytest.approx(1000 * means[1] / means[0])


@pytest.mark.parametrize("waiting, count, is_taken", [(1, 2, True), (1, 3, False), (2, 2, False), (0, 9, True)])
def test_as_many_may_wait_as_the_limit_says(waiting, count, is_taken):
    scheduler, _ = driven(sentences=3)

    def ask(name, count):
        texts = [f"{name}{n}" for n in range(count)]
        return scheduler.ask(scheduler.task(lambda: None), ("model", SETTINGS), capitals, texts, [[]] * count)

    ask("a", waiting)
    if is_taken:
        assert ask("b", count).waits == bool(count)
    else:
        with pytest.raises(ServeError, match="busy"):
            ask("b", count)
    scheduler.stop()


@pytest.mark.parametrize("pieces, retry", [(60_000, None), (60_001, 1), (100_000, 1), (100_001, 2)])
def test_what_waits_longer_than_the_deadline_is_refused(pieces, retry):
    """Two workers with 20,000 pieces a second each."""
    scheduler, _ = driven(deadline=1.5, batch=1 << 20)
    kind = ("model", SETTINGS)

    def ask(pieces):
        return scheduler.ask(scheduler.task(lambda: None), kind, capitals, ["a" * (4 * pieces - 4)], [[]])

    assert ask(pieces).waits  # as nothing does
    if retry is None:
        assert ask(pieces + 1).waits
    else:
        with pytest.raises(ServeError) as refused:
            ask(pieces + 1)
        assert refused.value.retry_after == retry
    scheduler.stop()


def test_a_short_request_is_not_refused_because_of_long_ones():
    scheduler, _ = driven()
    kind = ("model", SETTINGS)
    for number in range(10):
        texts = [f"{number}.{n}".ljust(4000, "x") for n in range(200)]
        scheduler.ask(scheduler.task(lambda: None), kind, capitals, texts, [[]] * 200)
        if scheduler.wait() > 30:
            break
    with pytest.raises(ServeError, match="busy"):
        scheduler.ask(scheduler.task(lambda: None), kind, capitals, [t + "y" for t in texts], [[]] * 200)
    assert scheduler.ask(scheduler.task(lambda: None), kind, capitals, ["short"], [[]]).waits
    scheduler.stop()
