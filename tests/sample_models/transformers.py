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
    "many languages": {
        **{"cell": "self_attention", "preprocess": "n", "postprocess": "a", "top_norm": True, "start_vector": True},
        **{"positions": "trained", "target_positions": True, "embedding_norm": True, "scale_embedding": False},
    },
    "fairseq": {"cell": "self_attention", "preprocess": "n", "postprocess": "a", "positions": "fairseq"},
    "cell projection": {"cell_projection": True, "activation": "gelu_sigmoid"},
}
NAMED = OF_MARIAN | {
    "gated": {"gated_ffn": True, "activation": "gelu_tanh", "decoder_ffn_dim": 80, "cell": "self_attention"},
    "T5": {
        **{"gated_ffn": True, "activation": "gelu_tanh", "rms_norm": True, "preprocess": "n", "postprocess": "a"},
        **{"top_norm": True, "scale_embedding": False, "positions": "none", "cell": "self_attention"},
        **{"attention_dim": 64, "attention_scale": 1.0, "relative_buckets": 8, "relative_distance": 12},
        **{"start_vector": True},
    },
    "bias of each layer": {
        **{"cell": "self_attention", "relative_buckets": 7, "relative_distance": 20, "relative_shared": False},
        **{"heads": 1, "decoder_parameters": (0, 1, 0)},
    },
    "relative positions": {"cell": "self_attention", "relative_positions": 4, "positions": "none"},
    "relative positions, pre-norm": {
        **{"cell": "self_attention", "relative_positions": 17, "preprocess": "n", "postprocess": "a"},
        **{"top_norm": True, "attention_dim": 96, "start_vector": True},
    },
    "wide attention": {"attention_dim": 48, "heads": 3, "attention_scale": 0.5},
    "RMS norms": {"rms_norm": True, "preprocess": "n", "postprocess": "a", "top_norm": True, "activation": "tanh"},
}


_POSITIONS = ["marian", "tensor2tensor", "fairseq", "trained", "none"]
_RELATIVE = [
    {"relative_positions": 1},
    {"relative_positions": 18},
    {"relative_buckets": 8, "relative_distance": 6},
    {"relative_buckets": 5, "relative_distance": 30, "relative_shared": False},
]


def make_config(**options) -> ModelConfig:
    """Makes a config of tiny size."""
    sizes = {"model_dim": 32, "ffn_dim": 64, "heads": 2, "encoder_layers": 2, "decoder_parameters": (0, 1)}
    return ModelConfig.of(**{**sizes, "vocab_size": VOCAB, **options})


@st.composite
def configs(draw, of_marian=False):
    """Draws any architecture of tiny size; `of_marian`: one without a config's `extensions`."""
    extended = st.just(False) if of_marian else st.booleans()
    activation = st.sampled_from(ACTIVATIONS[:4] if of_marian else ACTIVATIONS)
    gated, projected, relative = draw(extended), draw(st.booleans()), {}
    if draw(extended):
        relative = draw(st.sampled_from(_RELATIVE))
    width = draw(st.sampled_from([None, 64])) if projected and draw(extended) else None
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
        positions=draw(st.sampled_from(["marian", "tensor2tensor", "fairseq", "trained"] if of_marian else _POSITIONS)),
        target_positions=draw(st.booleans()),
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
        **relative,
        attention_dim=width,
        attention_scale=draw(st.sampled_from([None, 0.3])) if draw(extended) else None,
        attention_projection=projected,
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
