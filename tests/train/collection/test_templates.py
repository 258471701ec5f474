"""Sentences with alternatives, and what is left out."""

import gzip
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.train.__main__ import main
from models.train.collection.templates import expanded, pairs
from models.train.commands.sentences import EVERYDAY, OWN
from models.train.text.corpora import read_lines

TRAIN = "The {1:train|ferry} is {2:late|early}.\t{1:Der Zug|Die Fähre} ist zu {2:spät|früh}, {1:er|sie} fährt."


def test_each_choice_is_a_pair():
    assert expanded(TRAIN) == [
        ("The train is late.", "Der Zug ist zu spät, er fährt."),
        ("The train is early.", "Der Zug ist zu früh, er fährt."),
        ("The ferry is late.", "Die Fähre ist zu spät, sie fährt."),
        ("The ferry is early.", "Die Fähre ist zu früh, sie fährt."),
    ]
    assert expanded("It is {1:|not }cold.\tEs ist {1:|nicht }kalt.") == [
        ("It is cold.", "Es ist kalt."),
        ("It is not cold.", "Es ist nicht kalt."),
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_of_many_choices_some_are_made_and_each_alternative_occurs(sizes):
    slots = [f"{{{n}:{'|'.join(f'{n}x{k}' for k in range(size))}}}" for n, size in enumerate(sizes)]
    line = f"{' '.join(slots)}\t{' '.join(reversed(slots))}"
    made = expanded(line)
    every = {
        " ".join(some) for some in itertools.product(*([f"{n}x{k}" for k in range(s)] for n, s in enumerate(sizes)))
    }
    assert len(set(made)) == len(made) and {text for text, _ in made} <= every
    assert len(made) == len(every) or len(made) >= 14
    assert {word for text, _ in made for word in text.split()} == {word for text in every for word in text.split()}
    assert all(text.split() == other.split()[::-1] for text, other in made) and expanded(line) == made


@pytest.mark.parametrize(
    "line, message",
    [
        ("no tab", "a tab"),
        ("one\t", "a tab"),
        ("a {1:b|c}\td {1:e}", "same number"),
        ("a {1:b|c}\td", "same slots"),
        ("a\t{1:b|c} d", "same slots"),
        ("a {b\tc", "outside of a slot"),
        ("a | b\tc", "outside of a slot"),
    ],
)
def test_a_wrong_line_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        expanded(line)


def test_what_is_like_a_held_out_sentence_is_left_out():
    lines = [TRAIN, "Where is the red bus?\tWo ist der rote Bus?", "Where is it?\tWo ist es?", TRAIN]
    found = list(pairs(lines, ["where is, the red bus", "The train is very late."]))
    assert [text for text, _ in found] == [
        "The train is early.",
        "The ferry is late.",
        "The ferry is early.",
        "Where is it?",
    ]


def test_our_own_sentences_fit_and_none_is_held_out(tmp_path, capsys):
    assert main(["sentences", "--out", str(tmp_path / "own.tsv.gz")]) == 0
    with gzip.open(tmp_path / "own.tsv.gz", "rt", encoding="utf-8") as file:
        found = [line.rstrip("\n").split("\t") for line in file]
    assert len(found) > 20_000 and all(len(pair) == 2 for pair in found)
    assert f"{len(found)} pairs" in capsys.readouterr().out
    assert not {text for text, _ in found} & {text for path in EVERYDAY for text in read_lines(path)}
    assert all(
        text.isprintable() for path in OWN.glob("*.tsv") for line in read_lines(path) for text in line.split("\t")
    )
