"""Marian's options: the architecture; unsupported ones are named; malicious YAML is harmless."""

import numpy as np
import pytest
from hypothesis import given, settings

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_recurrent import read_recurrent_config
from cpunmt.formats.marian.marian_transformer import parse_options, read_config
from cpunmt.model.tensors import checkpoint_tensors
from quantize.checkpoints.marian_export import marian_options as exported
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models.marian_model import marian_options, options_item, read_marian_npz
from tests.sample_models.random_models import random_tensors
from tests.sample_models.transformers import OF_MARIAN, configs, make_config


def refusal(options) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_config(options, (), "some.npz")
    assert str(caught.value).startswith("some.npz: ")
    return str(caught.value)


def config_of(**changes):
    return read_config(marian_options() | changes, (), "some.npz")[0]


@pytest.mark.parametrize(
    "option, value",
    [
        ("type", "s2s"),
        ("type", None),
        ("transformer-decoder-autoreg", "other"),
        ("dec-cell", "mlstm"),
        ("dec-cell", "mgru"),
        ("transformer-ffn-activation", "tanh"),
        ("transformer-preprocess", "r"),
        ("transformer-preprocess", "a"),
        ("transformer-postprocess", "dar"),
        ("transformer-postprocess-emb", "a"),
        ("transformer-postprocess-top", "na"),
        ("transformer-postprocess-top", True),
        ("transformer-pool", True),
        ("transformer-no-bias", True),
        ("transformer-attention-mask", "alibi"),
        ("layer-normalization", True),
        ("input-types", ["sequence", "class"]),
        ("dim-vocabs", [96]),
        ("dim-vocabs", [96, "96 "]),
        ("dim-vocabs", None),
        ("dec-depth", 0),
        ("dec-depth", 10**9),
        ("transformer-tied-layers", [1]),
        ("transformer-tied-layers", [1, 3]),
        ("transformer-tied-layers", [1, [1]]),
    ],
)
def test_unsupported_options_are_named(option, value):
    options = marian_options() | {option: value}
    if value is None:
        del options[option]
    message = refusal(options)
    assert f"{option} is" in message and ("supported" in message or "expected" in message)


@pytest.mark.parametrize(
    "changes, field, value",
    [
        ({"transformer-decoder-autoreg": "self-attention"}, "cell", "self_attention"),
        ({"transformer-decoder-autoreg": "average-attention", "transformer-dim-aan": 48}, "average_dim", 48),
        ({"dec-cell": "sru"}, "cell", "sru"),
        ({"transformer-ffn-activation": None}, "activation", "swish"),
        ({"transformer-ffn-activation": "gelu"}, "activation", "gelu_sigmoid"),
        ({"transformer-ffn-depth": 3}, "decoder_ffn_depth", 3),
        ({"transformer-decoder-dim-ffn": 128}, "decoder_width", 128),
        ({"transformer-preprocess": "nd"}, "preprocess", "n"),
        ({"transformer-postprocess": "da"}, "postprocess", "a"),
        ({"transformer-postprocess": "han"}, "postprocess", "han"),
        ({"transformer-postprocess-emb": "nd"}, "embedding_norm", True),
        ({"transformer-postprocess-top": "n"}, "top_norm", True),
        ({"transformer-no-projection": True}, "attention_projection", False),
        ({"transformer-rnn-projection": True}, "cell_projection", True),
        ({"right-left": True}, "right_to_left", True),
        ({"transformer-guided-alignment-layer": 1}, "alignment_layer", 0),
        ({"transformer-guided-alignment-layer": "last"}, "alignment_layer", None),
        ({"tied-embeddings-all": False, "tied-embeddings": True}, "shared_embedding", False),
        ({"tied-embeddings-all": False, "tied-embeddings-src": True}, "tied_output", False),
        ({"tied-embeddings-all": False, "dim-vocabs": [96, 80]}, "source_size", 96),
        ({"transformer-heads": "2"}, "heads", "2"),
    ],
)
def test_what_options_mean(changes, field, value):
    if value == "2":
        assert "heads" in refusal(marian_options() | changes)  # text counts as a number only when it was parsed
        return
    config = config_of(**changes)
    assert getattr(config if hasattr(config, field) else config.architecture, field) == value


def test_trained_positions_are_those_that_are_there():
    """Older Marian saves the option without using it."""
    assert config_of(**{"transformer-train-position-embeddings": True}).architecture.positions == "marian"
    config, _ = read_config(marian_options(), ("Wpos",), "some.npz")
    assert config.architecture.positions == "trained" and not config.architecture.scale_embedding


def test_a_layer_that_is_not_there_cannot_align():
    assert "alignment_layer" in refusal(marian_options() | {"transformer-guided-alignment-layer": 3})
    assert "some.npz" in refusal(marian_options() | {"transformer-guided-alignment-layer": "first"})


def test_the_options_that_those_tests_change_are_supported():
    config, decoder_numbers = read_config(marian_options(), (), "some.npz")
    assert config.architecture.model_dim == 32 and decoder_numbers == [1, 2]


def test_all_unsupported_options_are_listed_at_once():
    message = refusal(
        marian_options() | {"dec-cell": "gru-nematus", "transformer-preprocess": "r", "input-types": ["class"]}
    )
    assert "dec-cell" in message and "transformer-preprocess" in message and "input-types" in message


def test_options_are_yaml_of_a_file():
    assert parse_options(options_item(marian_options()).tobytes(), "some.npz") == marian_options()
    with pytest.raises(ModelFileError, match="^some.npz: special:model.yml is not a mapping"):
        parse_options(b"- a\n- list\0", "some.npz")


def test_heads_that_do_not_fit_are_refused():
    assert "heads 4" in refusal(marian_options() | {"transformer-heads": 4})


