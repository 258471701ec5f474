"""Several worker threads: the same bits in the same order, forks, and Ctrl-C."""

import threading

import pytest

from cpunmt import Translator
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences
from tests.support.processes import python, wait_for
from tests.support.side_by_side import in_threads
from tests.support.speeds import slow_after

STARTED = ("cpunmt worker_0", "cpunmt worker_1")


@pytest.fixture(scope="module")
def threaded():
    return Translator(DIRECTORIES["int8"], inter_threads=3)


def with_attention(results):
    return [[(h, h.attention.tobytes()) for h in result.hypotheses] for result in results]


def test_the_same_bits_in_the_same_order(student, threaded):
    texts = [*sentences(80), "", " ".join(sentences(30)), "\ud800", " "]
    pieces = [student.tokenize(text) for text in texts]
    for options in ({}, {"beam_size": 3, "num_hypotheses": 2, "max_batch_size": 20}):
        expected = student.translate(texts, **options)
        assert threaded.translate(texts, **options) == expected
        assert list(threaded.translate_iterable(iter(texts), **options)) == expected
        assert threaded.translate_batch(pieces, **options) == student.translate_batch(pieces, **options)
    told = {"return_alignments": True, "return_token_log_probs": True}
    assert with_attention(threaded.translate(texts, **told)) == with_attention(student.translate(texts, **told))
    prefixes = ["Der", None, ""] * (len(texts) // 3) + ["Die"] * (len(texts) % 3)
    assert threaded.translate(texts, target_prefix=prefixes) == student.translate(texts, target_prefix=prefixes)


def test_threads_of_ones_own_share_threads(student, threaded):
    texts = sentences(200)
    assert in_threads(4, lambda _: threaded.translate(texts)) == [student.translate(texts)] * 4


def test_an_error_in_a_worker_comes_through_and_the_next_call_works(student, threaded):
    texts = sentences(300)
    with pytest.raises(TypeError, match="^text 300 is 7, expected str; they are counted from 0$"):
        threaded.translate([*texts, 7])
    with pytest.raises(TypeError, match="^sentence 500: piece 0 is 7, expected str"):
        threaded.translate_batch([["▁A"]] * 500 + [[7]])
    assert threaded.translate(texts) == student.translate(texts)


def test_asynchronous_results(student, threaded):
    pieces = [student.tokenize(text) for text in ("A dog.", "", "Two men.")]
    expected = student.translate_batch(pieces, return_scores=True)
    for translator in (student, threaded):
        waiting = translator.translate_batch(pieces, asynchronous=True, return_scores=True)
        assert [result.result() for result in waiting] == expected
        assert all(result.done() for result in waiting)


def test_counts(threaded, student):
    assert threaded.num_translators == 3 and student.num_translators == 1
    pieces = [student.tokenize(text) for text in sentences(300)]
    go = threading.Event()
    busy = [threaded._workers.submit(go.wait) for _ in range(3)]
    wait_for(lambda: all(one.running() for one in busy))
    waiting = threaded.translate_batch(pieces, asynchronous=True)
    assert 0 < threaded.num_queued_batches < 100
    assert threaded.num_active_batches == 3 + threaded.num_queued_batches
    go.set()
    assert len([result.result() for result in waiting]) == 300
    wait_for(lambda: (threaded.num_active_batches, threaded.num_queued_batches) == (0, 0))


def run(code, *arguments):
    return python("-W", "ignore", "-c", code, *arguments)


def test_one_worker_starts_no_thread():
    code = """
import sys, threading
from cpunmt import Translator
translator = Translator(sys.argv[1])
lines = open("tests/golden/sentences.en.txt", encoding="utf8").read().split("\\n")[:300]
translator.translate(lines); list(translator.translate_iterable(lines)); translator.translate_batch([["▁A"]] * 300)
print(threading.active_count(), "concurrent.futures.thread" in sys.modules)
"""
    assert run(code, DIRECTORIES["int8"]).stdout == "1 False\n"


@pytest.mark.slow
def test_a_forked_child_translates_with_the_translator_of_its_parent():
    """The parent's threads are working meanwhile; a child of the child translates, too."""
    code = """
import os, sys
from cpunmt import Translator
translator = Translator(sys.argv[1], inter_threads=2)
lines = open("tests/golden/sentences.en.txt", encoding="utf8").read().split("\\n")[:200]
expected = translator.translate(lines)
pieces = [translator.tokenize(line) for line in lines]
for round in range(2):
    waiting = translator.translate_batch(pieces, asynchronous=True)
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        same = translator.translate(lines) == expected
        if grandchild == 0:
            os._exit(0 if same else 3)
        status = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
        os._exit(status if same else 4)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len([result.result() for result in waiting]))
print(translator.translate(lines) == expected)
"""
    done = run(code, DIRECTORIES["int8"])
    assert (done.stdout, done.stderr) == ("0 200\n" * 2 + "True\n", "")


END = """
import atexit, os, sys, threading, time
from cpunmt import Translator
lines = open("tests/golden/sentences.en.txt", encoding="utf8").read().split("\\n")[:400]
translator = Translator(sys.argv[1], inter_threads=int(sys.argv[2]))
"""


@pytest.mark.parametrize("threads", slow_after(1, [2, 1]))
def test_a_thread_may_outlive_the_main_thread(threads):
    """Even its first call with workers works, which a ThreadPoolExecutor would refuse."""
    code = f"""{END}
main = threading.main_thread()
def work():
    main.join()
    print(len(translator.translate(lines)))
    print(len(translator.translate_batch([["▁A"]], asynchronous=True)[0].result().hypotheses))
threading.Thread(target=work).start()
"""
    done = run(code, DIRECTORIES["int8"], threads)
    assert (done.returncode, done.stdout, done.stderr) == (0, "400\n1\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_an_exit_while_daemon_threads_translate(threads):
    """Their C++ or compiled code once lost its memory when the interpreter exited."""
    code = f"""{END}
def work():
    while True:
        translator.translate(lines)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(float(sys.argv[3]))
"""
    before = "import atexit, time; atexit.register(lambda: print(time.process_time() - end < 10))"
    # code that runs before cpunmt's exit handlers and after them
    after = "atexit.register(lambda: globals().update(end=time.process_time()))"
    for moment in (1, 3, 5):
        done = run(f"{before}\n{code}\n{after}", DIRECTORIES["int8"], threads, 0.05 * moment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("threads", slow_after(1, [2, 1]))
def test_what_is_registered_for_the_exit_may_translate(threads):
    code = f"""{END}
atexit.register(lambda: print(len(translator.translate(lines)), flush=True))
"""
    before = "import atexit; atexit.register(lambda: print(len(translator.translate(lines)), 'late', flush=True))"
    done = run(before + code, DIRECTORIES["int8"], threads)
    assert (done.returncode, done.stdout, done.stderr) == (0, "400\n400 late\n", "")


@pytest.mark.slow
def test_what_was_registered_for_the_exit_earlier_may_wait_for_translations():
    """It runs after cpunmt's exit handler; threads that it needs must continue."""
    before = """
import atexit, queue, threading
lock, held, lines_of = threading.Lock(), threading.Event(), queue.Queue()
def stop():
    print(len([future.result() for future in futures]), flush=True)
    lines_of.put(None)
    worker.join()
    print(len(done), flush=True)
    with lock:
        print("saved", flush=True)
atexit.register(stop)
"""
    code = f"""{END}
done = []
def work():
    while (line := lines_of.get()) is not None:
        done.append(translator.translate(line))
def hold():
    with lock:
        held.set()
        for _ in range(50):
            translator.translate(lines[:20])
for line in lines[:50]:
    lines_of.put(line)
worker = threading.Thread(target=work, daemon=True)
worker.start()
threading.Thread(target=hold, daemon=True).start()
held.wait()
futures = translator.translate_batch([["▁A", "▁dog"]] * 300, asynchronous=True, max_batch_size=2)
"""
    done = run(before + code, DIRECTORIES["int8"], 2)
    assert (done.returncode, done.stdout, done.stderr) == (0, "300\n50\nsaved\n", "")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"inter_threads": 0}, ValueError, "^inter_threads is 0, expected 1 to 256$"),
        ({"inter_threads": "2"}, TypeError, "^inter_threads is '2', expected an integer$"),
        ({"max_queued_batches": -2}, ValueError, "^max_queued_batches is -2"),
    ],
)
def test_wrong_numbers_of_threads(arguments, error, message):
    with pytest.raises(error, match=message):
        Translator(DIRECTORIES["int8"], **arguments)
