"""A dictionary's words in small sentences."""

import gzip
from collections import Counter

import pytest

from models.train.__main__ import main
from models.train.collection.dictionary import Entry, entries, pairs
from models.train.text.corpora import read_lines

LINES = [
    "This dictionary translates.",
    ":Riemen:(m) belt (band of a machine), strop (strap), belt (again), a very long gloss here (x)",
    ":klein:small (not large)",
    ":laufen:run (to move), walk (on foot)",
    ":Dänemark:(n) Denmark (country)",
    ":Ameise:(f) ant (insect)",
    ":Haus:(n) house, building (of walls, and a roof)",
]


def test_entries_are_the_first_meanings():
    assert list(entries(LINES)) == [
        Entry("Riemen", "m", "belt"),
        Entry("Riemen", "m", "strop"),
        Entry("klein", "", "small"),
        Entry("laufen", "", "run"),
        Entry("laufen", "", "walk"),
        Entry("Dänemark", "n", "Denmark"),
        Entry("Ameise", "f", "ant"),
        Entry("Haus", "n", "house"),
        Entry("Haus", "n", "building"),
    ]


def of(entry, english=(), german=()):
    return set(pairs([entry], Counter(english), Counter(german)))


def test_nouns_have_their_articles():
    found = of(Entry("Riemen", "m", "belt"), german={"Riemen": 99})
    assert ("belt", "Riemen") in found and len(found) == 9
    known = {"der", "den", "dem", "ein", "einen", "meinen", "dieser", "keinen", "neuer", "ihr"}
    assert all({*german.lower().split()} & known for english, german in found if english != "belt")
    found = of(Entry("Ameise", "f", "ant"), german={"Ameise": 99})
    assert any("an ant" in english.lower() for english, _ in found)
    assert not any("a ant" in english.lower() for english, _ in found)
    for german, gender, english, article in (("Stunde", "f", "hour", "an"), ("Universität", "f", "university", "a")):
        texts = " ".join(text for text, _ in of(Entry(german, gender, english), german={german: 99})).lower()
        assert f" {article} {english}" in texts and f" {'a' if article == 'an' else 'an'} {english}" not in texts
    assert len(of(Entry("Ameise", "f", "ant"), german={"Ameise": 1})) == 4


def test_nouns_that_change_their_ends_are_in_the_nominative():
    found = of(Entry("Junge", "m", "boy"), german={"Junge": 99})
    assert len(found) == 9 and not any(" den " in f" {german} " or "einen " in german for _, german in found)
    assert of(Entry("Arbeitsloser", "m", "jobless"), german={"Arbeitsloser": 1})
    assert of(Entry("Beschuldigter", "m", "accused"), german={"Beschuldigter": 1})
    assert not of(Entry("Heiliger", "m", "saint"), german={"Heiliger": 9})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry("laufen", "", "run"), {("run", "laufen")}),
        (Entry("Dänemark", "n", "Denmark"), {("Denmark", "Dänemark")}),
        (
            Entry("farblos", "", "pale"),
            {("pale", "farblos"), ("It was very pale.", "Es war sehr farblos."), ("He is pale.", "Er ist farblos.")},
        ),
    ],
)
def test_other_words(entry, expected):
    assert of(entry, german={entry.german: 1}) == expected


def test_words_that_no_text_has_are_left_out_unless_the_meaning_is_known():
    assert of(Entry("gering", "", "low")) == set()
    assert of(Entry("gering", "", "low"), english={"low": 1})
    assert of(Entry("Dänemark", "n", "Denmark"), english={"denmark": 1}) == set()


def test_of_words_with_one_meaning_the_frequent_ones_remain():
    words = [Entry(word, "", "small") for word in ("winzig", "gering", "klein")]
    found = {
        german for _, german in pairs(words, Counter(), Counter(klein=100, gering=50, winzig=29)) if " " not in german
    }
    assert found == {"klein", "gering"}
    found = {german for _, german in pairs(words, Counter(), Counter(klein=100, gering=29)) if " " not in german}
    assert found == {"klein"}


def test_the_command(tmp_path, capsys):
    for name in ("phrases", "sentences", "labels"):
        with gzip.open(tmp_path / f"{name}.tsv.gz", "wt") as file:
            file.write("train\tx\ty\tThe belt\tDer Riemen\ntest\tx\ty\tAn ant\tEine Ameise\n")
    (tmp_path / "d.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    main(["dictionary", str(tmp_path / "d.txt"), "--collected", str(tmp_path), "--out", str(tmp_path / "o.tsv.gz")])
    rows = list(read_lines(tmp_path / "o.tsv.gz"))
    assert all(("belt" in row or "strop" in row) and "Riemen" in row for row in rows) and len(rows) == 12
    assert capsys.readouterr().out == "d.txt: 9 meanings, 12 texts\n"
