"""Codes of languages: the served language that each means, and its spelling in each dialect."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.serve.dialects.google import _code as google
from cpunmt.serve.errors import said
from cpunmt.serve.language_codes import deepl, libretranslate
from cpunmt.text.languages.codes import NAMES, base_of, found_in, name_of, plain

ALIKE = [  # each list is one language; the first is how models write it
    ["zh", "zh-hans", "zh-cn", "zh-sg", "zho", "cmn"],
    ["zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo"],
    ["pb", "pt-br"],
    ["pt", "pt-pt"],
    ["nb", "no", "nb-no"],
    ["he", "iw"],
    ["id", "in"],
    ["fil", "tl"],
]
ALIASES = [(one, other) for group in ALIKE for one, other in itertools.permutations(group, 2)]
BASES = {"zt": "zh", "pb": "pt"}  # bases of some languages
EVERY = sorted({*NAMES, *(code for group in ALIKE for code in group)})
CODES = st.sampled_from([*EVERY, "en-gb", "en-us", "sr-latn", "de-at", "zh-hant-tw", "zh-hans-cn", "zz", "e", "", "-"])
CASES = st.sampled_from([str, str.upper, str.title, lambda code: code.replace("-", "_"), lambda code: f" {code} "])


def base(code):
    first = next((group[0] for group in ALIKE if code in group), code.partition("-")[0])
    return BASES.get(first, next((BASES.get(group[0], group[0]) for group in ALIKE if first in group), first))


def definition(code, there):
    """Returns the nearest code: as it is written, and then with ever fewer of its parts."""
    if code in there:
        return code
    parts = plain(code).split("-")
    for count in range(len(parts), 0, -1):
        short = "-".join(parts[:count])
        group = next((group for group in ALIKE if short in group), [])
        for name in [short, *group]:
            for one in there:
                if plain(one) == name:
                    return one
    return next((one for one in there if base(plain(one)) == base(plain(code))), None)


@given(CODES, st.lists(st.tuples(CODES, CASES), max_size=5), CASES)
@example("PT-br", [("pt-br", str), ("pt-br", str.upper)], str)  # of equals the first
def test_the_nearest_code_is_found(code, there, as_asked):
    code, there = as_asked(code), [as_served(one) for one, as_served in there]
    assert found_in(code, there) == definition(code, there)


@pytest.mark.parametrize("one, other", ALIASES)
def test_every_alias_finds_every_other(one, other):
    others = ["xx", "yy"]
    for written in (one, one.upper(), one.replace("-", "_")):
        assert found_in(written, [*others, other]) == other
        # rather than a variant of the language, which comes first
        relatives = [group[0] for group in ALIKE if one not in group and base(group[0]) == base(one)]
        assert found_in(written, [*relatives, other]) == other
    assert base_of(one) == base_of(other) == base(one) and name_of(one) == name_of(other) != one


@pytest.mark.parametrize("code", EVERY)
def test_what_a_dialect_writes_it_also_reads(code):
    for written in (libretranslate, deepl, google):
        one = written(code)
        assert found_in(one, ["xx", code]) == code and written(one) == one == written(code.upper().replace("-", "_"))
        assert written is google or all(
            found_in(one, [other, code]) == code for other in EVERY if deepl(other) != deepl(code)
        )
    assert name_of(code) in NAMES.values()


def test_codes_are_written_as_each_dialect_has_them():
    assert [libretranslate(code) for code in ("zh", "zt", "zh-tw", "pb", "de")] == [
        "zh-Hans", "zh-Hant", "zh-Hant", "pt-BR", "de",
    ]  # fmt: skip
    assert [deepl(code) for code in ("en", "zh", "zt", "pb", "nb")] == ["EN", "ZH", "ZH-HANT", "PT-BR", "NB"]
    assert [google(code) for code in ("zh", "zt", "pb", "nb", "de")] == ["zh-CN", "zh-TW", "pt", "nb", "de"]
    assert [name_of(code) for code in ("en-gb", "zh-hant", "zz")] == ["English", "Chinese (traditional)", "zz"]


def test_a_giant_code_takes_no_time():
    assert found_in("a-" * 500_000, ["a"]) is None and found_in(f"{'a-' * 17}a", ["a"]) == "a"  # 35 characters
    assert found_in(f"{'a-' * 17}ab", ["a"]) is None
    assert [said("a" * count) for count in (1, 35, 36)] == ["a", "a" * 35, "the language"]


@pytest.mark.parametrize("group", ALIKE, ids=lambda group: group[0])
def test_all_names_of_a_language_are_written_alike(group):
    for written in (libretranslate, deepl):
        assert len({written(code) for code in group}) == 1
