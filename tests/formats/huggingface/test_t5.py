"""Hugging Face's T5: its config and tensors as our network, what is not supported by name, and its directories."""

import json

import numpy as np
import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.formats.any_directory import read_checkpoint
from cpunmt.formats.huggingface.t5 import read_t5_config, t5_tensors
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.float_checkpoint import float_tensors
from tests.sample_models.huggingface_model import safetensors_bytes
from tests.sample_models.many_languages_model import put_tokenizer_json
from tests.sample_models.t5_model import FIELDS, ROWS, SHAPES, SIZE, random_tensors, write_pieces, write_t5
from tests.sample_models.torch_writer import torch_bytes
from tests.support.refusal import refusal


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "spiece.model"
    write_pieces(path, pad_id=0, eos_id=1, unk_id=2)
    return Vocabulary(path)


def config_of(vocabulary, generation=None, **fields):
    return read_t5_config(FIELDS | fields, generation or {}, vocabulary, "model")


def test_the_structure(vocabulary):
    config, start = config_of(vocabulary, num_heads=3, num_decoder_layers=1, d_ff=80)
    found = config.architecture
    assert (found.model_dim, found.ffn_dim, found.heads, found.attention_dim, found.head_dim) == (32, 80, 3, 48, 16)
    assert (found.encoder_layers, found.decoder_layers, found.positions) == (2, 1, "none")
    assert (found.relative_buckets, found.relative_distance, found.relative_shared) == (8, 12, True)
    assert (found.attention_scale, found.layer_norm_epsilon, found.activation) == (1.0, 1e-6, "relu")
    assert found.rms_norm and found.top_norm and not found.gated_ffn and not found.scale_embedding
    assert (found.preprocess, found.postprocess, found.cell) == ("n", "a", "self_attention")
    assert (config.vocab_size, config.eos_id, config.unk_id, start) == (SIZE, 1, 2, 0)
    assert (config.max_source_length, config.max_length, config.beam_size) == (512, None, 1)


@pytest.mark.parametrize(
    ("fields", "activation", "gated"),
    [
        ({"feed_forward_proj": "gated-gelu"}, "gelu_tanh", True),
        ({"feed_forward_proj": "gated-silu"}, "swish", True),
        ({"feed_forward_proj": "gelu"}, "gelu", False),
        ({"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu", "is_gated_act": True}, "gelu", True),
        ({"feed_forward_proj": "relu", "dense_act_fn": "quick_gelu", "is_gated_act": False}, "gelu_sigmoid", False),
        ({"feed_forward_proj": "gated-tanh"}, "tanh", True),
        ({"model_type": "mt5"}, "relu", False),
    ],
)
def test_activations(vocabulary, fields, activation, gated):
    found = config_of(vocabulary, **fields)[0].architecture
    assert (found.activation, found.gated_ffn) == (activation, gated)


def test_the_defaults_of_each_version(vocabulary):
    short = {name: value for name, value in FIELDS.items() if name not in ("feed_forward_proj", "d_kv")}
    config, _ = read_t5_config(short | {"d_model": 128}, {}, vocabulary, "model")
    assert (config.architecture.activation, config.architecture.attention_dim) == ("relu", None)  # two heads of 64
    config, _ = read_t5_config(short | {"model_type": "mt5"}, {}, vocabulary, "model")
    assert config.architecture.gated_ffn and config.architecture.activation == "gelu_tanh"


def test_settings_of_the_search(vocabulary):
    generation = {"num_beams": 4, "max_length": 100, "length_penalty": 0.5, "no_repeat_ngram_size": 3}
    generation |= {"decoder_start_token_id": 5, "bad_words_ids": [[7, 8], [2]], "eos_token_id": 1}
    config, start = config_of(vocabulary, generation, num_beams=9)
    assert (config.beam_size, config.max_length, config.length_penalty, config.no_repeat_ngram_size) == (4, 99, 0.5, 3)
    assert config.suppress_sequences == (tuple(vocabulary.pieces([7, 8])),) and start == 5
    assert config_of(vocabulary, {}, num_beams=9)[0].beam_size == 9
    generation = {"max_length": 100, "max_new_tokens": 7, "bad_words_ids": [[1]]}
    config, _ = config_of(vocabulary, generation)
    assert (config.max_length, config.suppress_sequences) == (7, None)


