"""Which models lead from one language to another, and what codes mean."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.serve.model_host import MOST_MODELS, Direction, chain

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


TWO_WAYS = [(Direction(*pair), number) for number, pair in enumerate(["ab", "ac", "cd", "bd"])]


@example(TWO_WAYS, "a", "d")
@given(DIRECTIONS, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_the_fewest_models_are_used(directions, source, target):
    if source == target:
        return
    expected = next(chains(directions, source, target), None)
    found = chain(directions, source, target)
    assert found == expected  # of several ways the one whose models were named first
