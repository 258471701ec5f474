"""Lengths and words of a text and its translation."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cpunmt.text.languages.codes import usual_script
from cpunmt.text.languages.lists import NLLB_200
from cpunmt.text.pairs import is_echo, length_ratio, lengths_fit, text_length
from cpunmt.text.scripts import LETTERS, script_of_letter

WORDS = st.lists(
    st.sampled_from(["Tom", "geht", "gerne", "mit", "seinem", "Hund", "nach", "Haus,", "und", "dann", "the", "dog."]),
    max_size=9,
)
TEXTS = st.text("abä \u3042漢ж\U00020000\ud800.", max_size=40)


def test_an_east_asian_character_counts_threefold():
    assert text_length("abc ж") == 5 and text_length("漢字 a") == 8 and text_length("\U00020000") == 3
    assert length_ratio("a" * 15, "漢" * 15) == 2.0 == length_ratio("漢" * 15, "a" * 15)
    assert length_ratio("a" * 10, "漢" * 10, slack=0) == 3.0


@given(TEXTS, TEXTS)
def test_lengths_fit_by_their_definition(source, target):
    one, other = (15 + sum(3 if letter in "\u3042漢\U00020000" else 1 for letter in text) for text in (source, target))
    for most in (1.0, 1.5, 2.0):
        assert lengths_fit(source, target, most) == (max(one, other) / min(one, other) <= most)


@given(WORDS, WORDS)
def test_an_echo_has_most_words_in_small_letters(source, target):
    """Every echo is one by its definition, and every text is one of itself if it has three words."""
    words = re.findall(r"\b[a-z]\w{2,}", " ".join(source))
    theirs = [word.lower() for word in re.findall(r"\w{3,}", " ".join(target))]
    share = sum(word in theirs for word in words) / len(words) if len(words) >= 3 else 0
    assert is_echo(" ".join(source), " ".join(target)) <= (share >= 0.75)
    assert is_echo(" ".join(source), " ".join(source)) == (len(words) >= 3)


def test_names_and_short_texts_are_no_echo():
    assert not is_echo("New York Comedy Festival", "New York Comedy Festival") and not is_echo("", "")
    assert not is_echo("ok, go on", "ok, go on") and is_echo("open the file now", "OPEN the file")
    assert is_echo("one two three four", "eins two three four") and not is_echo(
        "one two three four", "eins zwo three four"
    )


def test_every_script_of_many_languages_is_known():
    assert {code[4:].lower() for code in NLLB_200} <= LETTERS.keys()
    assert [script_of_letter(one) for one in "aж漢1 "] == ["LATIN", "CYRILLIC", "CJK", None, None]
    codes = {"de": "latn", "zh-TW": "hant", "uz-Cyrl": "cyrl", "ru": "cyrl", "qq": None}
    assert {code: usual_script(code) for code in codes} == codes
