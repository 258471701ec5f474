"""Streams that yield results as soon as they are finished: `translate_iterable(..., ordered=False)`."""

import itertools
import os
import subprocess
import sys
import threading

import pytest

from cpunmt import Pivot, Translator
from cpunmt.process.stopping import check
from cpunmt.process.workers import Workers
from cpunmt.translator.streams.unordered import AHEAD, unordered
from tests.sample_models.real_model import DIRECTORIES, GERMAN, ROOT
from tests.support.command_line import TIMEOUT, sentences
from tests.support.processes import wait_for
from tests.support.speeds import slow_after
from tests.support.streams import taken


@pytest.fixture(scope="module")
def threaded():
    return Translator(DIRECTORIES["int8"], inter_threads=3)


@pytest.fixture(params=["one thread", "three threads"])
def translator(request, student, threaded):
    return student if request.param == "one thread" else threaded


@pytest.mark.parametrize("count", slow_after(3, [0, 1, 2, 300]))
def test_the_results_of_the_items_with_their_numbers(translator, student, count):
    texts = [*sentences(count), "", " ".join(sentences(9)), "\ud800"][:count]
    for options in ({}, {"beam_size": 3, "num_hypotheses": 2, "max_batch_size": 20}, {"html": True}):
        found = list(translator.translate_iterable(iter(texts), ordered=False, **options))
        assert sorted(number for number, _ in found) == list(range(count))
        assert [result for _, result in sorted(found)] == student.translate(texts, **options)
        assert list(translator.translate_iterable(iter(texts), ordered=True, **options)) == [
            result for _, result in sorted(found)
        ]
    pieces = [student.tokenize(text) for text in texts]
    prefixes = [["▁Ein"], None] * (count // 2) + [[]] * (count % 2)
    found = dict(translator.translate_iterable(pieces, prefixes, ordered=False, beam_size=2))
    assert [found[number] for number in range(count)] == student.translate_batch(pieces, prefixes, beam_size=2)


def test_results_do_not_wait_for_those_of_longer_ones(student):
    """With one thread, the shortest of a window come before the others have begun."""
    begun = []

    def split(text):
        begun.append(text)
        return [(0, len(text))]

    short, long = "Two men.", "A man sleeps here. " * 30
    window = [long, short] * 128
    texts = ["A dog."] * 255 + window  # windows of 1, 2, ..., 128 first
    results = student.translate_iterable(texts, ordered=False, split=split)
    numbers = [number for number, _ in itertools.islice(results, 255 + 128)]
    assert sum(texts[number] == short for number in numbers[255:]) > 120  # a share may begin with a longer text
    assert begun.count(short) == 128 > 2 * begun.count(long)
    numbers += [number for number, _ in results]
    assert sorted(numbers) == list(range(len(texts)))


def test_nobody_waits_for_a_text_that_takes_long(threaded):
    """With threads, later windows overtake a long text."""
    go, waited = threading.Event(), "The slow one."

    def split(text):
        if text == waited:
            assert go.wait(60)
        return [(0, len(text))]

    texts = [waited, *sentences(300)]
    results = threaded.translate_iterable(texts, ordered=False, split=split)
    found = list(itertools.islice(results, 200))
    assert 0 not in [number for number, _ in found]
    go.set()
    found += results
    assert [result for _, result in sorted(found)] == threaded.translate(texts, split=lambda text: [(0, len(text))])


def test_a_stream_without_end_is_read_no_further_than_needed(translator):
    read = itertools.count()
    texts = (f"{number} dogs." for number in read)
    results = translator.translate_iterable(texts, ordered=False)
    first = next(results)
    assert first[1].text and next(read) <= 64  # three threads have begun several windows, one thread only one
    for _ in range(500):
        next(results)
    assert next(read) < 500 + 2 * 1024
    results.close()
    wait_for(lambda: translator.num_active_batches == 0)


def test_an_error_of_a_translation_ends_the_stream(translator):
    def split(text):
        if text == "Two.":
            raise KeyError("no such language")
        return [(0, len(text))]

    texts = ["One.", "Two.", *sentences(200)]
    found, error = taken(translator.translate_iterable(texts, ordered=False, split=split))
    assert isinstance(error, KeyError) and 1 not in [number for number, _ in found]
    assert translator.translate("A dog.").text == "Ein Hund."


@pytest.mark.parametrize("wrong", [1, 0, None, "no"])
def test_only_true_and_false(student, wrong):
    pivot = Pivot([student, Translator(GERMAN)])
    for each in (student, pivot):
        with pytest.raises((TypeError, ValueError), match="^ordered is "):
            each.translate_iterable(["A dog."], ordered=wrong)  # raised by the call


def test_of_several_models(threaded):
    back = Translator(GERMAN, inter_threads=2)
    pivot, texts = Pivot([threaded, back]), sentences(40)
    found = dict(pivot.translate_iterable(iter(texts), ordered=False, beam_size=2))
    expected = pivot.translate(texts, beam_size=2)
    assert [found[number] for number in range(len(texts))] == expected
    assert list(pivot.translate_iterable(iter(texts), beam_size=2)) == expected
    for ordered in (True, False):
        found, error = taken(pivot.translate_iterable([*texts[:5], 7], ordered=ordered))
        assert len(found) == 5 and str(error) == "text 5 is 7, expected str; they are counted from 0"
        with pytest.raises(TypeError, match="^translate_iterable takes texts, not one text; use translate$"):
            pivot.translate_iterable("A dog.", ordered=ordered)


def test_shares_that_wait_are_few():
    workers, running, most = Workers(2), set(), []
    lock = threading.Lock()

    def make(items):
        with lock:
            most.append(len(items))
        return [item * item for item in items]

    def counted():
        for number in range(200):
            running.add(number)
            most.append(workers.active)
            yield [number] * 3

    found = list(unordered(counted(), lambda item: 1000, make, workers))
    assert sorted(found) == [(n, (n // 3) ** 2) for n in range(600)]
    assert max(most) <= AHEAD * 2 + 1


FORK = """
import itertools, os, sys
from tests.support.speeds import slow_after
from cpunmt import Translator
translator = Translator(sys.argv[1], inter_threads=2)
results = translator.translate_iterable(itertools.repeat("A dog."), ordered=False)
next(results)
child = os.fork()
if child == 0:
    try:
        print(sum(1 for _ in itertools.islice(results, 100_000)))
    except RuntimeError as error:
        print(error, flush=True)
    new = translator.translate_iterable(["A dog."] * 40, ordered=False)
    print(len(list(new)), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(sum(1 for _ in itertools.islice(results, 1000)))
"""


@pytest.mark.slow
def test_a_fork_does_not_wait_for_what_its_parent_makes():
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(DIRECTORIES["int8"])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=TIMEOUT)
    error, new, old = done.stdout.splitlines()
    assert error.startswith("these results are made in process ") and (new, old) == ("40", "1000"), done
    assert os.getpid()  # not one of the workers


def test_a_stream_that_is_dropped_frees_its_workers():
    begun, left = threading.Event(), threading.Event()

    def make(items):
        if items == [0]:
            return items
        begun.set()
        try:
            while True:  # as the engine asks between two compiled calls
                check()
        finally:
            left.set()

    stream = unordered(iter([[0], [1], [2]]), lambda item: 1, make, Workers(2))
    assert next(stream) == (0, 0) and begun.wait(30)
    stream.close()
    assert left.wait(30)
