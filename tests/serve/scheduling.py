"""Requests in their own threads, for tests of the scheduler."""

import threading
import time

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import settings_of
from cpunmt.options.options import Options
from cpunmt.serve.queue.scheduler import Limits, Scheduler

SETTINGS = settings_of(Options())
OTHERS = settings_of(Options(beam_size=2))
WAIT = 20


class Watched:
    """The scheduler's events."""

    def __init__(self):
        self.batches, self.kept, self.asked, self.waits = [], 0, 0, []

    def batch(self, pieces, sentences, seconds):
        self.batches.append(sentences)

    def looked_up(self, kept, asked):
        self.kept, self.asked = self.kept + kept, self.asked + asked

    def waited(self, seconds):
        self.waits.append(seconds)


class Sentences:
    """A translator to capitals, one batch after the other as `go` allows; "wrong" raises."""

    def __init__(self, is_open=True):
        self.batches, self.begun, self.go = [], threading.Semaphore(0), threading.Semaphore(0)
        self._open = is_open

    def __call__(self, texts, forced, settings):
        self.batches.append(list(texts))
        self.begun.release()
        if not self._open:
            assert self.go.acquire(timeout=WAIT)
        if any(text.startswith("wrong") for text in texts):
            raise ValueError("it is wrong")
        return [Aligned(text, text.upper()) for text in texts]

    def open(self):
        self._open = True
        self.go.release(1000)


class Asking(threading.Thread):
    """A request in its own thread."""

    def __init__(self, scheduler, sentences, texts, settings=SETTINGS, key="model", forced=None):
        super().__init__()
        self.task, self.texts, self.settings = scheduler.task(), texts, settings
        self.through = scheduler.through(self.task, key, sentences)
        self.forced = forced or [[]] * len(texts)
        self.made = self.error = None
        self.start()

    def run(self):
        try:
            self.made = [aligned.target for aligned in self.through(self.texts, self.forced, self.settings)]
        except Exception as error:
            self.error = error

    def result(self):
        self.join(WAIT)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.made


def until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def capitals(texts, forced, options):
    return [Aligned(text, text.upper()) for text in texts]


def limits_of(**given):
    """Returns a server's limits, with changes."""
    return Limits(1024, 20_000, 30.0)._replace(**given)


def driven(cache=0, **limits):
    """Returns a scheduler without threads, whose batches the test takes and translates itself."""
    scheduler = Scheduler(0, limits_of(**limits), cache, watched := Watched())
    scheduler._count = 2
    return scheduler, watched


def take(scheduler):
    with scheduler._lock:
        return scheduler._take()
