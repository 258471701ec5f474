"""Sentences of many requests, translated together; requests that leave, or are wrong. Turns: see test_turns."""

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import settings_of
from cpunmt.errors import CancelledError, CpunmtError
from cpunmt.options.options import Options
from cpunmt.process.stopping import Watch, check, under
from cpunmt.serve.queue import scheduler as module
from cpunmt.serve.queue.scheduler import Scheduler
from cpunmt.serve.queue.waiting import Job, Task
from tests.serve.scheduling import OTHERS, SETTINGS, WAIT, Asking, Sentences, Watched, limits_of, until
from tests.support.speeds import slow_after


def test_what_waits_is_translated_together(schedulers):
    scheduler, watched = schedulers()
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    others = [Asking(scheduler, sentences, [f"text {n}", f"more {n}"]) for n in range(4)]
    until(lambda: scheduler.queued == 8)
    sentences.open()
    assert first.result() == ["FIRST"]
    assert [other.result() for other in others] == [[f"TEXT {n}", f"MORE {n}"] for n in range(4)]
    assert sentences.batches[0] == ["first"] and sorted(map(len, sentences.batches)) == [1, 8]
    assert watched.batches == [1, 8] and len(watched.waits) == 5 and watched.asked == 9


def test_a_request_knows_its_finished_share():
    task, jobs = Task(lambda task: None), [Job(n, "a", [], SETTINGS, 1) for n in range(4)]
    assert task.share == 0
    task.begin(jobs, None)
    shares = []
    for missing in (4, 3, 1, 0):
        task.missing = missing
        shares.append(task.share)
    assert shares == [0, 0.25, 0.75, 0]  # at the end it does not wait any more


def test_equal_sentences_are_translated_once(schedulers):
    scheduler, watched = schedulers(cache=1 << 20)
    sentences = Sentences(False)
    asked = [Asking(scheduler, sentences, ["same", "same", "same"]) for _ in range(5)]
    assert sentences.begun.acquire(timeout=WAIT)
    until(lambda: watched.asked == 15)
    asked.append(Asking(scheduler, sentences, ["same"], forced=[[7]]))  # which begins otherwise
    sentences.open()
    assert [one.result() for one in asked] == [["SAME"] * 3] * 5 + [["SAME"]]
    assert sentences.batches == [["same"], ["same"]] and watched.kept == 0
    assert Asking(scheduler, sentences, ["same"]).result() == ["SAME"] and len(sentences.batches) == 2
    assert watched.kept == 1


def test_what_is_wrong_with_one_harms_no_other(schedulers):
    scheduler, _ = schedulers()
    sentences = Sentences(False)
    asked = [Asking(scheduler, sentences, ["first"])]
    assert sentences.begun.acquire(timeout=WAIT)
    asked += [Asking(scheduler, sentences, [f"right {n}"]) for n in range(3)]
    wrong = Asking(scheduler, sentences, ["right 1", "wrong"])
    until(lambda: scheduler.queued == 4)
    sentences.open()
    assert [one.result() for one in asked] == [["FIRST"], ["RIGHT 0"], ["RIGHT 1"], ["RIGHT 2"]]
    with pytest.raises(ValueError, match="it is wrong"):
        wrong.result()


def test_a_request_that_comes_first_does_the_work_itself(schedulers):
    scheduler, _ = schedulers(workers=2)
    threads = []

    def told(texts, forced, settings):
        threads.append(threading.current_thread())
        return [Aligned(text, text.upper()) for text in texts]

    asked = Asking(scheduler, told, ["first"])
    assert asked.result() == ["FIRST"] and threads == [asked]


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh").map(lambda x: x * 9), max_size=12), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 20),
    st.sampled_from([0, 3000, 1 << 20]),
    st.sets(st.integers(0, 11)),
)
def test_everybody_gets_their_own(requests, workers, batch, cache, leaving):
    scheduler = Scheduler(workers, limits_of(batch=batch), cache, watched := Watched())
    sentences = Sentences()
    asked = [Asking(scheduler, sentences, texts, (SETTINGS, OTHERS)[n % 2]) for n, texts in enumerate(requests)]
    for number in leaving & set(range(len(asked))):
        asked[number].task.cancel()
    for number, (one, texts) in enumerate(zip(asked, requests, strict=True)):
        try:
            assert one.result() == [text.upper() for text in texts]
        except CancelledError:
            assert number in leaving
    scheduler.close()
    assert scheduler.queued == 0 and scheduler._queued_pieces == 0 and not scheduler._groups
    stayed = sum(len(texts) for number, texts in enumerate(requests) if number not in leaving)
    assert stayed <= watched.asked <= sum(map(len, requests)) and sum(watched.batches) <= watched.asked


