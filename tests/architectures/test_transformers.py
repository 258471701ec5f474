"""Transformers: random ones against their definition, in float32. The laws: tests/test_laws_of_models.py."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.search.settings import Search
from tests.architectures.comparison import compare
from tests.sample_models.transformers import NAMED, configs, make_config


@pytest.mark.parametrize("name", NAMED)
def test_a_named_architecture_equals_its_definition(name):
    config = make_config(**NAMED[name])
    assert sum(compare(config, seed, Search(3, 3, token_log_probs=True, attention=True)) for seed in range(3)) <= 1


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_any_architecture_equals_its_definition(config, seed, beam):
    assert compare(config, seed, Search(beam, beam, token_log_probs=True, attention=True)) <= 1
