"""The variables of CTranslate2 as our network: integers stay as they are, and what is not supported is named."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from cpunmt.formats import conversion
from cpunmt.formats.any_directory import read_checkpoint, read_model
from cpunmt.formats.ctranslate2.model_bin import read_model_bin
from cpunmt.formats.ctranslate2.transformer import NetworkSettings, Vocabularies, network_of
from cpunmt.formats.foreign_model import StoredIntegers
from cpunmt.kernels.matmul.packing import pack
from cpunmt.kernels.tables import position_signal
from quantize.checkpoints.float_checkpoint import float_tensors
from tests.golden.ctranslate2_directories import FOLDER
from tests.sample_models.ctranslate2_writer import bfloat16, model_bytes, older, random_variables, stored_as
from tests.support.refusal import refusal

VOCABULARIES = Vocabularies(range(40), 40, True, 0, 1)
SETTINGS = NetworkSettings(True, "</s>", 0, 1e-5)
LAYER = "decoder/layer_0"


def network(variables, aliases, vocabularies=VOCABULARIES, settings=SETTINGS, **header):
    """Returns config and tensors of variables that were written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        path.write_bytes(model_bytes(variables, aliases, **header))
        return network_of(read_model_bin(path), vocabularies, settings, "model.bin")


def refused_network(*arguments, **header) -> str:
    return refusal(lambda path: network(*arguments, **header), "model.bin")


def small(**options):
    return random_variables(**{"source": 40, "enc": 1, "dec": 1, **options})


def refused(changes, settings=SETTINGS, vocabularies=VOCABULARIES, **options) -> str:
    """Returns the refusal of a small model with other variables; None removes one."""
    variables, aliases = small(**options)
    variables |= changes
    variables = {name: array for name, array in variables.items() if array is not None}
    return refused_network(variables, {k: v for k, v in aliases.items() if k not in changes}, vocabularies, settings)


def test_the_structure():
    variables, aliases = small(enc=2, dec=3)
    variables["decoder/activation"] = variables["encoder/activation"] = np.int8(4)
    architecture = network(variables, aliases)[0].architecture
    assert (architecture.encoder_layers, architecture.decoder_layers, architecture.heads) == (2, 3, 2)
    assert (architecture.model_dim, architecture.ffn_dim, architecture.decoder_ffn_dim) == (32, 64, None)
    assert architecture.preprocess == "" and architecture.postprocess == "an" and not architecture.top_norm
    assert architecture.activation == "gelu_sigmoid" and architecture.aligning == 2 and not architecture.start_vector
    variables, aliases = small(pre_norm=True, target=48, tied=False)
    variables |= {"decoder/alignment_layer": np.int16(-1), "decoder/alignment_heads": np.int16(0)}
    config, tensors = network(
        variables, aliases, Vocabularies(range(40), 48, False, 0, 1), SETTINGS._replace(start_id=5)
    )
    assert (config.source_size, config.vocab_size, config.shared_embedding, config.tied_output) == (
        40,
        48,
        False,
        False,
    )
    assert config.architecture.preprocess == "n" and config.architecture.postprocess == "a"
    assert config.architecture.top_norm and config.architecture.alignment_heads == 2 and config.source_end
    assert np.array_equal(tensors["start"], variables["decoder/embeddings/weight"][5])
    assert config.max_source_length == 40  # of the stored positions


@pytest.mark.parametrize("kind", ["float16", "int16", "int8", "int8_float16"])
def test_types_are_read_as_they_are(kind):
    variables, aliases = small(pre_norm=True)
    _, exact = network(variables, aliases)
    _, found = network(stored_as(variables, kind), aliases)
    weights = kind.partition("_")[0]
    for name, tensor in float_tensors(found).items():
        if exact[name].ndim == 2 and name != "positions":
            step = {"float16": 1e-3, "int16": 1 / 1024, "int8": 1 / 127}[weights] * np.abs(exact[name]).max()
            assert 0 < np.abs(tensor - exact[name]).max() <= step
            assert (weights == "float16") != isinstance(found[name], StoredIntegers)
        else:
            assert tensor.dtype == np.float32 and np.allclose(tensor, exact[name], atol=0.05)


def test_bfloat16_is_read_as_it_is():
    variables, aliases = small()
    halves = {name: bfloat16(array) for name, array in variables.items() if np.ndim(array)}
    cut = {name: (bits.astype(np.uint32) << 16).view(np.float32).view(np.ndarray) for name, bits in halves.items()}
    (_, exact), (_, found) = network(variables | cut, aliases), network(variables | halves, aliases)
    assert all(np.array_equal(found[name], exact[name]) for name in exact)