WRONG = {
    "model_type is 'byt5', supported is 't5' or 'mt5' or 'umt5'": {"model_type": "byt5"},
    "is_encoder_decoder is False, supported is True": {"is_encoder_decoder": False},
    "d_model is None, expected a number": {"d_model": None},
    "num_layers is 0, expected a number": {"num_layers": 0},
    "d_kv is 2.5, expected a number": {"d_kv": 2.5},
    "num_heads is '8', expected a number": {"num_heads": "8"},
    "num_decoder_layers is 1000000000, expected a number": {"num_decoder_layers": 10**9},
    "vocab_size is 83, but spiece.model has 84 pieces": {"vocab_size": SIZE - 1},
    "feed_forward_proj is 'gated-mish'": {"feed_forward_proj": "gated-mish"},
    "feed_forward_proj is ['relu']": {"feed_forward_proj": ["relu"]},
    "tie_word_embeddings is 'no', expected true or false": {"tie_word_embeddings": "no"},
    "scale_decoder_outputs is 1, expected true or false": {"scale_decoder_outputs": 1},
    "decoder_start_token_id is 84, expected an id of the 84 pieces": {"decoder_start_token_id": SIZE},
    "eos_token_id is 2, expected 1, the id of </s>": {"eos_token_id": 2},
    "forced_eos_token_id is 5, expected 1": {"forced_eos_token_id": 5},
    "max_length is 1, expected a number from 2": {"max_length": 1},
    "do_sample is True, supported is False or None; remove it": {"do_sample": True},
    "bad_words_ids is [7], expected lists of ids": {"bad_words_ids": [7]},
    "bad_words_ids has [7, 1], and 1 ends a translation; remove": {"bad_words_ids": [[7, 1]]},
    "max_new_tokens is 0, expected a number from 1": {"max_new_tokens": 0},
    "quantization_config is": {"quantization_config": {"bits": 4}},
    "attention_dim 30 / heads 2 and feed-forward widths": {"d_kv": 15},
    "relative_buckets is 8 and relative_distance 3, expected": {"relative_attention_max_distance": 3},
    "relative_buckets is 2 and": {"relative_attention_num_buckets": 2},
    "relative_distance is 99999": {"relative_attention_max_distance": 99999},
    "layer_norm_epsilon is 'small'": {"layer_norm_epsilon": "small"},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_not_supported_is_named(vocabulary, message):
    with pytest.raises(ModelFileError) as error:
        config_of(vocabulary, **WRONG[message])
    assert message in str(error.value) and str(error.value).startswith("model: ") and "\n" not in str(error.value)


def tensors_of(vocabulary, arrays, scaled=False, **fields):
    config, start = config_of(vocabulary, **fields)
    return t5_tensors(config, arrays, ROWS, start, scaled, "weights")


def test_tensors(vocabulary):
    arrays = random_tensors(FIELDS)
    config, found = tensors_of(vocabulary, arrays)
    assert config.tied_output and config.architecture.start_vector
    assert np.array_equal(found["embedding"], arrays["shared.weight"][:SIZE])
    assert np.array_equal(found["start"], arrays["shared.weight"][0])
    query = arrays["decoder.block.1.layer.1.EncDecAttention.q.weight"]
    assert np.array_equal(found["decoder.1.cross_attention.query.weight"], query.T)
    outer = arrays["decoder.block.0.layer.2.DenseReluDense.wo.weight"]
    assert np.array_equal(found["decoder.0.feed_forward.outer.weight"], outer.T)
    table = arrays["decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    assert np.array_equal(found["decoder.relative_bias"], table)
    assert not any(array.any() for name, array in found.items() if name.endswith(".bias"))
    scaled = tensors_of(vocabulary, arrays, scaled=True)[1]["decoder.top_norm.scale"]
    assert np.array_equal(scaled, found["decoder.top_norm.scale"] * np.float32(32**-0.5))


def test_each_layer_of_umt5_has_a_table(vocabulary):
    fields = FIELDS | {"model_type": "umt5", "num_decoder_layers": 1}
    arrays = random_tensors(fields)
    config, found = tensors_of(vocabulary, arrays, **fields)
    assert not config.architecture.relative_shared
    for ours, theirs in (("encoder.1.self_attention", "encoder.block.1"), ("decoder.0.cell", "decoder.block.0")):
        table = arrays[f"{theirs}.layer.0.SelfAttention.relative_attention_bias.weight"]
        assert np.array_equal(found[f"{ours}.relative_bias"], table)


def test_the_names_of_the_tables(vocabulary):
    arrays = random_tensors(FIELDS)
    table = arrays.pop("shared.weight")
    for names in (["encoder.embed_tokens.weight"], ["decoder.embed_tokens.weight", "lm_head.weight"]):
        assert tensors_of(vocabulary, arrays | dict.fromkeys(names, table))[0].tied_output
    two = {"shared.weight": table, "lm_head.weight": table + 1}
    config, found = tensors_of(vocabulary, arrays | two)
    assert not config.tied_output and np.array_equal(found["output"], table[:SIZE] + 1)
    with pytest.raises(ModelFileError, match="decoder.embed_tokens.weight differs from shared.weight, expected the sa"):
        tensors_of(vocabulary, arrays | {"shared.weight": table, "decoder.embed_tokens.weight": table + 1})
    with pytest.raises(ModelFileError, match="shared.weight is missing"):
        tensors_of(vocabulary, arrays)


NORM, MAP = "encoder.final_layer_norm.weight", "encoder.block.0.layer.0.SelfAttention.q.weight"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({MAP: None}, f"{MAP} is missing"),
        ({MAP: np.zeros((31, 32), np.float32)}, f"{MAP} has shape [31, 32], expected [32, 32]"),
        ({MAP: np.zeros((32, 32), np.int8)}, f"{MAP} holds integers, expected floats"),
        ({NORM: np.full(32, np.inf, np.float32)}, f"{NORM} holds NaN or infinity"),
        (
            {"shared.weight": np.zeros((SIZE, 32), np.float32)},
            f"shared.weight has shape [{SIZE}, 32], expected [{ROWS},",
        ),
        ({"encoder.strange": np.zeros(2, np.float32)}, "encoder.strange is unexpected"),
        (dict.fromkeys(random_tensors(FIELDS)), "and 27 more"),
    ],
)
def test_wrong_tensors_are_named(vocabulary, changes, message):
    arrays = {name: array for name, array in (random_tensors(FIELDS) | changes).items() if array is not None}
    with pytest.raises(ModelFileError) as error:
        tensors_of(vocabulary, arrays)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_bias_that_old_files_have_is_not_used(vocabulary):
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    arrays = random_tensors(FIELDS)
    expected = tensors_of(vocabulary, arrays)
    config, found = tensors_of(vocabulary, arrays | {name: np.ones((8, 2), np.float32)})
    assert config == expected[0] and all(np.array_equal(found[key], expected[1][key]) for key in found)


