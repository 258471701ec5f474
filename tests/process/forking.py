"""Forks around first calls: `python -m tests.process.forking KIND FORKS SEED`. Prints failures.

A thread makes a first call of a kind; the main thread forks meanwhile, and the child makes the same call.
"""

import os
import random
import signal
import sys
import threading
import time

from cpunmt import Translator
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

TEXTS = [*sentences(6), "One man. " * 60]
SECONDS = 60  # a child that takes longer hangs


def full(translator):
    """The first call packs the full vocabulary's output layer."""
    return translator.translate(TEXTS[0], vocabulary="full").text


def threaded(translator):
    """The call starts threads, and imports their modules."""
    return [result.text for result in translator.translate(TEXTS)]


def positions(translator):
    """The call makes a longer table of positions."""
    return translator.score("One man. " * 300, "Ein Mann.").log_prob


def load(translator):
    """The call imports readers of other programs' models, and loads the compiled program."""
    return Translator(translator).translate(TEXTS[0]).text


def made(kind, path):
    """Makes the argument of a first call of this kind, which the parent's thread and the child share."""
    return path if kind is load else Translator(path, inter_threads=2 if kind is threaded else 1)


def run(kind, path, forks, seed):
    """Returns the failures of children."""
    generator, wrong = random.Random(seed), []
    expected = None if kind is load else kind(made(kind, path))
    took = 0.1  # approximate seconds of the call
    for _ in range(forks):
        subject, times = made(kind, path), []

        def first(subject=subject, times=times):
            began = time.perf_counter()
            kind(subject)
            times.append(time.perf_counter() - began)

        thread = threading.Thread(target=first)
        thread.start()
        time.sleep(generator.uniform(0, took))
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)  # its default action ends the process
            status = 3
            try:
                found = kind(subject)
                status = 0 if expected in (None, found) else 2
            finally:
                os._exit(status)
        thread.join()
        took = (took + times[0]) / 2
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended:
            wrong.append(ended)
    return wrong


if __name__ == "__main__":
    kinds = {function.__name__: function for function in (full, threaded, positions, load)}
    chosen, forks, seed = sys.argv[1:4]
    path = sys.argv[4] if len(sys.argv) > 4 else DIRECTORIES["int8"]
    print(run(kinds[chosen], path, int(forks), seed))
