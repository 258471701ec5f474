"""Functions passed to a call that themselves call a Translator, unload it, or fork."""

import os
import threading

import pytest

from cpunmt import CancelledError, Translator
from cpunmt.process.stopping import Watch, under
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences
from tests.support.speeds import slow_after

LINES = sentences(30)
TIMES = 2  # number of calls in which the function acts


@pytest.fixture(scope="module", params=[1, 2])
def translator(request):
    return Translator(DIRECTORIES["int8"], inter_threads=request.param)


class Does:
    """A function that acts in its first calls, and returns False."""

    def __init__(self, action):
        self.action, self.left, self.lock = action, TIMES, threading.Lock()

    def __call__(self, *_):
        with self.lock:
            self.left -= 1
            due = self.left >= 0
        if due:
            self.action()
        return False


def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def actions(translator, cancel):
    """Returns the possible actions of a function `cancel`, which a call within it may use, too."""
    return {
        "translates one": lambda: translator.translate(LINES[0]),
        "translates many": lambda: translator.translate(LINES),
        "translates asynchronously": lambda: [
            one.result() for one in translator.translate_batch([["▁A", "▁dog"]] * 9, asynchronous=True)
        ],
        "gives itself on": lambda: translator.translate(LINES[:2], cancel=cancel),
        "scores": lambda: translator.score(LINES, LINES),
        "unloads": lambda: translator.unload_model(),
        "forks": lambda: forked(lambda: translator.translate(LINES[0])),
    }


ACTIONS = list(actions(None, None))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", slow_after(4, ACTIONS))
def test_a_function_that_is_asked_may_call(translator, name):
    """Each once called itself without end, or waited for a worker that waited for it."""
    asked = Does(lambda: actions(translator, asked)[name]())
    pieces = [translator.tokenize(line) for line in LINES]
    texts = LINES * 2
    expected = translator.translate(texts)
    assert translator.translate(texts, cancel=asked) == expected and asked.left < 0
    asked.left = TIMES
    assert list(translator.translate_iterable(iter(texts), cancel=asked, ordered=True)) == expected
    asked.left = TIMES
    assert translator.translate_batch(pieces, cancel=asked) == translator.translate_batch(pieces)
    asked.left = TIMES
    assert translator.translate_batch(pieces, callback=asked) == translator.translate_batch(pieces)
    asked.left = TIMES
    waiting = translator.translate_batch(pieces, asynchronous=True, cancel=asked)
    assert [one.result() for one in waiting] == translator.translate_batch(pieces)
    assert asked.left < 0


def test_a_function_that_always_calls_ends(translator):
    """Its calls are nested in the calls around its own, but not in itself."""
    depths = []

    def cancel():
        depths.append(len(depths))
        translator.translate(LINES[0])
        return len(depths) >= 5

    with pytest.raises(CancelledError):
        translator.translate(LINES * 4, cancel=cancel)
    assert len(depths) < 20
    stop = threading.Event()

    def inner():
        stop.set()
        translator.translate(LINES[0])  # ended by the outer call
        raise AssertionError

    with pytest.raises(CancelledError), under(Watch(cancel=stop.is_set)):
        translator.translate(LINES, cancel=inner)
