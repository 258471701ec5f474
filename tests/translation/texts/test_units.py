"""`split`: what of a text is translated by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.translation.texts.units import NAMES, PLAIN, units

TEXT = "One man. Two\nmen.\n\n- A dog! \r\n\tThe end  "


def parts(split, text=TEXT):
    return [text[slice(*span)] for span in units(text, split, "en")]


def test_each_name():
    assert parts("sentence") == ["One man.", "Two", "men.", "A dog!", "The end"]
    assert parts("paragraph") == ["One man.", "Two\nmen.", "A dog!", "The end"]
    assert parts("line") == ["One man. Two", "men.", "- A dog!", "The end"]
    assert parts("none") == [TEXT.strip()]


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


@given(st.from_regex(PLAIN, fullmatch=True))
@settings(max_examples=500)
def test_what_looks_like_one_sentence_is_one(text):
    for split in NAMES:
        for language in (None, "en", "de", "fr"):
            assert units(text, split, language) == [(0, len(text))]


def test_an_unknown_name_is_refused(student):
    with pytest.raises(ValueError, match="^split is 'words', expected one of"):
        student.translate("A dog.", split="words")
    with pytest.raises(TypeError, match="^split is 7, expected one of"):
        student.translate("A dog.", split=7)
