"""The laws in small: known bits, and independence of batch, order and thread."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Translator


def test_known_translations_to_the_bit(cases, shipped):
    known = json.loads(cases.KNOWN.read_text("utf-8"))
    made = cases.translated(shipped)
    assert len(made) == len(known) > 8
    for (options, texts), found, expected in zip(cases.GROUPS, made, known, strict=True):
        for text, one, other in zip(texts, found, expected, strict=True):
            assert json.loads(json.dumps(one)) == other, (options, text)


def test_batch_and_order(cases, shipped):
    lines = cases.LINES[:80] + cases.ODD
    expected = [cases.told(shipped.translate(line)) for line in lines]
    workers = Translator(cases.MODEL, inter_threads=2)

    @given(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=40), st.sampled_from([1, 30, 1 << 14]))
    @settings(max_examples=25)
    def check(order, tokens):
        for translator in (shipped, workers):
            made = translator.translate([lines[number] for number in order], max_batch_tokens=tokens)
            assert [cases.told(result) for result in made] == [expected[number] for number in order]

    check()


def test_any_text_of_unicode(cases, shipped):
    @given(st.lists(st.text(st.characters(), max_size=40), min_size=1, max_size=6), st.randoms(use_true_random=False))
    @settings(max_examples=40)
    def check(texts, generator: random.Random):
        options = generator.choice([{}, {"html": True}, {"beam_size": 2}, {"split": "paragraph"}])
        together = [cases.told(result) for result in shipped.translate(texts, **options)]
        assert together == [cases.told(shipped.translate(text, **options)) for text in texts]

    check()