def test_directions_in_use_keep_their_group(schedulers, monkeypatch):
    """However many other kinds come; later directions of the same options join it."""
    monkeypatch.setattr(module, "_KNOWN_GROUPS", 4)
    scheduler, _ = schedulers()

    def direction(target):
        return "model", settings_of(Options(source_lang="en", target_lang=target))

    own, group = scheduler._number(direction("de"))
    for beam in range(2, 12):
        scheduler._number(("model", settings_of(Options(beam_size=beam))))
        assert scheduler._number(direction("de")) == (own, group)
    assert scheduler._number(direction("fr"))[1] == group == scheduler._number(("model", SETTINGS))[1]
    assert len(scheduler._numbers) == 4
    for beam in range(2, 12):  # unused ones are forgotten
        scheduler._number(("model", settings_of(Options(beam_size=beam))))
    again = scheduler._number(direction("de"))
    assert again[0] > own and again[1] > group


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
    """The thread of a cancelled request translates a batch with sentences of others."""
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


class Ending(BaseException):
    """An error that is not an Exception, like the panics of some extensions."""


class _Sentences:
    """A translator to capitals that counts the threads in it."""

    def __init__(self):
        self._lock, self._inside, self.most = threading.Lock(), 0, 0

    def __call__(self, texts, forced, settings):
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            for text in texts:
                if text.startswith("wrong"):
                    raise ValueError(text)
                if text.startswith("memory"):
                    raise MemoryError(text)
                if text.startswith("ending"):
                    raise Ending(text)
            return [Aligned(text, text.upper()) for text in texts]
        finally:
            with self._lock:
                self._inside -= 1


class _Told(threading.Thread):
    """A request as in the event loop: it gets a callback, for which only this test waits."""

    def __init__(self, scheduler, sentences, texts, settings):
        super().__init__()
        self._scheduler, self._sentences, self.texts, self._settings = scheduler, sentences, texts, settings
        self._told = threading.Event()
        self.task = scheduler.task(self._told.set)
        self.made = self.error = None
        self.start()

    def run(self):
        try:
            kind = ("model", self._settings)
            asked = self._scheduler.ask(self.task, kind, self._sentences, self.texts, [[]] * len(self.texts))
            if asked.waits:
                self._scheduler.call()
                assert self._told.wait(WAIT)
            self.made = [aligned.target for aligned in self._scheduler.answer(self.task, asked)]
        except Exception as error:
            self.error = error


@pytest.mark.parametrize("workers", slow_after(1, [2, 1, 3]))
def test_everybody_gets_an_answer_or_an_error_of_their_own(schedulers, workers):
    chance = random.Random(workers)
    scheduler, _ = schedulers(workers, 10_000, batch=8)
    sentences, leaving, asked = _Sentences(), set(), []
    for number in range(300):
        texts = [f"text {chance.randrange(200)}" for _ in range(chance.randint(1, 6))]
        if chance.random() < 0.15:
            texts[-1] = f"{chance.choice(('wrong', 'memory', 'ending'))} {number}"
        settings = chance.choice((SETTINGS, OTHERS))
        asked.append(chance.choice((Asking, _Told))(scheduler, sentences, texts, settings))
        if chance.random() < 0.2:
            leaving.add(number)
            asked[-1].task.cancel()
    for number, one in enumerate(asked):
        one.join(WAIT)
        assert not one.is_alive()
        if number in leaving and isinstance(one.error, CancelledError):
            continue
        kinds = {"wrong": ValueError, "memory": MemoryError, "ending": CpunmtError}
        kind = kinds.get(one.texts[-1].split()[0])
        if kind:
            assert type(one.error) is kind
            assert kind is CpunmtError or str(one.error) == one.texts[-1]
        else:
            assert one.error is None and one.made == [text.upper() for text in one.texts]
    assert sentences.most <= workers
    scheduler.close()
    assert not (scheduler._working or scheduler.queued or scheduler._queued_pieces)
    assert not (scheduler._flying or scheduler._groups)


@pytest.mark.parametrize("way", [Asking, _Told])
def test_what_is_no_exception_ends_no_worker(schedulers, way):
    scheduler, _ = schedulers()
    first = way(scheduler, sentences := _Sentences(), ["ending"], SETTINGS)
    first.join(WAIT)
    assert isinstance(first.error, CpunmtError)
    second = way(scheduler, sentences, ["two"], SETTINGS)
    second.join(WAIT)
    assert second.made == ["TWO"]
