"""Marian's options: what is not supported is named, and no YAML does harm."""

import pytest

from cpunmt.errors import ModelFileError
from cpunmt.model_files.marian_layout import parse_options, read_config
from tests.marian_model import marian_options, options_item


def refusal(options) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_config(options, "some.npz")
    assert str(caught.value).startswith("some.npz: ")
    return str(caught.value)


@pytest.mark.parametrize(
    "option, value",
    [
        ("type", "s2s"),
        ("type", None),
        ("transformer-decoder-autoreg", "self-attention"),
        ("transformer-decoder-autoreg", "average-attention"),
        ("dec-cell", "gru"),
        ("transformer-ffn-activation", "swish"),
        ("transformer-ffn-activation", None),
        ("transformer-ffn-depth", 3),
        ("transformer-decoder-ffn-depth", 1),
        ("transformer-decoder-dim-ffn", 128),
        ("transformer-preprocess", "n"),
        ("transformer-postprocess", "da"),
        ("transformer-postprocess-emb", "n"),
        ("transformer-postprocess-top", "n"),
        ("transformer-no-projection", True),
        ("transformer-rnn-projection", True),
        ("transformer-pool", True),
        ("transformer-no-bias", True),
        ("transformer-attention-mask", "alibi"),
        ("layer-normalization", True),
        ("right-left", True),
        ("input-types", ["sequence", "class"]),
        ("tied-embeddings-all", False),
        ("dim-vocabs", [96, 97]),
        ("dim-vocabs", [96]),
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
    assert f"{option} is" in message and ("supported is" in message or "expected" in message)


def test_the_options_that_those_tests_change_are_supported():
    config, decoder_numbers = read_config(marian_options(), "some.npz")
    assert config.model_dim == 32 and decoder_numbers == [1, 2]


def test_all_unsupported_options_are_listed_at_once():
    message = refusal(marian_options() | {"dec-cell": "gru", "transformer-preprocess": "n", "right-left": True})
    assert "dec-cell" in message and "transformer-preprocess" in message and "right-left" in message


def test_heads_that_do_not_fit_are_refused():
    assert "heads 4" in refusal(marian_options() | {"transformer-heads": 4})


def test_source_and_target_tied_to_one_output_is_the_same_as_tied_all():
    options = marian_options() | {"tied-embeddings-all": False, "tied-embeddings": True}
    assert "tied-embeddings-all" in refusal(options)
    assert read_config(options | {"tied-embeddings-src": True}, "some.npz")[0].vocab_size == 96


def test_options_survive_yaml():
    assert parse_options(options_item(marian_options()).tobytes(), "some.npz") == marian_options()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"- a\n- list",
        b"just text",
        b"a: [1, 2",
        b"\xff\xfe\x00",
        b"a: \xff",
        b"a: !!int ''",
        b"a: !!bool maybe",
        b"a: !!timestamp x",
        b"? [1]\n: 2",
        b"!!python/object/apply:os.getcwd []",
        b"a: &x [1, 2]\nb: *x",
        b"a: &a {k: 1}\n" + b"b: &b {<<: [*a, *a]}\n",
    ],
)
def test_hostile_yaml_is_refused(text):
    with pytest.raises(ModelFileError, match="some.npz: special:model.yml"):
        parse_options(text + b"\0", "some.npz")


@pytest.mark.parametrize("text", [b"a: " + b"[" * 16000, b"- " * 8000])
def test_deep_yaml_is_refused_before_it_costs_minutes(text):
    with pytest.raises(ModelFileError, match="deep nesting"):
        parse_options(text, "some.npz")


def test_long_yaml_is_refused():
    assert parse_options(b"a: 1 #" + b"-" * 9000, "some.npz") == {"a": 1}
    with pytest.raises(ModelFileError, match="has 20006 bytes"):
        parse_options(b"a: 1 #" + b"-" * 20000, "some.npz")
