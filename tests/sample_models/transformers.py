"""Architectures of tiny size: named ones, and any."""

from hypothesis import strategies as st

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.kernels.records import ACTIVATIONS
from cpunmt.model.config import ModelConfig

VOCAB = 40
OF_MARIAN = {  # networks that Marian has, or nearly so
    "opus": {"cell": "self_attention", "activation": "swish", "ffn_dim": 48},
    "pre-norm": {"cell": "self_attention", "preprocess": "n", "postprocess": "a", "top_norm": True},
    "average": {"cell": "average_attention", "average_dim": 48},
    "average of one width": {"cell": "average_attention", "average_dim": 32, "average_gate": False},
    "average, pre-norm": {"cell": "average_attention", "average_dim": 32, "preprocess": "n", "postprocess": "an"},
    "sru": {"cell": "sru"},
    "gru": {"cell": "gru", "cell_projection": True},
    "lstm": {"cell": "lstm", "preprocess": "n", "postprocess": "an"},
    "highway": {"cell": "ssru", "postprocess": "hn", "embedding_norm": True},
    "deep": {"ffn_depth": 4, "decoder_ffn_depth": 3, "decoder_ffn_dim": 80, "activation": "gelu"},
    "untied": {"shared_embedding": False, "tied_output": False, "shared_vocabulary": False, "source_vocab_size": 56},
    "trained positions": {"positions": "trained", "scale_embedding": False, "cell": "self_attention"},
    "no projection": {"attention_projection": False, "cell": "self_attention", "positions": "tensor2tensor"},
    "start vector": {"start_vector": True, "alignment_heads": 2, "cell": "self_attention"},
    "cell projection": {"cell_projection": True, "activation": "gelu_sigmoid"},
}
NAMED = OF_MARIAN | {
    "gated": {"gated_ffn": True, "activation": "gelu_tanh", "decoder_ffn_dim": 80, "cell": "self_attention"},
    "RMS norms": {"rms_norm": True, "preprocess": "n", "postprocess": "a", "top_norm": True, "activation": "tanh"},
}


def make_config(**options) -> ModelConfig:
    """Makes a config of tiny size."""
    sizes = {"model_dim": 32, "ffn_dim": 64, "heads": 2, "encoder_layers": 2, "decoder_parameters": (0, 1)}
    return ModelConfig.of(**{**sizes, "vocab_size": VOCAB, **options})


@st.composite
def configs(draw, of_marian=False):
    """Draws any architecture of tiny size; `of_marian`: one without a config's `extensions`."""
    extended = st.just(False) if of_marian else st.booleans()
    activation = st.sampled_from(ACTIVATIONS[:4] if of_marian else ACTIVATIONS)
    gated = draw(extended)
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
        ffn_depth=2 if gated else draw(st.integers(2, 4)),
        decoder_ffn_depth=2 if gated else draw(st.integers(2, 3)),
        gated_ffn=gated,
        activation=draw(activation),
        preprocess=preprocess,
        postprocess=draw(st.sampled_from(["an", "hn", "an", "nan"] if not preprocess else ["a", "an", "ha"])),
        rms_norm=draw(extended),
        embedding_norm=draw(st.booleans()),
        top_norm=bool(preprocess) or draw(st.booleans()),
        attention_projection=draw(st.booleans()),
        cell=draw(st.sampled_from(list(CELLS))),
        cell_projection=draw(st.booleans()),
        average_dim=draw(st.sampled_from([32, 48])),
        average_depth=draw(st.integers(1, 3)),
        average_activation=draw(activation),
        average_gate=draw(st.booleans()),
        alignment_layer=draw(st.sampled_from([None, 0])),
        alignment_heads=draw(st.integers(1, 2)),
        start_vector=draw(st.booleans()),
    )
