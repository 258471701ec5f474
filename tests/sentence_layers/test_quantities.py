# ruff: noqa: RUF001 - signs that look like letters
"""The value of a number, its spelling, and its separators in a translation."""

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.sentence_layers.quantities import _SCALES, MOST_DIGITS, quantities, resembles, rewritten, separated, writing

GROUPS, DECIMALS = st.sampled_from(["", ",", ".", " ", "\u202f", "'"]), st.sampled_from([",", "."])


def said(value) -> Fraction:
    digits, power = value
    return Fraction(int(digits or 0)) * Fraction(10) ** power


def written(whole, part, group, decimal):
    """Writes a number with separators."""
    grouped = group.join(
        [whole[: len(whole) % 3 or 3], *(whole[i : i + 3] for i in range(len(whole) % 3 or 3, len(whole), 3))]
    )
    return grouped + decimal * bool(part) + part


NUMBERS = st.tuples(
    st.from_regex("[1-9][0-9]{0,12}", fullmatch=True), st.from_regex("([0-9]{1,6})?", fullmatch=True), GROUPS, DECIMALS
).filter(lambda given: given[2] != given[3])


@given(NUMBERS)
@settings(max_examples=200)
def test_a_number_says_what_it_is_whatever_its_separators(given_number):
    whole, part, _, _ = given_number
    number = written(*given_number)
    (found,) = quantities(f"a {number} b")
    assert number == f"a {number} b"[found.begin : found.end] and found.digits == whole + part
    assert Fraction(f"{whole}.{part or 0}") in map(said, found.values)
    assert len(found.values) <= 2 and found.factors == (1,)


@given(
    NUMBERS, st.sampled_from(["million", "Mio.", "万", "lakh", "crore", "dozen", "Tsd.", "milliards", "миллиона", "k"])
)
def test_a_word_that_counts_multiplies(given_number, word):
    factors = [10**6, 10**6, 10**4, 10**5, 10**7, 12, 10**3, 10**9, 10**6, 10**3]
    factor = factors[
        ["million", "Mio.", "万", "lakh", "crore", "dozen", "Tsd.", "milliards", "миллиона", "k"].index(word)
    ]
    (found,) = quantities(f"{written(*given_number)} {word}")
    whole, part, _, _ = given_number
    assert found.factors == (factor,)
    assert Fraction(f"{whole}.{part or 0}") * factor in map(said, found.values)


@pytest.mark.parametrize(
    ("number", "values"),
    [
        ("1.500", [("15", -1), ("15", 2)]),
        ("999.500", [("9995", -1), ("9995", 2)]),
        ("0.500", [("5", -1)]),
        ("1234.500", [("12345", -1)]),
        ("1.50", [("15", -1)]),
        ("1.500.000", [("15", 5)]),
        ("12,34,567", [("1234567", 0)]),
        ("1,234,56", []),
        ("3.11.7", []),
    ],
)
def test_three_digits_behind_a_sign_may_be_a_group(number, values):
    assert sorted(quantities(number)[0].values) == values


@pytest.mark.parametrize(
    ("words", "factors"),
    [
        ("bn milliard 十億", (10**9,)),
        ("mio million 百万", (10**6,)),
        ("bio billion", (10**9, 10**12)),
        ("tn trillion", (10**12, 10**18)),
        ("兆 조", (10**12,)),
        ("億 亿", (10**8,)),
        ("cr crore 千万", (10**7,)),
        ("lac lakh", (10**5,)),
        ("万 만", (10**4,)),
        ("k thousand 千", (10**3,)),
        ("hundred honderd", (100,)),
        ("dozen 打", (12,)),
    ],
)
def test_words_that_count(words, factors):
    assert [quantities(f"5 {word}")[0].factors for word in words.split()] == [factors] * len(words.split())


@pytest.mark.parametrize(
    "word", ["miles", "miller", "kg", "milk", "bins", "dozes", "Mrs", "band", "crowd", "lack", "x"]
)
def test_other_words_do_not(word):
    assert quantities(f"5 {word}")[0].factors == (1,)


NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,:'\u2019\u00a0\u202f]\d+)*")
AROUND = [*"0123456789 .,:'-/xkK", "\u00a0", "\u202f", "\u0663", "000", "1998", "\u212a", "\u0130", "\ud800"]
AROUND += ["million", "DOZEN", "Tſd", "milk", "ft", "bn", "千万", "mil", "tys", "é"]


def factors_behind(text, at):
    """Returns the factor of the word behind a number, by trying all words."""
    for factors, whole, begun in _SCALES:
        for word in [f"{word}(?![^\\W\\d_])" for word in whole.split()] + begun.split():
            if re.compile(f"[ \u00a0\u202f-]{{0,2}}{word}", re.IGNORECASE).match(text, at):
                return factors
    return (1,)


@given(st.lists(st.sampled_from(AROUND), max_size=10).map("".join))
@settings(max_examples=300)
def test_numbers_are_those_of_plain_patterns(text):
    expected = [(*match.span(), match[0], factors_behind(text, match.end())) for match in NUMBER.finditer(text)]
    assert [(one.begin, one.end, one.written, one.factors) for one in quantities(text)] == expected
    assert all(one.digits == "".join(str(int(c)) for c in one.written if c.isdecimal()) for one in quantities(text))


def test_a_billion_is_either():
    assert set(quantities("1,200 million")[0].values) & set(quantities("1.2 billion")[0].values)
    assert set(quantities("2 Milliarden")[0].values) < set(quantities("2 billion")[0].values)


