"""Blocks and sentences find their partners, although some have none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.train.collection.alignment import aligned_blocks, aligned_sentences, similarities

BLOCKS = [
    ("Overview", "Überblick"),
    (
        "Call `open()` before you read the first 20 bytes.",
        "Rufen Sie `open()` auf, bevor Sie die ersten 20 Bytes lesen.",
    ),
    ("It returns 0.", "Sie gibt 0 zurück."),
    ("See https://a.b/c for more information about this.", "Weitere Informationen dazu gibt es auf https://a.b/c."),
    ("The file must not be empty, and it must not have been deleted.", "Die Datei darf weder leer noch gelöscht sein."),
    ("Errors", "Fehler"),
    ("`EACCES` means that you may not read it.", "`EACCES` bedeutet, dass Sie sie nicht lesen dürfen."),
]


@given(st.sets(st.integers(0, len(BLOCKS) - 1)), st.sets(st.integers(0, len(BLOCKS) - 1)))
def test_pairs_are_in_order_and_each_text_has_one_partner(ours, theirs):
    source = [BLOCKS[i][0] for i in sorted(ours)]
    target = [BLOCKS[i][1] for i in sorted(theirs)]
    pairs = aligned_blocks(source, target)
    for side, texts in enumerate((source, target)):
        places = [texts.index(pair[side]) for pair in pairs]
        assert places == sorted(set(places))


@pytest.mark.parametrize("missing", range(len(BLOCKS)))
@pytest.mark.parametrize("side", [0, 1])
def test_a_block_that_one_version_lacks_has_no_partner(missing, side):
    sides = [[block[i] for block in BLOCKS] for i in (0, 1)]
    del sides[side][missing]
    right = {pair for i, pair in enumerate(BLOCKS) if i != missing}
    wrong = set(aligned_blocks(*sides)) - right
    assert not wrong and len(set(aligned_blocks(*sides)) & right) >= len(right) - 1


def test_the_path_has_the_highest_sum_of_all():
    """Compared with all pairs of subsets of equal size."""
    from itertools import combinations

    random = np.random.default_rng(1)
    for _ in range(20):
        source = ["x" * n for n in random.integers(1, 80, 5)]
        target = ["y" * n for n in random.integers(1, 80, 4)]
        scores = similarities(source, target) - 0.35
        best = max(
            sum(scores[i, j] for i, j in zip(ones, others, strict=True))
            for size in range(5)
            for ones in combinations(range(5), size)
            for others in combinations(range(4), size)
        )
        indices = [(source.index(one), target.index(other)) for one, other in aligned_blocks(source, target)]
        if len(set(source)) == 5 and len(set(target)) == 4:
            assert sum(scores[i, j] for i, j in indices) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("A dog.", "Ein Hund.", [("A dog.", "Ein Hund.")]),
        (
            "Close the file first. Then open it.",
            "Schließen Sie zuerst die Datei. Öffnen Sie sie dann.",
            [
                ("Close the file first.", "Schließen Sie zuerst die Datei."),
                ("Then open it.", "Öffnen Sie sie dann."),
            ],
        ),
        (
            "It is fast and small. It also runs everywhere and needs no installation.",
            "Es ist schnell. Es ist klein. Es läuft auch überall und muss nicht installiert werden.",
            [
                ("It is fast and small.", "Es ist schnell. Es ist klein."),
                (
                    "It also runs everywhere and needs no installation.",
                    "Es läuft auch überall und muss nicht installiert werden.",
                ),
            ],
        ),
        ("A dog. " * 70, "Ein Hund. " * 70, []),
        ("", "Ein Hund.", []),
    ],
)
def test_sentences(source, target, expected):
    assert aligned_sentences(source, target, ("en", "de")) == expected


def test_blocks_of_other_lengths_are_left_out():
    assert (
        aligned_sentences(
            "Yes. No.", "Das ist ein sehr langer Satz über etwas ganz anderes, der nicht passt.", ("en", "de")
        )
        == []
    )
