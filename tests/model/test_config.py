"""A model's config: what it accepts, and that those of earlier versions are still read."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.errors import ModelFileError
from cpunmt.model.config import FORMAT_VERSION, SCHEMES, ModelConfig
from cpunmt.model.tensors import check_schemes, expected_tensors, matrices
from tests.sample_models.transformers import configs, make_config

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_an_earlier_version_is_read(version):
    """Their fields lay side by side."""
    fields = json.loads((GOLDEN / f"config.v{version}.json").read_text())
    assert fields["version"] == version
    config = ModelConfig.from_json(fields)
    assert config.schemes == () and config.scheme_of("anything") == config.scheme == "int8"
    given = {name: value for name, value in fields.items() if name not in ("format", "version")}
    kept = json.loads(json.dumps(config.to_json()))
    assert {**kept, **kept["architecture"]}.items() >= given.items() and kept["version"] == FORMAT_VERSION
    assert ModelConfig.from_json(kept) == config


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"family": "x"}, r"unknown field\(s\) family"),
        ({"family": ["transformer"]}, r"unknown field\(s\) family"),
        ({"architecture": {"family": "transformer"}}, r"unknown field\(s\) architecture"),
        ({"where": 1, "cls": 2}, r"unknown field\(s\) cls, where"),
        ({"version": True}, "version is True, expected a positive integer"),
        ({"version": FORMAT_VERSION}, "architecture is None, expected an object whose family is one of transformer"),
    ],
)
def test_an_earlier_version_with_fields_that_it_never_had_is_refused(change, expected):
    """A family was a KeyError, or a TypeError without the file's name."""
    fields = json.loads((GOLDEN / "config.v3.json").read_text()) | change
    with pytest.raises(ModelFileError, match=f"^there: {expected}"):
        ModelConfig.from_json(fields, "there")


@pytest.mark.parametrize("version", [3, FORMAT_VERSION])
def test_fields_that_are_missing_are_named(version):
    """They were an error of Python's about positional arguments."""
    fields = make_config().to_json() | {"version": version}
    fields["architecture"] = {"family": "transformer", "model_dim": 32}
    if version == 3:
        fields |= fields.pop("architecture")
        del fields["family"]
    lacking = "ffn_dim, heads, encoder_layers, decoder_parameters"
    with pytest.raises(ModelFileError, match=rf"^there: lacks the field\(s\) {lacking}; pack the model again$"):
        ModelConfig.from_json(fields, "there")


@given(configs(), st.sampled_from(list(SCHEMES)), st.data())
def test_json_and_back(config, scheme, data):
    names = data.draw(st.lists(st.sampled_from(matrices(config)), unique=True))
    schemes = tuple((name, data.draw(st.sampled_from(list(SCHEMES)))) for name in names)
    config = config.changed(scheme=scheme, schemes=schemes)
    assert ModelConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    check_schemes(config)
    for name in matrices(config):
        assert config.scheme_of(name) == dict(schemes).get(name, scheme)


@pytest.mark.parametrize(
    "schemes",
    [
        [["embedding"]],
        [["embedding", "int9"]],
        [["embedding", ["int8"]]],
        [[1, "int8"]],
        "int8",
        {"embedding": "int8"},
        7,
        None,
        [["embedding", "int8"], ["embedding", "int16"]],
    ],
)
def test_exceptions_that_are_none_are_refused(schemes):
    fields = make_config().to_json() | {"schemes": schemes}
    with pytest.raises(ModelFileError, match="schemes is .*, expected pairs of a layer's name and one of int8, int16"):
        ModelConfig.from_json(fields)


def test_an_exception_for_a_layer_that_is_not_there_is_named():
    config = make_config(schemes=[["encoder.7.feed_forward.inner", "int16"]])
    with pytest.raises(ModelFileError, match=r"names encoder.7.feed_forward.inner, but the model has embedding, enc"):
        expected_tensors(config)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
NUMBERS = dict.fromkeys(
    ("layer_norm_epsilon", "max_length_factor", "length_penalty", "word_penalty", "attention_scale"), float
)


FIELDS = {field.name: field for kind in (ModelConfig, TransformerConfig) for field in dataclasses.fields(kind)}
INNER = {field.name for field in dataclasses.fields(TransformerConfig)}


@given(st.sampled_from(sorted(FIELDS)), JSON)
@settings(max_examples=400)
@example("length_penalty", True)
@example("max_length_factor", False)
@example("layer_norm_epsilon", 1e-60)
@example("attention_scale", 2)
@example("decoder_parameters", [0, 2])
@example("architecture", {"family": ["transformer"]})
@example("architecture", {"family": "transformer", "cell": {}})
def test_a_field_is_refused_or_of_its_own_type(name, value):
    """`"length_penalty": true` passed, and was a TypeError in the middle of a translation."""
    fields = make_config().to_json()
    place = fields["architecture"] if name in INNER else fields
    place[name] = value
    try:
        made = ModelConfig.from_json(fields)
    except ModelFileError as error:
        assert "config" in str(error)
        return
    found = getattr(made.architecture if name in INNER else made, name)
    kind = NUMBERS.get(name) or next(k for k in (tuple, bool, int, str) if k.__name__ in str(FIELDS[name].type))
    assert found is None or type(found) is kind


