"""time_limit and cancel: a call returns its whole result or raises; the next call has the same bits."""

import contextlib
import threading

import pytest

from cpunmt import CancelledError, CpunmtError, Pivot, TimeLimitError, Translator
from tests.sample_models.real_model import DIRECTORIES, GERMAN
from tests.support.command_line import sentences
from tests.support.speeds import slow_after

LINES = sentences(30)


class After:
    """A `cancel` function that returns True after `times` calls."""

    def __init__(self, times):
        self.left = times

    def __call__(self):
        self.left -= 1
        return self.left < 0


@pytest.fixture(scope="module")
def pieces(student):
    return [student.tokenize(line) for line in LINES]


@pytest.fixture(scope="module")
def threads():
    return Translator(DIRECTORIES["int8"], inter_threads=2)


def calls(translator, pieces, path):
    """Returns all calls that accept these keywords."""
    return {
        "translate": lambda **ends: translator.translate(LINES, **ends),
        "one": lambda **ends: translator.translate(LINES[0], **ends),
        "html": lambda **ends: translator.translate(f"<p>{LINES[0]} 5 <b>{LINES[1]}</b>", html=True, **ends),
        "glossary": lambda **ends: translator.translate(LINES, glossary={"man": "Kerl"}, beam_size=2, **ends),
        "rerank": lambda **ends: translator.translate(LINES, rerank="mbr-chrf", num_candidates=4, beam_size=4, **ends),
        "translate_iterable": lambda **ends: list(translator.translate_iterable(iter(LINES), **ends)),
        "unordered": lambda **ends: sorted(
            (number, result.text) for number, result in translator.translate_iterable(LINES, ordered=False, **ends)
        ),
        "translate_batch": lambda **ends: translator.translate_batch(pieces, beam_size=3, **ends),
        "pieces": lambda **ends: list(translator.translate_iterable(iter(pieces), **ends)),
        "callback": lambda **ends: translator.translate_batch(pieces, callback=lambda step: False, **ends),
        "generate_tokens": lambda **ends: list(translator.generate_tokens(pieces[0], **ends)),
        "generate_text": lambda **ends: "".join(translator.generate_text(" ".join(LINES), **ends)),
        "score": lambda **ends: translator.score(LINES, LINES, **ends),
        "score_batch": lambda **ends: translator.score_batch(pieces, pieces, **ends),
        "score_iterable": lambda **ends: list(translator.score_iterable(iter(LINES), LINES, **ends)),
        "translate_file": lambda **ends: translator.translate_file(path / "in", path / "out", **ends).num_examples,
        "score_file": lambda **ends: translator.score_file(path / "in", path / "in", path / "out", **ends).num_examples,
        "pivot": lambda **ends: Pivot([translator, GERMAN]).translate(LINES[:2], **ends),
        "pivot stream": lambda **ends: list(Pivot([translator, GERMAN]).translate_iterable(LINES[:2], **ends)),
    }


NAMES = list(calls(None, None, None))


