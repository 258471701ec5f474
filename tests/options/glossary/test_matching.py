"""Matching of terms as whole words, the longest first, despite the case that a sentence imposes."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.options.glossary.glossary import Glossary
from cpunmt.options.glossary.matching import LOUD, MOST_TOKENS
from cpunmt.options.glossary.words import capitalised, is_spaced, tokens
from tests.support.linear_time import takes_linear_time

TERMS = {
    "train": "Zug",
    "train station": "Bahnhof",
    "dog": "Hund",
    "can": "Dose",
    "us": "uns",
    "US": "Vereinigte Staaten",
    "May": "Mai",
    "iPhone": "iPhone",
    "e-mail": "E-Mail",
    "(C)": "©",
    "a.b*": "Stern",
    "hôtel": "Hotel",
    "車": "Auto",
    "電車": "Zug",
    "หมา": "Hund",
    "हिन्दी": "Hindi",
    "straße": "road",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a train station", [("train station", "Bahnhof")]),
        ("a train  station", [("train  station", "Bahnhof")]),
        ("a train, station", [("train", "Zug")]),
        ("trains", []),
        ("the dog's train", [("dog", "Hund"), ("train", "Zug")]),
        ("I can't", []),
        ("I can\u2019t, a can", [("can", "Dose")]),
        ("dog-friendly", [("dog", "Hund")]),
        # a capital at the sentence's beginning does not count, elsewhere it does
        ("Dog and dog", [("Dog", "Hund"), ("dog", "Hund")]),
        ("“Dog”", [("Dog", "Hund")]),
        ("the Dog", []),
        ("in may, in May", [("May", "Mai")]),
        # capitals: a long word, or all of the text
        ("the TRAIN STATION", [("TRAIN STATION", "BAHNHOF")]),
        ("the DOG", []),
        ("THE DOG", [("DOG", "HUND")]),
        ("they told us in the US", [("us", "uns"), ("US", "Vereinigte Staaten")]),
        ("AN IPHONE", [("IPHONE", "IPHONE")]),
        ("an iPhone, an Iphone", [("iPhone", "iPhone")]),
        # signs match only themselves
        ("an e-mail, an e - mail", [("e-mail", "E-Mail")]),
        ("(C) a.b* axb*", [("(C)", "©"), ("a.b*", "Stern")]),
        ("l'hôtel", [("hôtel", "Hotel")]),
        # scripts without spaces: anywhere, the longest first
        ("私の車と電車です", [("車", "Auto"), ("電車", "Zug")]),
        ("นี่คือหมาของฉัน", [("หมา", "Hund")]),
        # marks belong to their letters
        ("हिन्दी में", [("हिन्दी", "Hindi")]),
        ("हिन्दीX", []),
        ("STRASSE", [("STRASSE", "ROAD")]),
        ("", []),
    ],
)
def test_what_is_found(text, expected):
    found = Glossary(TERMS).matches(text)
    assert [(text[match.begin : match.end], match.target) for match in found] == expected
    assert all(TERMS[source] == target for source, target in (match.term for match in found))


def test_the_longest_of_those_that_fit():
    glossary = Glossary({"a": "1", "a b": "2", "a b c d": "4", "b c": "3"})
    assert [match.target for match in glossary.matches("a b c a b c d a a b")] == ["2", "4", "1", "2"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_term_of_as_many_tokens_as_there_may_be(more):
    term = " ".join(["ab"] * (MOST_TOKENS // 2 - 1)) + " ab" + "!" * (1 + more)
    assert len(tokens(term)) == MOST_TOKENS + more
    if more > 0:
        with pytest.raises(ValueError, match=f"has {MOST_TOKENS + 1} words, spaces and signs, expected at most"):
            Glossary({term: "x"})
    else:
        (found,) = Glossary({term: "x"}).matches(f"So {term} there")
        assert found.target == "x" and found.end - found.begin == len(term)


@pytest.mark.parametrize("letters", [LOUD - 1, LOUD, LOUD + 1])
@pytest.mark.parametrize("beside", ["the {}", "{} the", "the {} the", "THE {}"])
def test_capitals_of_a_word_that_may_be_an_abbreviation(letters, beside):
    """A word in capitals has at least `LOUD` letters; a shorter one counts only in a text without small letters."""
    term = "abcdefg"[:letters]
    found = Glossary({term: "wort"}).matches(beside.format(term.upper()))
    assert [match.target for match in found] == ["WORT"] * (letters >= LOUD or beside.isupper())


WORDS = ["ab", "Ab", "AB", "abc-", "abcde", "Abcde", "ABCDE", "x1", "X1", "..", "'"]


@given(st.sets(st.sampled_from(WORDS)), st.lists(st.sampled_from(WORDS), max_size=6))
@settings(max_examples=500)
def test_cases_are_as_defined(terms, words):
    """One-word terms match as written, with a capital as the first word, and, if loud, in capitals."""
    text = " ".join(words)
    loud = not any(map(str.islower, text))
    begun, expected = False, []
    for word in words:
        first = not begun
        begun = begun or any(map(str.isalnum, word))
        ranks = [word in terms and (word, "t")]
        ranks += [
            (term, "t") for term in sorted(terms) if first and term[0].islower() and word == term[0].upper() + term[1:]
        ]
        if word.isupper() and (loud or sum(map(str.isalpha, word)) >= 5):
            ranks += [(term, "T") for term in sorted(terms) if term.upper() == word]
        expected += (chosen := [rank for rank in ranks if rank][:1])
        begun = begun or bool(chosen)  # a term that is not a word, such as .., counts as well
    found = Glossary(dict.fromkeys(terms, "t")).matches(text)
    assert [(match.term[0], match.target) for match in found] == expected


@given(st.text())
def test_tokens_are_the_text(text):
    found = tokens(text)
    assert "".join(token for token, _, _ in found) == text
    assert [text[begin:end] for _, begin, end in found] == [token for token, _, _ in found]


def by_definition(terms, text):
    """Finds terms of small ASCII letters and spaces by trying all at each place."""
    found, place = [], 0
    while place < len(text):
        fitting = [
            term for term in terms if re.compile(rf"\b{re.escape(term)}\b").match(text, place) and term[0] != " "
        ]
        if fitting:
            found.append((place, max(fitting, key=len)))
            place += len(found[-1][1])
        else:
            place += 1
    return found


@given(
    st.lists(st.lists(st.sampled_from(["ab", "b", "cab"]), min_size=1, max_size=4).map(" ".join), max_size=8),
    st.lists(st.sampled_from(["ab", "b", "cab", "x"]), max_size=20).map(" ".join),
)
def test_as_the_definition_says(terms, text):
    found = Glossary(dict.fromkeys(terms, "t")).matches(text)
    assert [(match.begin, match.term[0]) for match in found] == by_definition(terms, text)


@pytest.mark.slow
def test_a_hundred_thousand_terms_and_a_long_text():
    generator = random.Random(5)
    words = ["".join(generator.choices("abcdefgh", k=6)) for _ in range(40_000)]
    terms = {" ".join(generator.choices(words, k=generator.choice([1, 2, 3]))): "x" for _ in range(100_000)}
    glossary = Glossary(terms)
    assert len(glossary) == len(terms) > 80_000
    began = time.process_time()
    found = glossary.matches(" ".join(generator.choices(words, k=20_000)))
    assert time.process_time() - began < 5 and found  # 0.1 s; an alternation of all terms takes minutes


def test_terms_that_nearly_match_everywhere_take_linear_time():
    glossary = Glossary({"a " * count + "b": "x" for count in range(1, 32)})
    assert glossary.matches("a " * 5_000) == []
    takes_linear_time(glossary.matches, lambda words: "a " * words, 5_000)


def test_terms_beside_each_other():
    found = Glossary({"猫": "Katze", "犬": "Hund"}).matches("猫犬猫")
    assert [match.target for match in found] == ["Katze", "Hund", "Katze"]


@pytest.mark.parametrize(("text", "written"), [("eBay", "EBay"), ("a", "A"), ("A", "A"), ("", ""), ("1a", "1a")])
def test_a_term_at_the_beginning_of_a_sentence(text, written):
    assert capitalised(text) == written


@pytest.mark.parametrize(("text", "spaced"), [("a犬", False), ("犬a", True), ("", True)])
def test_the_last_character_decides_on_a_space(text, spaced):
    assert is_spaced(text) == spaced