@pytest.mark.parametrize("name", ["marian", "opennmt"])
def test_int8_integers_and_scales_are_not_rounded_again(name, monkeypatch):
    monkeypatch.setitem(conversion.QUANTIZERS, "int8", None)
    stored, packed = read_checkpoint(FOLDER / name / "int8"), read_model(FOLDER / name / "int8")
    assert stored.stored == "int8" and packed.config.scheme == "int8"
    inner = stored.tensors["encoder.0.feed_forward.inner.weight"]
    assert np.array_equal(
        packed.tensors["encoder.0.feed_forward.inner.weight"], pack(np.ascontiguousarray(inner.values))
    )
    assert np.array_equal(packed.tensors["encoder.0.feed_forward.inner.scale"], 1 / inner.multiplier)
    parts = [stored.tensors[f"decoder.0.cell.{part}.weight"] for part in ("query", "key", "value")]
    joined = packed.tensors["decoder.0.cell.query_key_value.scale"]
    assert np.array_equal(joined, 1 / np.concatenate([part.multiplier for part in parts]))
    table = "embedding" if name == "marian" else "output"
    assert np.array_equal(packed.tensors[f"{table}.weight"], stored.tensors[table].values)
    assert np.array_equal(packed.tensors[f"{table}.scale"], 1 / stored.tensors[table].multiplier[:, 0])


def test_computed_positions_begin_with_one():
    variables, aliases = small(stored=0)
    config, tensors = network(variables, aliases)
    assert tensors["positions"].shape == (3072, 32) and config.max_source_length == 1024
    assert np.array_equal(tensors["positions"][0], position_signal(2, 32)[1])


def test_the_longer_of_equal_positions_counts():
    variables, aliases = small(stored=40)
    del aliases["encoder/position_encodings/encodings"]
    stored = variables["decoder/position_encodings/encodings"]
    variables["encoder/position_encodings/encodings"] = stored[:30]
    assert len(network(variables, aliases)[1]["positions"]) == 40


def test_the_decoder_may_have_positions_of_its_own():
    variables, aliases = small(stored=40)
    del aliases["encoder/position_encodings/encodings"]
    stored = variables["decoder/position_encodings/encodings"]
    variables["encoder/position_encodings/encodings"] = stored[1:]
    config, tensors = network(variables, aliases)
    assert config.architecture.target_positions and config.max_source_length == 39
    assert np.array_equal(tensors["positions"], stored[1:]) and np.array_equal(tensors["target_positions"], stored)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_equal_tables_are_one_in_versions_without_aliases(version):
    variables, aliases = small()
    expected = network(variables, aliases)
    variables, revision = older(variables, version)
    for name in list(variables):
        if name.endswith("_token") or name.startswith(("with_", "user_")):
            del variables[name]
    if version < 3:
        variables |= {name: variables[target].copy() for name, target in aliases.items()}
        aliases = {}
    found = network(variables, aliases, version=version)
    assert found[0] == expected[0] and found[1].keys() == expected[1].keys()
    assert revision == {2: 3, 3: 3, 4: 4, 5: 6}[version]
    if version < 3:
        variables["decoder/projection/weight"][0, 0] += 1
        assert not network(variables, aliases, version=version)[0].tied_output


@pytest.mark.parametrize(("specification", "heads"), [("", 8), ("TransformerBase", 8), ("TransformerBig", 16)])
def test_specifications_that_fix_the_heads(specification, heads):
    variables, aliases = small(d=256, heads=4)
    for side in ("encoder", "decoder"):
        del variables[f"{side}/num_heads"]
    assert network(variables, aliases, specification=specification)[0].architecture.heads == heads


def test_the_scale_of_embeddings():
    for value, scaled in ((np.int8(1), True), (np.int8(0), False), (np.float32(32**0.5), True), (np.float32(1), False)):
        variables, aliases = small()
        variables |= {f"{side}/scale_embeddings": value for side in ("encoder", "decoder")}
        assert network(variables, aliases)[0].architecture.scale_embedding is scaled
    for side in ("encoder", "decoder"):
        del variables[f"{side}/scale_embeddings"]
    assert network(variables, aliases)[0].architecture.scale_embedding
    variables |= {f"{side}/embeddings/multiply_by_sqrt_depth": np.int8(0) for side in ("encoder", "decoder")}
    assert not network(variables, aliases)[0].architecture.scale_embedding