@pytest.mark.parametrize("name", NAMES)
def test_a_call_has_its_result_or_raises(student, pieces, tmp_path, name):
    (tmp_path / "in").write_text("".join(" ".join(line) + "\n" for line in pieces), "utf-8")
    call = calls(student, pieces, tmp_path)[name]
    expected = call()
    (tmp_path / "out").unlink(missing_ok=True)
    stop = threading.Event()
    assert call(time_limit=1e6, cancel=stop) == call(time_limit=None, cancel=stop.is_set) == expected
    (tmp_path / "out").unlink(missing_ok=True)
    with pytest.raises(TimeLimitError, match="^the time limit of 0 s is over, and the call is not done; "):
        call(time_limit=0)
    stop.set()
    for cancel in (stop, After(1)):
        with pytest.raises(CancelledError, match="^the call was cancelled before it was done$"):
            call(cancel=cancel)
    with pytest.raises(ZeroDivisionError):
        call(cancel=lambda: 1 // 0)
    assert not (tmp_path / "out").exists()
    assert call() == expected


@pytest.mark.parametrize("name", slow_after(1, ["translate", "translate_batch", "translate_iterable", "score_batch"]))
def test_workers_hear_of_it(threads, pieces, name):
    call = calls(threads, pieces * 40, None)[name]
    if name != "translate":
        expected = call()
        for times in (1, 3, 9):
            with pytest.raises(CancelledError):
                call(cancel=After(times))
        assert call() == expected
        return
    texts = LINES * 40
    for times in (1, 3, 9):
        with pytest.raises(CancelledError):
            threads.translate(texts, cancel=After(times))
    assert threads.translate(texts, beam_size=1) == threads.translate(LINES) * 40


def test_what_a_stream_had_before_is_given(student):
    stop, results = threading.Event(), []
    stream = student.translate_iterable(iter(LINES), cancel=stop)
    for result in stream:
        results.append(result)
        if len(results) == 7:
            stop.set()
            break
    with pytest.raises(CancelledError):
        results += [*stream]
    assert len(results) == 7 or results == student.translate(LINES[: len(results)])
    assert results == student.translate(LINES[: len(results)])


def test_of_asynchronous_calls_each_sentence_has_its_own_end(threads, pieces):
    expected = threads.translate_batch(pieces)
    blank = threads.translate_batch([[], *pieces], asynchronous=True, time_limit=0)
    assert blank[0].result() == threads.translate_batch([[]])[0]  # nothing to do
    for result in blank[1:]:
        with pytest.raises(TimeLimitError):
            result.result()
    waiting = threads.translate_batch(pieces, asynchronous=True, time_limit=1e6, cancel=threading.Event())
    assert [result.result(timeout=60) for result in waiting] == expected
    scores = threads.score_batch(pieces, pieces, asynchronous=True, cancel=lambda: True)
    for result in scores:
        with pytest.raises(CancelledError):
            result.result()


def test_one_sentence_of_a_batch_is_cancelled_while_it_is_translated(student, pieces):
    """A callback cancels it, to ensure the moment; the others do not change, and its callbacks stop."""
    waiting, told, ready = [], [], threading.Event()

    def callback(step):
        assert ready.wait(30)
        told.append(step.batch_id)
        if step.step == 2 and step.batch_id == 4:
            assert waiting[4].cancel()

    waiting += student.translate_batch(pieces, asynchronous=True, callback=callback)
    ready.set()
    found = [result.result() for number, result in enumerate(waiting) if number != 4]
    whole = student.translate_batch(pieces)
    assert found == [*whole[:4], *whole[5:]] and told.count(4) == 3 < len(whole[4].hypotheses[0])
    with pytest.raises(CancelledError):
        waiting[4].result()


def test_a_call_in_a_callback_ends_with_the_call_around_it(student, pieces):
    stop, seen = threading.Event(), []

    def callback(step):
        assert student.translate(LINES[0]).text
        stop.set()
        try:
            student.translate(LINES[0])
        except CpunmtError as error:
            seen.append(type(error))
        return False

    with pytest.raises(CancelledError):
        student.translate_batch(pieces, callback=callback, cancel=stop)
    assert set(seen) == {CancelledError}
    assert student.translate(LINES[0]).text


def test_wrong_ones_are_told(student):
    for wrong, told in (
        ({"time_limit": "1"}, "time_limit is '1', expected a number"),
        ({"time_limit": -1}, "time_limit is -1, expected 0 to 100000000.0"),
        ({"time_limit": float("nan")}, "time_limit is nan, expected 0 to 100000000.0"),
        ({"cancel": True}, "cancel is True; expected a threading.Event, or a function that says whether to stop"),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            student.translate("Yes.", **wrong)
        assert str(caught.value) == told
    for name in ("max_time", "timeout", "timelimit"):
        with pytest.raises(TypeError, match=f"^unknown option '{name}'.*did you mean time_limit"):
            student.translate("Yes.", **{name: 3})


def counting(method, read):
    """Wraps a method to add up in `read` the characters that it gets."""

    def counted(self, text):
        read[0] += len(text)
        return method(self, text)

    return counted


@pytest.mark.parametrize("part", ["#a", "#a ", "\u6771\u00e9"])
def test_a_long_text_is_looked_at_in_steps(student, monkeypatch, part):
    """At most three passes over a long text take place between two checks."""
    text, read, steps = part * 2000, [0], []
    vocabulary = type(student.source_vocabulary)
    for name in ("encode", "surfaces", "spans"):
        monkeypatch.setattr(vocabulary, name, counting(getattr(vocabulary, name), read))
    monkeypatch.setattr(type(student._engine), "translate", lambda *_, **__: (_ for _ in ()).throw(RuntimeError))

    def cancel():
        steps.append(read[0])
        read[0] = 0
        return False

    with contextlib.suppress(RuntimeError):  # a kept text is not translated
        student.translate(text, cancel=cancel)
    assert max([*steps, read[0]]) < 3.2 * len(text), (len(text), steps, read)
