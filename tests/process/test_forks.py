"""A process may fork at any moment, even during another thread's first translation: no child hangs."""

import os
import threading

import pytest

from cpunmt.process.first_use import LOCK
from cpunmt.process.interrupts import uncut
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import DIRECTORIES
from tests.support.processes import output, python
from tests.support.speeds import slow_after


def forks(kind, count, seed, *path) -> str:
    return output("-W", "ignore", "-m", "tests.process.forking", kind, count, seed, *path, timeout=3600).strip()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "count"),
    slow_after(
        1,
        [
            ("full", 25),
            ("threaded", 20),
            ("positions", 8),
            pytest.param("full", 800, marks=SLOW),
            pytest.param("threaded", 600, marks=SLOW),
            pytest.param("positions", 200, marks=SLOW),
        ],
    ),
)
def test_around_the_first_call_of_a_kind(kind, count):
    """With several locks for late initialization, 41 of 300 children hung at the full vocabulary."""
    assert forks(kind, count, 1) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(400, marks=SLOW)])
def test_around_late_imports_and_the_load_of_the_program(tmp_path, count):
    """These happen once per process."""
    path = KINDS["marian npz"](tmp_path / "model").path
    for seed in range(count):
        assert forks("load", 1, seed, path) == "[]"


LATE = """
import sys
from cpunmt import Translator
Translator
from cpunmt.process.first_use import LOCK

class Finder:
    def find_spec(self, name, path=None, target=None):
        if not LOCK._is_owned():
            print(name)

sys.meta_path.insert(0, Finder())
for path in sys.argv[1:]:
    translator = Translator(path, inter_threads=2)
    options = {"return_alignments": True, "replace_unknowns": True, "return_token_log_probs": True}
    translator.translate("One man. " * 300, beam_size=4, num_hypotheses=2, **options).hypotheses[0].attention
    translator.translate(["One man."] * 300)
    translator.translate("One man.", rerank="mbr-bleu", num_candidates=2)
    translator.score("One man.", "Ein Mann.")
    translator.translate_batch([["▁One"]], asynchronous=True)[0].result()
    list(translator.translate_iterable(["One man."]))
    list(translator.translate_iterable(["One man."] * 300, ordered=False))
    translator.unload_model()
    translator.translate("One man.")
    for wrong in (1.5, "x", 10**9):
        try:
            translator.translate("One man.", beam_size=wrong)
        except (TypeError, ValueError):
            pass
sys.meta_path.pop(0)
"""


@pytest.mark.slow
def test_whatever_is_imported_late_is_imported_under_the_lock(tmp_path):
    """A child waits for ever for a module that another thread was importing: one of 400 hung at encodings.cp437."""
    paths = [make(tmp_path / str(number)).path for number, make in enumerate(KINDS.values())]
    done = python("-W", "ignore", "-c", LATE, DIRECTORIES["int8"], *paths)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_waits_for_both_locks_in_the_order_in_which_others_take_them():
    """A thread that holds the lock of first use writes the program, which takes the other lock."""
    inside, go, both = threading.Event(), threading.Event(), []

    def first_use():
        with LOCK:
            inside.set()
            go.wait(30)
            both.append(uncut.acquire(timeout=10))  # it would wait for ever
            if both[0]:
                uncut.release()

    thread = threading.Thread(target=first_use)
    thread.start()
    inside.wait(30)
    threading.Timer(0.2, go.set).start()  # when the fork is waiting
    child = os.fork()
    if child == 0:
        os._exit(0 if LOCK.acquire(timeout=5) and uncut.acquire(timeout=5) else 1)
    thread.join(30)
    assert both == [True] and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert LOCK.acquire(timeout=5) and uncut.acquire(timeout=5)
    uncut.release()
    LOCK.release()
