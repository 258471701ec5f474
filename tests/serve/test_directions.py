"""Which models lead from one language to another, and what codes mean."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.serve.directions import MOST_MODELS, Direction, chain, sources
from cpunmt.serve.language_codes import NAMES, base_of, deepl, found_in, libretranslate, name_of

LANGUAGES = "abcde"
DIRECTIONS = st.lists(
    st.tuples(st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES)).filter(lambda pair: pair[0] != pair[1]),
    max_size=8,
).map(lambda pairs: [(Direction(*pair), number) for number, pair in enumerate(pairs)])


def chains(directions, source, target):
    """The definition: all rows of models that fit together, the fewest and first named ones first."""
    for count in range(1, MOST_MODELS + 1):
        for row in itertools.product(directions, repeat=count):
            languages = [source, *[one.target for one, _ in row]]
            fits = all(one.source == before for (one, _), before in zip(row, languages, strict=False))
            if fits and languages[-1] == target and len(set(languages)) == len(languages):
                yield tuple(number for _, number in row)


@given(DIRECTIONS, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_the_fewest_models_are_used(directions, source, target):
    if source == target:
        return
    expected = next(chains(directions, source, target), None)
    found = chain(directions, source, target)
    assert found is None if expected is None else len(found) == len(expected)
    if found:
        assert found in list(chains(directions, source, target))
        if len(found) == 1:
            assert found == expected  # the first named one
    assert set(sources(directions)) == {one.source for one, _ in directions}


@pytest.mark.parametrize(
    "code, there, expected",
    [
        ("EN", ["en"], "en"),
        ("en-GB", ["de", "en"], "en"),
        ("zh", ["zh-Hans"], "zh-Hans"),
        ("zh-CN", ["zh"], "zh"),
        ("zt", ["zh-Hant", "zh"], "zh-Hant"),
        ("ZH-HANS", ["zh"], "zh"),
        ("pb", ["pt"], "pt"),
        ("pt", ["pt-br"], "pt-br"),
        ("PT_BR", ["pt", "pt-br"], "pt-br"),
        ("no", ["nb"], "nb"),
        ("zz", ["en"], None),
        ("", ["en"], None),
        ("e", ["en"], None),
    ],
)
def test_codes_are_found(code, there, expected):
    assert found_in(code, there) == expected


def test_codes_are_written_as_each_dialect_has_them():
    assert [libretranslate(code) for code in ("zh", "zt", "zh-tw", "pb", "de")] == [
        "zh-Hans", "zh-Hant", "zh-Hant", "pt-BR", "de",
    ]  # fmt: skip
    assert [deepl(code) for code in ("en", "zh", "zt", "pb", "nb")] == ["EN", "ZH", "ZH-HANT", "PT-BR", "NB"]
    assert (
        name_of("en") == "English" and name_of("zh-hant") == "Chinese (traditional)" and name_of("en-gb") == "English"
    )
    assert name_of("zz") == "zz" and base_of("zt") == "zh" and len(NAMES) > 80
