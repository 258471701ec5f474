"""Many threads share a Translator and everything that is made late or cached: the same bits, with or without the lock.

Each round has its own Translator, whose first calls come from all threads at once.
"""

import asyncio
import copy
import random
import sys
import threading

import pytest

from cpunmt import Translator

THREADS, CALLS = 6, 6
KINDS = [
    {},
    {"vocabulary": "full"},
    {"beam_size": 3, "num_hypotheses": 2},
    {"return_alignments": True, "return_token_log_probs": True},
    {"html": True},
    {"protect": ("url", "emoji")},
    {"glossary": {"man": "Kerl", "dog": "K\u00f6ter"}},
    {"sampling_topk": 0, "seed": 3},
    {"length_penalty": 0.3, "beam_size": 2},
    {"suppress_sequences": (("\u2581Ein",),)},
]


@pytest.fixture
def short_turns():
    """Makes threads switch after a few steps, on a Python with the lock."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(scope="module")
def expected(cases):
    """Returns (texts, parts of each translation by kind of options), made by one thread with another Translator."""
    texts = [*cases.LINES[:24], *cases.ODD[2:6], "<b>Two</b> dogs.", "\u2603 \u265e \u2622 are signs."]
    alone = Translator(cases.MODEL)
    return texts, [[cases.told(result) for result in alone.translate(texts, **kind)] for kind in KINDS]


def in_threads(work) -> list:
    """Returns the errors of `work(number)` in threads that begin together."""
    start, raised = threading.Barrier(THREADS), []

    def run(number):
        start.wait(60)
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    return raised


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kept", [7, pytest.param(0, marks=pytest.mark.slow)], ids=["sentences kept", "nothing kept"])
@pytest.mark.parametrize("workers", [1, 2])
def test_threads_share_a_translator(cases, expected, short_turns, kept, workers, rounds):
    texts, known = expected
    for round_ in range(rounds):
        translator = Translator(cases.MODEL, inter_threads=workers, sentence_cache=kept)

        def work(number, translator=translator, round_=round_):
            generator = random.Random(100 * round_ + number)
            for _ in range(CALLS):
                kind, some = (
                    generator.randrange(len(KINDS)),
                    generator.sample(range(len(texts)), generator.choice([1, 2, 9])),
                )
                made = ways[generator.randrange(len(ways))](translator, [texts[place] for place in some], KINDS[kind])
                assert [cases.told(result) for result in made] == [known[kind][place] for place in some], KINDS[kind]

        assert in_threads(work) == []


def _by_list(translator, texts, options):
    return translator.translate(texts, **options)


def _one_by_one(translator, texts, options):
    return [translator.translate(text, **options) for text in texts]


def _by_stream(translator, texts, options):
    return list(translator.translate_iterable(iter(texts), **options))


def _in_any_order(translator, texts, options):
    return [result for _, result in sorted(translator.translate_iterable(texts, ordered=False, **options))]


def _by_a_copy(translator, texts, options):
    return copy.copy(translator).translate(texts, **options)


def _after_unloading(translator, texts, options):
    translator.unload_model()
    return translator.translate(texts, **options)


ways = [_by_list, _by_list, _one_by_one, _one_by_one, _by_stream, _in_any_order, _by_a_copy, _after_unloading]


@pytest.mark.slow
def test_hundreds_of_options(cases, shipped, short_turns):
    """Caches of searches and of score divisors drop entries when they are full."""
    line = "One man."
    penalties = [round(0.2 + number / 200, 4) for number in range(120)]
    expected = {p: cases.told(shipped.translate(line, beam_size=2, length_penalty=p)) for p in penalties}
    translator = Translator(cases.MODEL)

    def work(number):
        order = random.Random(number).sample(penalties, len(penalties))
        for penalty in order:
            made = translator.translate(line, beam_size=2, length_penalty=penalty)
            assert cases.told(made) == expected[penalty]

    assert in_threads(work) == []


def test_pieces_asynchronously_and_cancelled(cases, shipped, short_turns):
    """Several threads wait for results of one call, while others of them are cancelled."""
    pieces = [shipped.tokenize(line) for line in cases.LINES[:40]]
    expected = shipped.translate_batch(pieces)
    translator = Translator(cases.MODEL, inter_threads=2)
    calls = [translator.translate_batch(pieces, asynchronous=True) for _ in range(THREADS)]

    def work(number):
        waiting = calls[number]
        for place in range(0, len(pieces), 5):
            waiting[place].cancel()
        other = calls[(number + 1) % THREADS]
        for place in range(len(pieces)):
            if place % 5:
                assert waiting[place].result(60) == other[place].result(60) == expected[place]

    assert in_threads(work) == []


def test_an_event_loop_with_threads(cases, shipped):
    lines = cases.LINES[:12]

    async def main():
        return await asyncio.gather(*(asyncio.to_thread(shipped.translate, line) for line in lines))

    assert [cases.told(r) for r in asyncio.run(main())] == [cases.told(r) for r in shipped.translate(lines)]