def test_every_field_is_checked():
    assert [name for name, field in FIELDS.items() if "check" not in field.metadata] == ["architecture"]


LATER = {
    "replace_unknowns": True,
    "max_length": 511,
    "no_repeat_ngram_size": 3,
    "suppress_sequences": (("▁a", "b"), ("c",)),
    "source_end": False,
    "moses_languages": ("en", "de"),
    "prompt": (3, 1),
    "alignment_heads": 2,
    "start_vector": True,
    "gated_ffn": True,
    "rms_norm": True,
    "attention_dim": 64,
    "attention_scale": 0.5,
    "relative_buckets": 8,
    "relative_distance": 30,
    "relative_shared": False,
}
ALONE = {"relative_positions": 3}  # not with the buckets


def test_fields_of_later_versions_are_written_only_where_they_say_something():
    """Older versions can read models without them."""
    config = make_config()
    fields = config.to_json()
    every = LATER | ALONE
    assert not every.keys() & (fields.keys() | fields["architecture"].keys())
    for changes in (*({name: value} for name, value in every.items()), LATER):
        changed = config.changed(**changes)
        fields = json.loads(json.dumps(changed.to_json()))
        assert (fields.keys() | fields["architecture"].keys()) & every.keys() == changes.keys()
        assert ModelConfig.from_json(fields) == changed != config


@pytest.mark.parametrize("value", ["ab", [[]], ["ab"], [[1]], [["a"] * 101], [["a"]] * 10_001, {"a": ["b"]}])
def test_suppressed_sequences_are_lists_of_pieces(value):
    with pytest.raises(ModelFileError, match="suppress_sequences is .*, expected at most 10000 lists of 1 to 100 piec"):
        make_config(suppress_sequences=value)
    assert make_config(suppress_sequences=[["a"] * 100]).suppress_sequences == (("a",) * 100,)


@pytest.mark.parametrize("value", ["en", ["en"], ["en", "de", "fr"], ["en", 1], ["", "de"], ["e" * 101, "de"], {}])
def test_languages_of_moses_are_two(value):
    with pytest.raises(ModelFileError, match="moses_languages is .*, expected the codes of two languages"):
        make_config(moses_languages=value)
    assert make_config(moses_languages=["e" * 100, "de"]).moses_languages == ("e" * 100, "de")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        *(
            ({"prompt": value}, "prompt is .*, expected at most 8 ids of pieces")
            for value in (7, "7", ["7"], [-1], [True])
        ),
        ({"prompt": [1] * 9}, "prompt is .*, expected at most 8 ids of pieces"),
        ({"prompt": [0]}, r"prompt is \[0\], expected no 0, the id of </s>, in it"),
        ({"prompt": [7, 9]}, r"prompt is \[7, 9\], expected ids below 9"),
        ({"prompt": [8], "languages": ["de"]}, "prompt of a model of languages, expected one of both"),
    ],
)
def test_prompts_are_pieces_and_of_one_language(fields, problem):
    assert make_config(vocab_size=9, prompt=[8, *[1] * 7]).prompt == (8, *[1] * 7)
    with pytest.raises(ModelFileError, match=problem):
        make_config(vocab_size=9, **fields)


def test_more_aligning_heads_than_heads():
    with pytest.raises(ModelFileError, match="alignment_heads is 3, but there are 2 heads"):
        make_config(alignment_heads=3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"model_dim": 40, "heads": 1},
            r"config: model_dim 40 / heads 1 and feed-forward widths \[64, 64\], expected mul",
        ),
        (
            {"attention_dim": 40},
            r"config: attention_dim 40 / heads 2 and feed-forward widths \[64, 64\], expected mult",
        ),
        (
            {"model_dim": 40, "attention_dim": 32},
            "config: model_dim is 40 and attention_dim 32, expected multiples of 16",
        ),
        (
            {"attention_dim": 64, "attention_projection": False},
            "model_dim is 32 and attention_dim 64, .* the same number",
        ),
        (
            {"relative_positions": 2, "relative_buckets": 8},
            "relative_positions and relative_buckets, expected one of th",
        ),
        ({"relative_buckets": 3}, "relative_buckets is 3 and relative_distance 128, expected 4 buckets or more"),
        ({"relative_buckets": 8, "relative_distance": 4}, "relative_distance 4, .* a distance above half of their num"),
        ({"relative_positions": 1025}, "relative_positions is 1025, expected 0 to 1024"),
        (
            {"gated_ffn": True, "ffn_depth": 3},
            "gated_ffn with an ffn_depth of 3 and a decoder_ffn_depth of 2, expected 2",
        ),
        ({"gated_ffn": True, "decoder_ffn_depth": 3}, "an ffn_depth of 2 and a decoder_ffn_depth of 3, expected 2"),
    ],
)
def test_impossible_transformers_are_refused(fields, message):
    with pytest.raises(ModelFileError, match=message):
        make_config(**fields)
    make_config(relative_buckets=8, relative_distance=5)