def test_what_is_not_written_alike_everywhere():
    for number in quantities("1000 1000"):
        assert writing("1000 1000", number) is None
    for word in (
        "12/31/1999",
        "1/250",
        "5:30",
        "17:30:59",
        "31.12.1999",
        "10^100",
        "2.5 x 100",
        "100 × 30",
        "A_100",
    ):
        assert all(writing(f"a {word} b", number) is None for number in quantities(f"a {word} b")), word
    for word in (
        "100-200-300",
        "007",
        "100 ½",
        "100=100",
        "80, 000",
        ".179",
        ",179",
        "#100",
        "100" + "a" * 40,
        "a" * 40 + "100",
    ):
        assert all(writing(f"a {word} b", number) is None for number in quantities(f"a {word} b")), word


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("100 dogs", "100 Hunde", True),
        ("100 km", "100 Kilometer", True),
        ("100 miles", "100 Kilometer", False),
        ("100 miles", "the 100 Miles", True),
        ("100 ft", "100 Fuß", False),
        ("1998 in", "1998 am", True),
        ("777X", "der 777X", True),
        ("777X", "777", False),
        ("A300", "der A300", True),
        ("A300", "300", False),
        ("1200万", "1200", True),  # the factors differ
        ("1998年", "1998", False),
        ("(1964-1993)", "1964–1993", True),
        ("930 a.m.", "930 Uhr", False),
        ("$100", "100 €", True),
    ],
)
def test_how_two_are_written(one, other, are_alike):
    first, second = (writing(text, quantities(text)[-1]) for text in (one, other))
    assert first is not None and second is not None and (first == second) == are_alike


@pytest.mark.parametrize(
    ("digits", "others", "expected"),
    [
        ("77777", "777", True),  # a stutter
        ("24", "2904", True),  # two left out
        ("4", "290", False),
        ("193", "1993", True),
        ("92", "1992", False),  # the year without its century
        ("9", "900", False),
        ("600", "900", True),
        ("160", "100", True),
        ("320", "200", False),
        ("684330330330", "684330", True),
        ("1998" * 9, "1998", True),
        ("422", "42", True),
        ("4242", "42", True),
        ("421", "42", False),
        ("200", "20", False),
        ("24", "2", False),
        ("77", "7", True),
        ("42", "42", False),
        ("1298", "1234", True),
        ("12999", "12345", False),
    ],
)
def test_bad_copies(digits, others, expected):
    assert resembles(digits, others) == expected


@given(st.text("0123456789", min_size=3, max_size=8), st.text("0123456789", min_size=3, max_size=8))
@settings(max_examples=200)
def test_a_bad_copy_is_near_as_defined(digits, others):
    def distance(one, other):
        if not one or not other:
            return len(one) + len(other)
        near = distance(one[1:], other[1:]) + (one[0] != other[0])
        return near if one[0] == other[0] else min(near, distance(one[1:], other) + 1, distance(one, other[1:]) + 1)

    near = distance(digits, others)
    is_within = near == abs(len(digits) - len(others))  # digits were only left out of the longer one
    expected = 2 * len(digits) >= len(others) and (
        (is_within and (len(digits) != len(others) or digits == others))
        or (2 * near <= len(others) and len(digits) <= 2 * len(others))
    )
    if not (len(others) == 4 and digits == others[2:]):
        assert resembles(digits, others) == expected


@given(NUMBERS, NUMBERS)
@settings(max_examples=200)
def test_separators_become_those_of_a_number_there(number, like):
    """Afterwards both have the same style of decimals and groups."""
    whole, part, _, _ = number
    other_whole, other_part, group, decimal = like
    if len(other_whole) < 4 or not other_part or group not in (",", "."):
        return
    own = written(*number)
    made = rewritten(own, written(*like))
    (kinds,) = {len([sign for sign in own if not sign.isdigit()])}
    if made is None:
        assert kinds == 1
    elif kinds > 1 and part and number[2] in (",", "."):
        assert made == written(whole, part, group, decimal)
    else:
        assert [sign for sign in made if sign.isdigit()] == [sign for sign in own if sign.isdigit()]


@pytest.mark.parametrize(
    ("number", "like", "expected"),
    [
        ("2,200,112", "2.200.1122", "2.200.112"),
        ("2,200,112", "2.200,12", "2.200.112"),
        ("2,200,112", "2200", "2,200,112"),
        ("290.4", "2,4", "290,4"),
        ("290.4", "2904", "290.4"),
        ("2,200", "9.300", "2.200"),
        ("2,200", "22000", None),
        ("13,289.40", "13.289,44", "13.289,40"),
        ("4 900", "4.900.0", "4 900"),
        ("777", "7,7", "777"),
    ],
)
def test_separators(number, like, expected):
    assert rewritten(number, like) == expected


@pytest.mark.parametrize(
    ("number", "like", "expected"),
    [
        ("1,234.56", "1,234,56", "1.234,56"),
        ("1,234,567", "1.234,567", "1.234.567"),
        ("1.234,56", "1.234.56", "1,234.56"),
        ("1,234.56", "123,456", None),
        ("290.4", "2904", None),
        ("10.50", "1.050", None),
        ("3.11.7", "3,11,7", None),
    ],
)
def test_separators_of_the_same_digits(number, like, expected):
    assert separated(number, like) == expected


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_number_of_many_digits_is_multiplied_or_left(more):
    digits = "7" * (24 + more)
    (found,) = quantities(f"{digits} million")
    assert [said(value) for value in found.values] == [int(digits) * 10 ** (6 * (more <= 0))]


def test_long_numbers_take_linear_time():
    for text in ("1" * 50_000, "1," * 25_000, "1 " * 25_000, "1" * (MOST_DIGITS + 1) + " dozen", "123 " * 12_500):
        for number in quantities(text)[:5]:
            writing(text, number)
            assert not resembles(number.digits, "12345678901234")
