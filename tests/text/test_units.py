"""`split`: the units of a text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.text.abbreviations import LANGUAGES
from cpunmt.text.language_rules import ALWAYS, rules
from cpunmt.text.sentences import sentence_spans
from cpunmt.text.signs import is_plain
from cpunmt.text.units import NAMES, is_one, units

TEXT = "One man. Two\nmen.\n\n- A dog! \r\n\tThe end  "


def parts(split, text=TEXT):
    return [text[slice(*span)] for span in units(text, split, "en")]


def test_each_name():
    assert parts("sentence") == ["One man.", "Two", "men.", "A dog!", "The end"]
    assert parts("paragraph") == ["One man.", "Two\nmen.", "A dog!", "The end"]
    assert parts("line") == ["One man. Two", "men.", "- A dog!", "The end"]
    assert parts("none") == [TEXT.strip()]


@given(st.text("aB. \t\n,", max_size=30), st.sampled_from(["sentence", "paragraph"]))
@settings(max_examples=500)
def test_a_tab_between_words_of_a_line_is_between_units(text, split):
    """Units contain tabs only as the indent of a line; otherwise tabs act like spaces."""
    found = units(text, split, "en")
    assert all("\t" not in line.strip() for begin, end in found for line in text[begin:end].split("\n"))
    columns = [text[slice(*span)] for span in found]
    whole = [text[slice(*span)] for span in sentence_spans(text, "en", split == "sentence")]
    assert "".join("".join(columns).split()) == "".join("".join(whole).split())
    if "\t" not in text:
        assert columns == whole


def test_columns_take_linear_time():
    for unit in ("a\t", "\t", "a\t\t ", "a\n\t"):
        assert len(units(unit * 30_000, "paragraph", None)) in (0, 1, 30_000)


@given(st.text("aB. \t\n,", max_size=30), st.sampled_from(["sentence", "paragraph"]))
@settings(max_examples=300)
def test_a_tab_beside_the_end_of_a_line_is_an_indent(text, split):
    spaced = re.sub(r"\s+", lambda gap: gap[0].replace("\t", " ") if "\n" in gap[0] else gap[0], text)
    assert units(text, split, None) == units(spaced, split, None)


def test_tabs_stay(student):
    made = student.translate("Two dogs\tA man\t5\n\tTwo dogs are playing.").text
    assert made == "\n\t".join(
        "\t".join(student.translate(cell).text if cell.isalpha() or " " in cell else cell for cell in line.split("\t"))
        for line in ("Two dogs\tA man\t5", "Two dogs are playing.")
    )


def test_a_function_says_where():
    spans = [(0, 8), (8, 18), [18, 19], (31, 34)]
    assert parts(lambda text: spans) == ["One man.", "Two\nmen.", "The"]
    assert parts(lambda text: iter(())) == []


@pytest.mark.parametrize(
    "wrong", [[(3, 2)], [(0, 5), (4, 6)], [(-1, 2)], [(0, 1000)], [(0,)], [1, 2], 7, None, "ab", [("a", "b")]]
)
def test_a_function_that_gives_something_else(student, wrong):
    with pytest.raises(ValueError, match=r"^split gave .*, expected .*spans \(begin, end\)"):
        units(TEXT, lambda text: wrong, None)
    with pytest.raises(ValueError, match="^split gave "):
        student.translate([TEXT], split=lambda text: wrong)


@given(st.text(), st.sampled_from(NAMES))
def test_units_ascend_and_have_no_space_at_their_ends(text, split):
    found = units(text, split, None)
    ends = [place for span in found for place in span]
    assert ends == sorted(ends) and all(begin < end for begin, end in found)
    kept = [text[slice(*span)] for span in found]
    assert split == "none" or all(part == part.strip() for part in kept)
    if split in ("line", "none"):
        assert "".join("".join(kept).split()) == "".join(text.split())


PLAIN = re.compile(  # the definition, which is slower where it does not match
    "[A-Za-z\u00c0-\u00d6][A-Za-z0-9 ,'\u00c0-\u00d6\u00d8-\u00f6-]*[A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6][.!?]?"
)


@given(st.from_regex(PLAIN, fullmatch=True) | st.text("aA0 ,'-.!?\u00e0\u00d6\u00f8\u4e00\n", max_size=6))
@settings(max_examples=1000)
def test_plain_texts_are_those_of_a_pattern(text):
    assert is_plain(text) == bool(PLAIN.fullmatch(text))


@given(st.from_regex(PLAIN, fullmatch=True))
@settings(max_examples=500)
def test_what_looks_like_one_sentence_is_one(text):
    for split in NAMES:
        for language in (None, "en", "de", "fr"):
            assert units(text, split, language) == [(0, len(text))]


CLEAN = [
    "Dr. Smith and Mrs. Jones paid 3.50 dollars to the U.S. office, i.e. too much (5%)!",
    '"I do not know," said the man, "what we should do about it."',
    "2014 was the year of the £2.5m house at no time [or so] - was it?",
    "\u201eWas?\u201c, fragte er; \u00bfqu\u00e9? no.",
    "Wait... what is it?",
]
WORDS = [
    "Dr.",
    "Mr. A",
    "Mrs. B",
    "Ms.",
    "Prof. C",
    "U.S.",
    "i.e.",
    "3.50",
    "13.7",
    "16,000",
    "5.",
    "12",
    "The",
    "the",
    "iPod",
    "\u00c9t\u00e9",
    "a)",
]
WORDS += [
    "(a",
    "No.",
    "Jan. 5",
    "https://x.org",
    "www.x",
    "'s A",
    "\u2026",
    *"aAbB \u00e9.?!,;:'\"()[]-%\u201c\u201d\u2019\u00bb\u00ab\u00bf",
]
NEARLY_CLEAN = st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text(
    "aA \u00e9\u00c9.?!\u2026,;:'\"()[]-%1\u201c\u201d\u2019\u00bb\u00ab\u00a0", max_size=30
)


@pytest.mark.parametrize("text", CLEAN)
def test_most_sentences_are_found_at_a_glance(text):
    assert is_one(text) and not is_one(f"{text} It is so.") and not is_one(f" {text}") and not is_one(f"{text} ")


@pytest.mark.parametrize(
    "text", ["", " ", ".", "5.", "a) It is so", "(a) So", "1. So", "- So", "So\nit", "So. It is", "So. ", "x\u00a0"]
)
def test_others_are_not(text):
    assert not is_one(text)


@given(NEARLY_CLEAN, st.sampled_from([None, *LANGUAGES, "ja", "xx"]))
@settings(max_examples=2000)
def test_a_glance_says_what_the_rules_say(text, language):
    if is_one(text):
        for newline in (True, False):
            assert sentence_spans(text, language, newline) == [(0, len(text))]
        for split in ("line", "none"):
            assert units(text, split, language) == [(0, len(text))]


@pytest.mark.parametrize("language", [None, *LANGUAGES, "xx"])
def test_titles_that_a_glance_knows_are_so_in_all_languages(language):
    for title in ("Mr", "Ms", "Mrs", "Dr"):
        assert rules(language).kinds[title] == ALWAYS


def test_an_unknown_name_is_refused(student):
    with pytest.raises(ValueError, match="^split is 'words', expected one of"):
        student.translate("A dog.", split="words")
    with pytest.raises(TypeError, match="^split is 7, expected one of"):
        student.translate("A dog.", split=7)
