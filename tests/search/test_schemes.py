"""Every scheme of weights, alone and mixed, in any architecture: the engine against the definition in NumPy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model import tensors
from cpunmt.model.config import SCHEMES
from cpunmt.model.tensors import Model, linears, matrices, table_sizes
from cpunmt.search.settings import Search
from quantize.checkpoints.stored_weights import stored_linear, stored_table
from tests.architectures.comparison import compare_packed
from tests.sample_models import recurrents
from tests.sample_models.random_clusters import random_clusters
from tests.sample_models.random_models import random_shortlist, random_sources, random_tensors
from tests.sample_models.transformers import NAMED, configs, make_config
from tests.support.speeds import crossed


def check(config, seed, scheme, schemes=None):
    packed = packed_tensors(config, random_tensors(config, seed), scheme, schemes=schemes)
    near = {"float32": 2e-4, "int16": 1e-3, "int8": 5e-3}
    chaos = 3 if isinstance(config.architecture, RecurrentConfig) else 1  # an error in one step affects later ones
    widest = max(near[SCHEMES[name]] for name in (scheme, *(schemes or {}).values()))
    compare_packed(packed, random_sources(seed, config.source_size, 6, 12), chaos * widest, 3, chaos * 0.1)


@pytest.mark.parametrize(("name", "scheme"), crossed(NAMED, SCHEMES))
def test_a_named_architecture(name, scheme):
    check(make_config(**NAMED[name]), 3, scheme)


@pytest.mark.parametrize(("name", "scheme"), crossed(recurrents.NAMED, ["int8", "int16", "log4"]))
def test_a_named_recurrent_network(name, scheme):
    check(recurrents.make_config(**recurrents.NAMED[name]), 3, scheme)


@given(st.one_of(configs(), recurrents.configs()), st.integers(0, 2**32 - 1), st.sampled_from(list(SCHEMES)), st.data())
@settings(max_examples=60, derandomize=True)  # `check` usually holds, not always: fixed models
def test_any_architecture_with_any_mixture(config, seed, scheme, data):
    names = data.draw(st.lists(st.sampled_from(matrices(config)), unique=True))
    check(config, seed, scheme, {name: data.draw(st.sampled_from(list(SCHEMES))) for name in names})


@pytest.mark.parametrize("decoder_parameters", [(0, 0), (0, 1, 0), (0, 0, 1, 1), (0, 1, 2)])
def test_layers_that_share_a_norm_have_readers_of_different_schemes(decoder_parameters):
    for cell, scheme in (("int16", "int8"), ("float32", "int16"), ("int8", "float32")):
        config = make_config(decoder_parameters=decoder_parameters)
        chosen = {name: cell for name in matrices(config) if name.startswith("decoder.1") or ".cell." in name}
        check(config, 5, scheme, chosen)


@given(
    st.one_of(configs(), recurrents.configs()), st.integers(0, 2**32 - 1), st.sampled_from(["log4", "code4"]), st.data()
)
@settings(max_examples=25, deadline=None)
def test_large_models_keep_codes_alone(config, seed, scheme, data):
    """Without int8 weights beside the codes all searches have the same bits: over lists of pieces, all pieces, and
    clusters."""
    schemes = data.draw(st.dictionaries(st.sampled_from(matrices(config)), st.sampled_from(list(SCHEMES)), max_size=3))
    packed = packed_tensors(config, random_tensors(config, seed), scheme, schemes=schemes)
    sources = random_sources(seed, config.source_size, 9)
    shortlist, clusters = random_shortlist(seed, config.vocab_size), {OTHERS: random_clusters(seed, config)}
    said = []
    for large in (tensors.LARGE, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tensors, "LARGE", large)
            engines = [Engine(Model(*packed)), Engine(Model(*packed), clusters=clusters)]
            if config.shared_vocabulary:
                engines.append(Engine(Model(*packed), shortlist))
        limits, beam = [12] * len(sources), Search(beam_size=3, num_hypotheses=3, token_log_probs=True)
        for engine in engines:
            for search in (Search(), beam):
                search = search._replace(clusters=bool(engine.clusters), full=engine.shortlist is None)
                said.append(engine.translate(sources, limits, search))
    assert repr(said[: len(said) // 2]) == repr(said[len(said) // 2 :])


@pytest.mark.parametrize("scheme", ["log4", "code4"])
def test_the_same_integers_in_4_bits_and_in_8_say_the_same(scheme):
    """Single rows are multiplied from 4 bits, several rows from decoded weights: greedy search and beams use either."""
    tensors = random_tensors(make_config(ffn_dim=512), 9)
    config, coded = packed_tensors(make_config(ffn_dim=512), tensors, scheme)
    integers = {name: stored_table(config, coded, name).T for name in table_sizes(config)}
    integers |= {linear.name: stored_linear(config, coded, linear) for linear in linears(config)}

    def quantizer(name, weights, scheme):
        return integers[name], coded[f"{name}.scale"][: weights.shape[1]]

    plain = packed_tensors(config, tensors, "int8", quantizer=quantizer)
    sources = random_sources(9, config.vocab_size, 20)
    for search in (Search(token_log_probs=True), Search(beam_size=3, num_hypotheses=3)):
        said = [Engine(Model(*packed)).translate(sources, [20] * 20, search) for packed in ((config, coded), plain)]
        assert said[0] == said[1]
