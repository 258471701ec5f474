"""Every architecture: random ones against their definition, in float32, and their laws in int8."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.config import SCHEMES, ModelConfig
from cpunmt.engine import Search
from quantize.reference import Reference
from quantize.search import beam_search
from tests.random_models import engine_of, random_sources, random_tensors

VOCAB = 40
NEAR = 2e-3  # two hypotheses of nearly equal score; gates by table are off by 1e-6, which deep random models multiply
NAMED = {
    "opus": {"cell": "self_attention", "activation": "swish", "ffn_dim": 48},
    "pre-norm": {"cell": "self_attention", "preprocess": "n", "postprocess": "a", "top_norm": True},
    "average": {"cell": "average_attention", "average_dim": 48},
    "average of one width": {"cell": "average_attention", "average_dim": 32, "average_gate": False},
    "average, pre-norm": {"cell": "average_attention", "average_dim": 32, "preprocess": "n", "postprocess": "an"},
    "sru": {"cell": "sru"},
    "highway": {"cell": "ssru", "postprocess": "hn", "embedding_norm": True},
    "deep": {"ffn_depth": 4, "decoder_ffn_depth": 3, "decoder_ffn_dim": 80, "activation": "gelu"},
    "untied": {"shared_embedding": False, "tied_output": False, "shared_vocabulary": False, "source_vocab_size": 56},
    "trained positions": {"positions": "trained", "scale_embedding": False, "cell": "self_attention"},
    "no projection": {"attention_projection": False, "cell": "self_attention", "positions": "tensor2tensor"},
    "cell projection": {"cell_projection": True, "activation": "gelu_sigmoid"},
}


def make_config(**options) -> ModelConfig:
    sizes = {"model_dim": 32, "ffn_dim": 64, "heads": 2, "encoder_layers": 2, "decoder_parameters": (0, 1)}
    return ModelConfig(**{**sizes, "vocab_size": VOCAB, **options})


@st.composite
def configs(draw):
    """Any architecture of tiny size."""
    activation = st.sampled_from(["relu", "swish", "gelu", "gelu_sigmoid"])
    preprocess = draw(st.sampled_from(["", "", "n"]))
    untied = draw(st.booleans())
    return make_config(
        encoder_layers=draw(st.integers(1, 2)),
        decoder_parameters=draw(st.sampled_from([(0,), (0, 1), (0, 0), (0, 1, 0)])),
        source_vocab_size=56 if untied else None,
        shared_vocabulary=not untied,
        shared_embedding=not untied,
        tied_output=draw(st.booleans()),
        scale_embedding=draw(st.booleans()),
        positions=draw(st.sampled_from(["marian", "tensor2tensor", "trained"])),
        ffn_dim=draw(st.sampled_from([16, 64])),
        decoder_ffn_dim=draw(st.sampled_from([None, 48])),
        ffn_depth=draw(st.integers(2, 4)),
        decoder_ffn_depth=draw(st.integers(2, 3)),
        activation=draw(activation),
        preprocess=preprocess,
        postprocess=draw(st.sampled_from(["an", "hn", "an", "nan"] if not preprocess else ["a", "an", "ha"])),
        embedding_norm=draw(st.booleans()),
        top_norm=bool(preprocess) or draw(st.booleans()),
        attention_projection=draw(st.booleans()),
        cell=draw(st.sampled_from(["ssru", "sru", "self_attention", "average_attention"])),
        cell_projection=draw(st.booleans()),
        average_dim=draw(st.sampled_from([32, 48])),
        average_depth=draw(st.integers(1, 3)),
        average_activation=draw(activation),
        average_gate=draw(st.booleans()),
        alignment_layer=draw(st.sampled_from([None, 0])),
    )


def compare(config, seed, search):
    """Translations of six sentences by engine and definition; returns how many are not the same."""
    tensors = random_tensors(config, seed)
    reference, engine = Reference(config, tensors), engine_of(config, tensors)
    sources = random_sources(seed, config.source_size, 6, longest=30)
    made = engine.translate(sources, [10] * len(sources), search)
    different = 0
    for source, hypotheses in zip(sources, made, strict=True):
        expected = beam_search(reference, source, 10, search)
        different += [h.ids for h in hypotheses] != [e.ids for e in expected]
        for hypothesis, wanted in zip(hypotheses, expected, strict=True):
            assert abs(hypothesis.score - wanted.score) < NEAR
            if hypothesis.ids == wanted.ids:
                assert np.allclose(hypothesis.token_log_probs, wanted.token_log_probs, atol=NEAR)
                assert np.allclose(hypothesis.attention, wanted.attention, atol=1e-3)
    return different


@pytest.mark.parametrize("name", NAMED)
def test_a_named_architecture_equals_its_definition(name):
    config = make_config(**NAMED[name])
    assert sum(compare(config, seed, Search(3, 3, token_log_probs=True, attention=True)) for seed in range(3)) <= 1


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_any_architecture_equals_its_definition(config, seed, beam):
    assert compare(config, seed, Search(beam, beam, token_log_probs=True, attention=True)) <= 1


@given(configs(), st.integers(0, 2**32 - 1), st.sampled_from(list(SCHEMES)))
@settings(deadline=None, max_examples=25)
def test_any_architecture_keeps_its_sentences_apart(config, seed, scheme):
    """Law 2: the same bits alone and in any batch."""
    engine = engine_of(config, random_tensors(config, seed), scheme)
    sources = random_sources(seed, config.source_size, 9, longest=30)
    search = Search(beam_size=3, num_hypotheses=2)
    alone = [engine.translate([source], [8], search)[0] for source in sources]
    order = np.random.default_rng(seed).permutation(len(sources))
    made = engine.translate([sources[i] for i in order], [8] * len(sources), search, slots=4)
    assert made == [alone[i] for i in order]