@pytest.mark.parametrize(
    ("fields", "scaled"),
    [
        ({}, True),
        ({"tie_word_embeddings": True}, True),
        ({"tie_word_embeddings": False}, False),
        ({"tie_word_embeddings": True, "scale_decoder_outputs": False}, False),
        ({"model_type": "mt5"}, False),
        ({"model_type": "umt5"}, True),
        ({"model_type": "umt5", "tie_word_embeddings": False}, False),
    ],
)
def test_whether_outputs_are_scaled(fields, scaled, tmp_path):
    """Files of transformers 5 say it themselves, and that all tables are tied, whatever they hold."""
    _, arrays = write_t5(tmp_path, "t5", **fields)
    norm = arrays["decoder.final_layer_norm.weight"]
    found = float_tensors(read_checkpoint(tmp_path).tensors)["decoder.top_norm.scale"]
    assert np.array_equal(found, norm * np.float32(32**-0.5) if scaled else norm)


@pytest.mark.parametrize("shape", SHAPES)
def test_directories_of_each_shape_translate(shape, tmp_path):
    write_t5(tmp_path, shape)
    translator = Translator(tmp_path)
    results = translator.translate(["A small dog.", "<2de> Two women. A river."], max_length=8)
    assert all(result.text or result.truncated for result in results) and len(results[1].sentences) == 2
    alone = [translator.translate(f"<2de> {text}", max_length=8) for text in ("Two women.", "A river.")]
    assert results[1].text == " ".join(result.text for result in alone)
    plain = translator.translate("<2de> Two women.", max_length=8, protect="none", split="none")
    assert plain.text == alone[0].text  # the tag is neither protected nor kept as markup


def test_other_types_and_files_of_weights(tmp_path):
    _, arrays = write_t5(tmp_path)
    expected = {name: array.copy() for name, array in float_tensors(read_checkpoint(tmp_path).tensors).items()}
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(arrays, "BF16"))
    found = read_checkpoint(tmp_path)
    assert found.stored == "bfloat16"
    near = float_tensors(found.tensors)
    assert all(np.allclose(near[name], expected[name], rtol=0.01, atol=1e-3) for name in expected)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(torch_bytes(arrays, "F32", "zip"))
    found = float_tensors(read_checkpoint(tmp_path).tensors)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_tokenizer_json_in_place_of_the_sentencepiece_model(tmp_path):
    write_t5(tmp_path)
    text = "A small dog runs."
    expected = Translator(tmp_path).translate(text)
    put_tokenizer_json(tmp_path / "spiece.model", ["<pad>", "</s>", "<unk>"], ["<extra_id_0>"])
    assert Translator(tmp_path).translate(text) == expected


def test_pieces_that_were_added_are_refused(tmp_path):
    """Texts would have to be cut at them, and translations could have them."""
    write_t5(tmp_path)
    first = read_checkpoint(tmp_path).config.vocab_size
    for added in ({"<extra_id_0>": first}, {"<pad>": 0}):
        (tmp_path / "added_tokens.json").write_text(json.dumps(added))
        read_checkpoint(tmp_path)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"\u00fc": first + 1}))
    assert f"the tokenizer adds the piece '\u00fc', with id {first + 1}, to those of spiece.model" in refusal(
        lambda _: read_checkpoint(tmp_path), tmp_path
    )


def test_missing_files_are_named(tmp_path):
    write_t5(tmp_path)
    (tmp_path / "spiece.model").unlink()
    assert "spiece.model is missing, and so is tokenizer.json; expected the SentencePiece model" in refusal(
        lambda _: read_checkpoint(tmp_path), tmp_path
    )
    write_pieces(tmp_path / "spiece.model", pad_id=0, eos_id=1, unk_id=2)
    (tmp_path / "model.safetensors").unlink()
    assert "model.safetensors or pytorch_model.bin is missing" in refusal(lambda _: read_checkpoint(tmp_path), tmp_path)
