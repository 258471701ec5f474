"""Sentences of many requests, translated together: by a function that tells which batches it was given."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.alignment.aligned import Aligned
from cpunmt.errors import CancelledError
from cpunmt.serve.errors import ServeError
from cpunmt.serve.queue.scheduler import Scheduler
from tests.serve.scheduling import OTHERS, SETTINGS, WAIT, Asking, Sentences, Watched, limits_of, until


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


def test_a_short_request_waits_for_one_batch_of_a_long_one(schedulers):
    scheduler, _ = schedulers(batch=10)
    sentences = Sentences(False)
    document = [f"a sentence of it, {n:03}" for n in range(100)]  # of six pieces
    long = Asking(scheduler, sentences, document)
    assert sentences.begun.acquire(timeout=WAIT)
    short = Asking(scheduler, sentences, ["short"])
    until(lambda: scheduler.queued == 100)
    sentences.open()
    assert short.result() == ["SHORT"] and long.result() == [text.upper() for text in document]
    assert "short" in sentences.batches[1] and len(sentences.batches) >= 50


def test_sentences_that_never_end_let_others_pass(schedulers):
    scheduler, _ = schedulers(batch=10)
    sentences = Sentences(False)
    asked = [Asking(scheduler, sentences, ["first"])]
    assert sentences.begun.acquire(timeout=WAIT)
    asked += [Asking(scheduler, sentences, [f"{n} and so on" * 100]) for n in range(6)]
    until(lambda: scheduler.queued == 6)
    asked += [Asking(scheduler, sentences, [f"short {n}"]) for n in range(6)]
    until(lambda: scheduler.queued == 12)
    sentences.open()
    assert all(one.result() for one in asked)
    lengths = [max(map(len, batch)) for batch in sentences.batches[1:]]
    assert [length > 100 for length in lengths[:4]] == [True, False, True, False]
    assert sum(length > 100 for length in lengths) == 6 and all(
        len(b) == 1 for b in sentences.batches if len(b[0]) > 100
    )


def test_a_long_request_goes_on_whatever_comes(schedulers):
    scheduler, _ = schedulers(batch=10)
    sentences = Sentences(False)
    asked = [Asking(scheduler, sentences, ["first"])]
    assert sentences.begun.acquire(timeout=WAIT)
    long = Asking(scheduler, sentences, [f"a sentence of it, {n:03}" for n in range(8)])
    until(lambda: scheduler.queued == 8)
    for n in range(100):
        asked.append(Asking(scheduler, sentences, [f"short {n:03}"]))
    until(lambda: scheduler.queued == 108)
    sentences.open()
    assert len(long.result()) == 8 and all(one.result() for one in asked)
    with_it = [n for n, batch in enumerate(sentences.batches) if any(text.startswith("a ") for text in batch)]
    assert with_it[0] == 1  # the request that waits longest has one in each batch, in turns with others


def test_groups_take_turns(schedulers):
    scheduler, _ = schedulers(batch=4)
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    asked = [
        Asking(scheduler, sentences, [f"{n}{letter}" for n in range(12)], settings, key)
        for letter, settings, key in (("a", SETTINGS, "model"), ("b", OTHERS, "model"), ("c", SETTINGS, "other"))
    ]
    until(lambda: scheduler.queued == 36)
    sentences.open()
    assert first.result() and all(len(one.result()) == 12 for one in asked)
    letters = [{text[-1] for text in batch} for batch in sentences.batches[1:]]
    assert all(len(one) == 1 for one in letters)  # no batch is of two groups
    assert [set.union(*letters[n : n + 3]) for n in (0, 3, 6)] == [{"a", "b", "c"}] * 3


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


def test_too_much_is_refused(schedulers):
    scheduler, _ = schedulers(sentences=3)
    sentences = Sentences(False)
    first = Asking(scheduler, sentences, ["first"])
    assert sentences.begun.acquire(timeout=WAIT)
    many = Asking(scheduler, sentences, [f"{n}" for n in range(10)])  # nothing waits: it may
    until(lambda: scheduler.queued == 10)
    with pytest.raises(ServeError, match="busy") as refused:
        Asking(scheduler, sentences, ["more"]).result()
    assert refused.value.status == 503 and refused.value.retry_after >= 1
    sentences.open()
    assert first.result() and len(many.result()) == 10


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
