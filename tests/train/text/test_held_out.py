"""Held-out texts are found, in any spelling, and removed."""

import pytest

from models.train.text.corpora import Corpus, Example
from models.train.text.held_out import held_out, matches, normalized, without_held_out

TEST = Corpus("test", [Example(("A man.",), ("Ein Mann.",)), Example(("Two dogs",), ("Zwei Hunde", "Hunde, zwei"))])


@pytest.mark.parametrize(
    "text", ["a man", "A MAN!", "  a\u00a0 man ", "\u201ea man\u201c", "A mán", "a-man", "\uff21 man", "a_man ..."]
)
def test_the_same_text_in_other_clothes(text):
    assert normalized(text) == "a man"


def test_other_texts_stay_apart():
    assert len({normalized(text) for text in ("a man", "man a", "aman", "a man 2", "")}) == 5
    assert normalized("Straße") == normalized("STRASSE")


def test_sources_take_the_line_and_references_only_themselves():
    corpus = Corpus(
        "train",
        [
            Example(("a man",), ("Irgendein Mann",)),
            Example(("a person",), ("Ein Mann", "Eine Person")),
            Example(("dogs", "two dogs!"), ("Hunde",)),
            Example(("some dogs",), ("hunde zwei",)),
            Example(("ein mann",), ("two dogs",)),  # of the other language
        ],
    )
    kept, leaks = without_held_out(corpus, held_out([TEST]))
    assert kept.examples == [Example(("a person",), ("Eine Person",)), corpus.examples[4]]
    assert leaks == (4, 3)
    assert matches([corpus], TEST) == (0, 4)
    assert matches([kept], TEST) == (0, 0)


def test_exact_matches_are_counted_apart():
    corpus = Corpus("train", [Example(("A man.",), ("ein mann",)), Example(("x",), ("Zwei Hunde",))])
    assert matches([corpus], TEST) == (2, 3)
