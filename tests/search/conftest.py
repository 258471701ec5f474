"""The small random model of most tests of searches."""

import pytest

from quantize.reference.network import Reference
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist


@pytest.fixture(scope="session")
def model():
    """Returns (Reference, Engine, Engine with a shortlist, the shortlist) of one float32 model of 96 pieces."""
    config, tensors = random_checkpoint(7, d=32, f=64, heads=2, enc=2, dec=2, vocab=96)
    shortlist = random_shortlist(4, config.vocab_size)
    engines = engine_of(config, tensors), engine_of(config, tensors, shortlist=shortlist)
    return Reference(config, tensors), *engines, shortlist
