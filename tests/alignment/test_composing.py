"""Composition of links and attention through a middle text."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.alignment.aligned import Aligned
from cpunmt.alignment.composing import _weights, composed, composed_attention, overlaps, pivot_layer
from cpunmt.results.results import Hypothesis, Result
from tests.support.aligned_layers import word_layer


def test_through_a_middle_cut_in_two_ways():
    # "Ein Hund": the first writes Ein, Hund; the second reads Ei, n Hu, nd
    first = Aligned("one dog", "Ein Hund", [(0, 3), (4, 7)], [(0, 3), (4, 8)], [(0, 0), (1, 1)])
    second = Aligned(
        "Ein Hund", "un chien", [(0, 2), (2, 6), (6, 8)], [(0, 2), (3, 6), (6, 8)], [(0, 0), (1, 1), (2, 2)]
    )
    found = composed(first, second)
    assert found == Aligned(
        "one dog", "un chien", first.source_spans, second.target_spans, [(0, 0), (1, 1), (1, 2)], None
    )


def test_a_result_is_that_of_the_second_for_the_source_of_the_first():
    def aligned(source, targets, cut):
        best, *others = (Hypothesis(text, -1.0, -1.0, cut and text == targets[0], ()) for text in targets)
        found = Result((best, *others), num_source_pieces=len(source), num_source_characters=len(source))
        return Aligned(source, targets[0], found=found)

    first, second = aligned("one", ["eins", "ein"], True), aligned("eins", ["un", "une"], False)
    made = composed(first, second).found
    assert [(one.text, one.truncated) for one in made.hypotheses] == [("un", True), ("une", True)]
    assert (made.num_source_pieces, made.num_source_characters) == (3, 3)
    assert [one.truncated for one in composed(second, aligned("un", ["a", "b"], True)).found.hypotheses] == [
        True,
        False,
    ]
    assert composed(first._replace(found=None), second).found is None
    assert composed(first, second._replace(found=None)).found is None


def test_what_has_no_characters_has_no_links():
    first = Aligned("a", "b c", [(0, 1)], [(0, 1), (2, 2), (2, 3)], [(0, 0), (0, 1)])
    second = Aligned("b c", "x", [(0, 0), (1, 2), (2, 3), (0, 1)][:3], [(0, 1)], [(0, 0), (1, 0), (2, 0)])
    assert composed(first, second).links == []


SPANS = st.lists(st.integers(0, 3), max_size=12).map(
    lambda sizes: [(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes)) if k % 3]
)


@given(SPANS, SPANS)
def test_overlaps_as_the_definition_says(spans, others):
    expected = [
        [
            (number, min(e, end) - max(b, begin))
            for number, (b, e) in enumerate(others)
            if min(e, end) > max(b, begin) and b < e
        ]
        for begin, end in spans
    ]
    assert overlaps(spans, others) == expected


@given(SPANS, SPANS, st.integers(0, 5), st.integers(0, 5), st.integers(0, 1 << 30))
def test_attention_is_a_product(seen, made, sources, targets, seed):
    generator = np.random.default_rng(seed)
    first = generator.random((len(made), sources), np.float32)
    second = generator.random((targets, len(seen)), np.float32)
    between = np.zeros((len(seen), len(made)))
    for row, shared in enumerate(overlaps(seen, made)):
        for column, size in shared:
            between[row, column] = size / sum(size for _, size in shared)
    found = composed_attention(first, _weights(seen, made), second)
    assert found.dtype == np.float32 and found.shape == (targets, sources)
    np.testing.assert_allclose(found, second.astype(float) @ between @ first, atol=1e-5)


@given(st.lists(st.sampled_from(["dog", "a", "Straße", "😀", ","]), max_size=8).map(" ".join), st.booleans())
def test_a_copy_before_or_after_changes_nothing(text, before):
    copy, back = word_layer(), word_layer(lambda word: word[::-1])
    layers = [copy, back] if before else [back, copy]
    assert pivot_layer(layers)([text], True) == back([text], True)
    assert [aligned[:2] for aligned in pivot_layer(layers)([text], False)] == [back([text], False)[0][:2]]
    assert pivot_layer([copy, back, back])([text], True) == copy([text], True)


def test_layers_are_called_once_for_all_texts():
    calls = []

    def counted(texts, align):
        calls.append(list(texts))
        return word_layer(lambda word: word + "x")(texts, align)

    generator = random.Random(1)
    texts = ["".join(generator.choices("ab ", k=5)) for _ in range(10)]
    found = pivot_layer([counted, counted])(texts, True)
    assert len(calls) == 2 and calls[0] == texts and [aligned.source for aligned in found] == texts