FEATURES = {
    "another relative positions of the encoder ({}) than of the decoder ({'relative_positions': 4})": {
        f"{LAYER}/self_attention/relative_position_keys": np.zeros((9, 16), np.float32)
    },
    "asymmetric relative positions": {f"{LAYER}/self_attention/relative_left_max_position": np.int32(4)},
    "relative positions without their vectors": {"with_relative_position": np.int8(1)},
    "rotary positions": {f"{LAYER}/self_attention/rotary_dim": np.int32(4)},
    "another gated ffn of the encoder (False) than": {f"{LAYER}/ffn/linear_0_noact/weight": np.zeros((64, 32), "f4")},
    "norms of queries": {f"{LAYER}/self_attention/q_norm/gamma": np.zeros(16, np.float32)},
    "fewer heads of keys": {f"{LAYER}/self_attention/num_heads_kv": np.int32(1)},
    "heads of another width": {f"{LAYER}/self_attention/head_dim": np.int32(24)},
    "sliding window": {"decoder/sliding_window": np.int32(4)},
    "different scales of queries in one model, 0.25 and 1": {f"{LAYER}/attention/queries_scale": np.float32(1)},
    "features of source words": {"encoder/embeddings_1/weight": np.zeros((4, 32), np.float32)},
    "embeddings of another width": {"decoder/project_in/weight": np.zeros((32, 16), np.float32)},
    "bounded logits": {"decoder/final_logit_softcapping": np.float32(30)},
    "scaled outputs without a norm before them": {"decoder/scale_outputs": np.float32(0.2)},
    "ALiBi": {"decoder/alibi": np.int8(1)},
    "norms before and after each block": {f"{LAYER}/input_layer_norm/gamma": np.zeros(32, np.float32)},
    "AWQ": {f"{LAYER}/ffn/linear_0/weight_zero": np.zeros((4, 4), np.int32)},
    "another activation of the encoder (gelu_tanh) than of the decoder (relu)": {"encoder/activation": np.int8(1)},
    "RMS norms beside others": {f"{LAYER}/ffn/layer_norm/beta": None},
    "another heads of the encoder (1) than of the decoder (2)": {"encoder/num_heads": np.int16(1)},
    "another norm before blocks of the encoder (True)": {"encoder/pre_norm": np.int8(1)},
    "another norm of embeddings of the encoder (True)": {"encoder/layernorm_embedding/gamma": np.zeros(32, np.float32)},
    "embeddings scaled by 3": {"encoder/scale_embeddings": np.float32(3)},
    "decoder/strange, unknown to this version": {"decoder/strange": np.int8(1)},
}


@pytest.mark.parametrize("feature", FEATURES)
def test_what_is_not_supported_is_named(feature):
    message = refused(FEATURES[feature])
    assert message.startswith("model.bin: not supported: ") and feature in message and "\n" not in message


def test_settings_that_change_nothing_are_accepted():
    variables, aliases = small()
    expected = network(variables, aliases)[0]
    for block in ("self_attention", "attention"):
        variables |= {f"{LAYER}/{block}/queries_scale": np.float32(0.25), f"{LAYER}/{block}/num_heads_kv": np.int32(2)}
        variables[f"{LAYER}/{block}/head_dim"] = np.int32(16)
    variables |= {"decoder/scale_outputs": np.float32(1), "with_relative_position": np.int8(0)}
    assert network(variables, aliases)[0] == expected


def relative(**options):
    """Draws a small model of T5's form, or with relative positions."""
    variables, aliases = small(pre_norm=True, **options)
    return variables | {f"{side}/scale_embeddings": np.int8(0) for side in ("encoder", "decoder")}, aliases