def _is_started_by_marian(config) -> bool:
    """Returns whether the decoder starts from zero, and one head aligns."""
    return not config.architecture.start_vector and config.architecture.alignment_heads == 1


@pytest.mark.parametrize("change", [{"source_end": False}, {"start_vector": True}, {"alignment_heads": 2}])
def test_what_marian_lacks_is_not_exported(change):
    config = make_config(cell="self_attention")
    exported(config)
    with pytest.raises(ValueError, match="^Marian's (sources end with|decoders start from zero)"):
        exported(config.changed(**change))


@given(configs(of_marian=True))
@settings(deadline=None)
def test_what_is_exported_is_read_again(config):
    """Except for fields that Marian's options lack."""
    if config.architecture.start_vector:
        with pytest.raises(ValueError, match="Marian"):
            exported(config)
        config = config.changed(start_vector=False)
    try:
        options = exported(config)
    except ValueError:
        assert (
            not _is_started_by_marian(config)
            or config.architecture.positions in ("tensor2tensor", "fairseq")
            or config.architecture.target_positions
            or "gelu"
            in (
                config.architecture.activation,
                config.architecture.average_activation,
            )
        )
        return
    names = ("Wpos",) if config.architecture.positions == "trained" else ()
    made, _ = read_config(options, names, "some.npz")
    kept = made.changed(
        scale_embedding=config.architecture.scale_embedding,
        cell_projection=config.architecture.cell_projection,
        average_dim=config.architecture.average_dim,
        average_depth=config.architecture.average_depth,
    )
    assert kept == config.changed(target_positions=False)


def test_the_aligning_layer_is_counted_from_one():
    for layer, number in ((0, 1), (1, 2), (None, "last")):
        assert exported(make_config(alignment_layer=layer))["transformer-guided-alignment-layer"] == number


EXTENSIONS = {
    "gated feed-forward networks": {"gated_ffn": True},
    "RMS norms": {"rms_norm": True},
    "relative positions": {"relative_positions": 2},
    "a relative attention bias": {"relative_buckets": 8},
    "no positions": {"positions": "none"},
    "attention of another width than the model": {"attention_dim": 64},
    "another scale of attention": {"attention_scale": 0.5},
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_what_only_other_programs_have_is_not_exported(name):
    with pytest.raises(ValueError, match=f"^Marian does not have {name}$"):
        exported(make_config(activation="swish", **EXTENSIONS[name]))
    with pytest.raises(ValueError, match="^Marian does not have the activation tanh, only relu, swish, gelu_sigmoid$"):
        exported(make_config(activation="tanh"))


@pytest.mark.parametrize("name", OF_MARIAN)
def test_named_architectures_survive_a_file(name, tmp_path):
    config = make_config(**OF_MARIAN[name])
    if config.architecture.positions in ("tensor2tensor", "fairseq") or config.architecture.activation == "gelu":
        config = config.changed(positions="marian", activation="swish")
    config = config.changed(target_positions=False)
    if not _is_started_by_marian(config):
        config = config.changed(start_vector=False, alignment_heads=1)
    tensors = random_tensors(config, 1)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    made, found = read_marian_npz(tmp_path / "model.npz")
    assert made == config and list(found) == list(checkpoint_tensors(config))
    assert all(np.array_equal(found[tensor], tensors[tensor]) for tensor in found)


DEFAULTS = {
    **{"model_dim": 512, "ffn_dim": 2048, "heads": 8, "encoder_layers": 1, "decoder_parameters": (0,), "ffn_depth": 2},
    **{"decoder_ffn_dim": None, "decoder_ffn_depth": 2, "average_dim": 1, "average_depth": 2, "alignment_layer": None},
    **{"preprocess": "", "postprocess": "an", "embedding_norm": False, "top_norm": False},
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"dec-depth": 128}, {"decoder_parameters": tuple(range(128))}),
        (
            {"transformer-decoder-autoreg": "average-attention"},
            {"average_dim": 2048, "average_depth": 2},
        ),
        ({"transformer-guided-alignment-layer": 1}, {"alignment_layer": 0}),
    ],
)
def test_defaults_of_transformers(options, expected):
    config, numbers = read_config({"type": "transformer", "dim-vocabs": [96, 96], **options}, (), "some.npz")
    values = DEFAULTS | expected
    assert {name: getattr(config.architecture, name) for name in values} == values
    assert numbers == list(range(1, len(values["decoder_parameters"]) + 1))


def test_too_many_layers_are_refused():
    for depth in (0, 129):
        assert f"dec-depth is {depth}, expected 1 to 128" in refusal(marian_options() | {"dec-depth": depth})


def test_numbers_written_as_text():
    text = f"a: '{'9' * 18}'\nb: '{'9' * 19}'\nc: 'true'\n\0d: 1\0"
    assert parse_options(text.encode(), "x") == {"a": int("9" * 18), "b": "9" * 19, "c": True}


def test_defaults_of_recurrent_networks():
    config, _ = read_recurrent_config({"type": "s2s", "dim-vocabs": [96, 96]}, "some.npz")
    expected = {"model_dim": 512, "encoder_dim": 1024, "decoder_dim": 1024, "encoder_layers": 1, "decoder_layers": 1}
    expected |= {"encoder_transitions": 1, "decoder_transitions": 0, "high_transitions": 0, "layer_norm": ""}
    assert {name: getattr(config.architecture, name) for name in expected} == expected
    normed = {"type": "nematus", "layer-normalization": True, "enc-cell": "gru-nematus", "dec-cell": "gru-nematus"}
    config, _ = read_recurrent_config({"dim-vocabs": [96, 96], **normed}, "some.npz")
    assert config.architecture.layer_norm == "nematus"
