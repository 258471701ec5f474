"""Many requests at once, waiting in threads and told by a call, some of which leave or are wrong."""

import random
import threading

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.errors import CancelledError, CpunmtError
from tests.serve.scheduling import OTHERS, SETTINGS, WAIT, Asking


class Ending(BaseException):
    """What is no Exception, as the panics of some extensions are none."""


class _Sentences:
    """In capitals; counts how many threads are in it."""

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
    """As the event loop asks: it is told, and only this test waits for that."""

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


@pytest.mark.parametrize("workers", [1, 2, 3])
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