def test_the_structure_of_t5():
    variables, aliases = relative(enc=2, dec=2, buckets=8, furthest=12, rms=True, gated=True, biased=False, width=64)
    variables |= {f"{side}/activation": np.int8(1) for side in ("encoder", "decoder")}
    variables |= {name.replace("linear_0/weight", "queries_scale"): np.float32(1)
                  for name in variables if name.endswith("attention/linear_0/weight")}  # fmt: skip
    variables["decoder/scale_outputs"] = np.float32(0.5)
    config, tensors = network(variables, aliases, settings=SETTINGS._replace(epsilon=None))
    found = config.architecture
    assert (found.relative_buckets, found.relative_distance, found.relative_shared) == (8, 12, True)
    assert (found.positions, found.attention_dim, found.attention_scale) == ("none", 64, 1.0)
    assert found.gated_ffn and found.rms_norm and found.activation == "gelu_tanh" and not found.scale_embedding
    assert found.layer_norm_epsilon == 1e-6 and config.max_source_length == 1024
    assert np.array_equal(tensors["decoder.top_norm.scale"], 0.5 * variables["decoder/layer_norm/gamma"])
    assert np.array_equal(tensors["encoder.top_norm.scale"], variables["encoder/layer_norm/gamma"])
    assert not tensors["encoder.0.feed_forward.pre_norm.bias"].any()
    table = variables["encoder/layer_0/self_attention/relative_attention_bias"]
    assert np.array_equal(tensors["encoder.relative_bias"], table)
    gate = variables["encoder/layer_1/ffn/linear_0_noact/weight"]
    assert np.array_equal(tensors["encoder.1.feed_forward.gate.weight"], gate.T)
    variables |= {"decoder/scale_outputs": np.float32(3e38), "decoder/layer_norm/gamma": np.full(32, 9, np.float32)}
    told = refused_network(variables, aliases, settings=SETTINGS._replace(epsilon=None))
    assert "decoder/layer_norm times decoder/scale_outputs is not finite" in told


def test_biases_of_each_layer_are_one_table_where_they_are_equal():
    variables, aliases = relative(enc=2, dec=1, buckets=8, shared=False)
    config, tensors = network(variables, aliases)
    assert not config.architecture.relative_shared and "encoder.1.self_attention.relative_bias" in tensors
    names = [f"encoder/layer_{i}/self_attention/relative_attention_bias" for i in range(2)]
    variables[names[1]] = variables[names[0]].copy()
    config, tensors = network(variables, aliases)
    assert config.architecture.relative_shared
    assert {name for name in tensors if name.endswith("relative_bias")} == {
        "encoder.relative_bias",
        "decoder.relative_bias",
    }


def test_the_structure_with_relative_positions():
    variables, aliases = relative(relative=5)
    config, tensors = network(variables | {"with_relative_position": np.int8(1)}, aliases)
    found = config.architecture
    assert (found.relative_positions, found.positions, found.attention_scale) == (5, "none", None)
    keys = variables[f"{LAYER}/self_attention/relative_position_keys"]
    assert np.array_equal(tensors["decoder.0.cell.relative_keys"], keys) and keys.shape == (11, 16)
    assert np.array_equal(tensors["decoder.0.cell.relative_values"], keys)


KEYS, BIAS = "encoder/layer_0/self_attention/relative_position_keys", f"{LAYER}/self_attention/relative_attention_bias"
WRONG_DISTANCES = {
    "relative_position_keys has shape [10, 16], expected [2 distances + 1, head_dim]": (
        {"relative": 5},
        {KEYS: np.zeros((10, 16), np.float32)},
    ),
    "relative_position_keys has shape [11, 15], expected [11, 16]": (
        {"relative": 5},
        {KEYS: np.zeros((11, 15), np.float32), KEYS.replace("keys", "values"): np.zeros((11, 16), np.float32)},
    ),
    "relative_position_keys holds NaN or infinity": ({"relative": 5}, {KEYS: np.full((11, 16), np.nan, np.float32)}),
    "relative_positions is 1025, expected 0 to 1024": (
        {"relative": 1025},
        {},
    ),
    "relative_attention_bias has shape [8, 3], expected [8, 2]": (
        {"buckets": 8},
        {BIAS: np.zeros((8, 3), np.float32)},
    ),
    "relative_attention_bias has shape [8], expected [buckets, heads]": (
        {"buckets": 8},
        {BIAS: np.zeros(8, np.float32)},
    ),
    "relative_attention_max_distance is missing": (
        {"buckets": 8},
        {BIAS.replace("bias", "max_distance"): None},
    ),
    "relative_buckets is 8 and relative_distance 4, expected 4 buckets or more, and a distance above half": (
        {"buckets": 8, "furthest": 4},
        {},
    ),
    "relative_distance is 1000000000": ({"buckets": 8, "furthest": 10**9}, {}),
    "another relative_attention_max_distance in each layer": (
        {"buckets": 8, "enc": 2},
        {"encoder/layer_1/self_attention/relative_attention_max_distance": np.int32(21)},
    ),
}


@pytest.mark.parametrize("message", WRONG_DISTANCES)
def test_wrong_distances_are_named(message):
    options, changes = WRONG_DISTANCES[message]
    assert message in refused(changes, pre_norm=True, **options)


def test_the_decoder_s_first_piece():
    message = refused({}, SETTINGS._replace(start=None, start_id=None), pre_norm=True)
    assert "not supported: a first piece that each call chooses (decoder_start_token is null)" in message
    message = refused({}, SETTINGS._replace(start="<x>", start_id=None), pre_norm=True)
    assert "decoder_start_token is '<x>', which the target vocabulary lacks" in message
    variables, aliases = small()  # which starts from zero
    network(variables, aliases, settings=SETTINGS._replace(start=None, start_id=None))


def test_other_specifications_are_named():
    variables, aliases = small()
    for name in ("TransformerDecoderSpec", "WhisperSpec"):
        message = refused_network(variables, aliases, specification=name)
        assert message == (
            f"model.bin: a model of '{name}', expected 'TransformerSpec': only encoder-decoder Transformers of text "
            "are supported"
        )


TABLE, SCALE = "decoder/embeddings/weight", "decoder/embeddings/weight_scale"
OFF = np.full(32, np.nan, np.float32)
WRONG = {
    "layer_0/ffn/linear_1/weight is missing": {f"{LAYER}/ffn/linear_1/weight": None},
    "ffn/linear_1/weight has shape [64, 32], expected [32, 64]": {
        f"{LAYER}/ffn/linear_1/weight": np.zeros((64, 32), np.float32)
    },
    "ffn/linear_1/bias has shape [31], expected [32]": {f"{LAYER}/ffn/linear_1/bias": np.zeros(31, np.float32)},
    "ffn/linear_1/bias holds NaN or infinity": {f"{LAYER}/ffn/linear_1/bias": OFF},
    "ffn/linear_1/bias holds int8, expected float32": {f"{LAYER}/ffn/linear_1/bias": np.zeros(32, np.int8)},
    "ffn/linear_1/weight holds int32, expected floats": {f"{LAYER}/ffn/linear_1/weight": np.zeros((32, 64), np.int32)},
    "embeddings_0/weight has shape [39, 32], expected [40, 32]": {TABLE: np.zeros((39, 32), np.float32)},
    "embeddings_0/weight has shape [40], expected two sizes": {TABLE: np.zeros(40, np.float32)},
    "embeddings_0/weight_scale is missing": {TABLE: np.ones((40, 32), np.int8)},
    "weight_scale has shape [39], expected [40]": {TABLE: np.ones((40, 32), np.int8), SCALE: np.ones(39, np.float32)},
    "weight_scale holds 0, expected positive": {TABLE: np.ones((40, 32), np.int8), SCALE: np.zeros(40, np.float32)},
    "holds -128, expected -127 to 127": {TABLE: np.full((40, 32), -128, np.int8), SCALE: np.ones(40, np.float32)},
    "weight_scale is of no use to a encoder/embeddings_0/weight of floats": {SCALE: np.ones(40, np.float32)},
    "decoder/num_heads is 0, expected 1 to 32": {"decoder/num_heads": np.int16(0)},
    "decoder/num_heads is 1.5, expected a whole number": {"decoder/num_heads": np.float32(1.5)},
    "decoder/num_heads has shape [2], expected one finite number": {"decoder/num_heads": np.array([1, 2], np.int16)},
    "encoder/activation is 7, expected 0 to 6": {"encoder/activation": np.int8(7)},
    "alignment_layer is -2, but there are 1 decoder layers": {"decoder/alignment_layer": np.int16(-2)},
    "alignment_layer is 1, but there are 1 decoder layers": {"decoder/alignment_layer": np.int16(1)},
    "alignment_heads is 3, but there are 2 heads": {"decoder/alignment_heads": np.int16(3)},
    "encodings has shape [9, 16], expected [positions, 32]": {
        "decoder/position_encodings/encodings": np.zeros((9, 16), np.float32)
    },
    "decoder/layer_1 is missing": {"decoder/layer_2/ffn/linear_1/bias": np.zeros(32, np.float32)},
    "feed-forward widths [64, 24], expected multiples of 16": {
        f"{LAYER}/ffn/linear_0/weight": np.zeros((24, 32), np.float32)
    },
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_variable_is_named(message):
    assert message in refused(WRONG[message])
