"""Directories of Hugging Face's MarianMT: reading and refusals. Numbers: test_huggingface_golden."""

import json

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.any_directory import KINDS, read_model
from cpunmt.formats.foreign_model import open_vocabularies
from cpunmt.formats.huggingface.huggingface import read_huggingface_config, start_id
from cpunmt.formats.huggingface.stored_tensors import stored_tensors
from cpunmt.formats.huggingface.weight_files import WEIGHTS
from cpunmt.formats.packed.safetensors_file import Bfloat16, read_float_tensors
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors
from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from tests.sample_models.huggingface_model import (
    FIELDS,
    SHAPES,
    bfloat16,
    random_tensors,
    safetensors_bytes,
    write_huggingface,
    write_vocabulary,
)
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.torch_writer import torch_bytes

WHERE = "models/opus"


def config_of(generation=(), **changes):
    return read_huggingface_config(FIELDS | changes, dict(generation), 1, True, WHERE)


def refusal(call, *arguments, **changes) -> str:
    with pytest.raises(ModelFileError) as caught:
        call(*arguments, **changes)
    assert len(str(caught.value)) < 3000
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    write_huggingface(tmp_path)
    write_vocabulary(tmp_path, train_vocabulary)
    return tmp_path


def test_the_architecture():
    config = config_of()
    assert (
        config.architecture.model_dim,
        config.architecture.ffn_dim,
        config.architecture.heads,
        config.architecture.encoder_layers,
    ) == (32, 64, 2, 2)
    assert (config.architecture.decoder_parameters, config.architecture.decoder_ffn_dim, config.architecture.cell) == (
        (0, 1),
        None,
        "self_attention",
    )
    assert (config.vocab_size, config.source_vocab_size, config.eos_id, config.unk_id) == (96, None, 0, 1)
    assert (config.architecture.positions, config.architecture.layer_norm_epsilon) == ("tensor2tensor", 1e-5)
    assert (config.architecture.scale_embedding, config.tied_output, config.shared_embedding) == (True, True, True)
    assert (config.architecture.preprocess, config.architecture.postprocess, config.architecture.activation) == (
        "",
        "an",
        "swish",
    )
    for theirs, ours in (("relu", "relu"), ("silu", "swish"), ("gelu", "gelu")):
        assert config_of(activation_function=theirs).architecture.activation == ours
    apart = config_of(decoder_ffn_dim=128, decoder_vocab_size=None, scale_embedding=False)
    assert (apart.architecture.decoder_ffn_dim, apart.vocab_size) == (128, 96)
    assert not apart.architecture.scale_embedding


def test_how_to_search():
    """generation_config.json alone counts if it exists, as in transformers."""
    config = config_of()
    assert (config.beam_size, config.length_penalty, config.max_source_length) == (6, 1.0, 512)
    config = config_of(length_penalty=0.6, max_length=100, num_beams=3)
    assert (config.beam_size, config.length_penalty, config.max_source_length) == (3, 0.6, 100)
    config = config_of({"num_beams": 4, "max_length": 300, "bad_words_ids": [[96]], "renormalize_logits": True})
    assert (config.beam_size, config.length_penalty, config.max_source_length) == (4, 1.0, 300)
    assert (config.max_length, config.no_repeat_ngram_size, config.suppress_sequences) == (299, 0, None)
    assert config_of({"max_length": 9, "early_stopping": True}).beam_size == 1
    assert config_of({"num_beams": 4}).max_length is None
    assert config_of(no_repeat_ngram_size=3).no_repeat_ngram_size == 3
    assert config_of(max_length=600, max_position_embeddings=512).max_length == 511
    assert config_of(max_position_embeddings=64).max_source_length == 64


def test_sequences_that_no_translation_contains():
    """<pad> and <unk> never occur; other ids become pieces."""
    pieces = {"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "<pad>": 96}
    for barred, expected in (
        ([[96]], None),
        ([[96], [1]], None),
        ([[2]], (("▁a",),)),
        ([[96], [2, 3], [3]], (("▁a", "b"), ("b",))),
        ([[2, 96]], None),
        ([], None),
        (None, None),
    ):
        fields = FIELDS | {"bad_words_ids": barred}
        assert read_huggingface_config(fields, {}, 1, True, WHERE, pieces).suppress_sequences == expected
    for barred in ([[4]], [[]]):
        fields = FIELDS | {"bad_words_ids": barred}
        assert "bad_words_ids has" in refusal(read_huggingface_config, fields, {}, 1, True, WHERE, pieces)
    pieces |= {"<pad>": 4, "c": 96}
    assert "the target's vocabulary has <pad> as id 4 of 97 pieces, expected the last id" in refusal(
        read_huggingface_config, FIELDS, {}, 1, True, WHERE, pieces
    )


def test_rows_behind_pad_only_fill_up_a_table(folder):
    """As `resize_token_embeddings(pad_to_multiple_of=8)` makes them; a piece there is another matter."""
    expected = read_model(folder).tensors
    fields, tensors = (json.loads((folder / "config.json").read_text()), random_tensors(FIELDS))
    size = fields["vocab_size"] + 7
    for name, array in tensors.items():
        if array.shape[0] == fields["vocab_size"] and array.ndim == 2:
            tensors[name] = np.concatenate([array, np.ones((7, array.shape[1]), array.dtype)])
        elif name == "final_logits_bias":
            tensors[name] = np.concatenate([array, np.ones((1, 7), array.dtype)], axis=1)
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, "F32"))
    fields |= {"vocab_size": size, "decoder_vocab_size": size, "bad_words_ids": [[size - 1]]}
    (folder / "config.json").write_text(json.dumps(fields))
    found = read_model(folder)
    assert found.config.vocab_size == size - 8 and found.config.suppress_sequences is None
    assert all(np.array_equal(found.tensors[name], array) for name, array in expected.items())
    table = json.loads((folder / "vocab.json").read_text()) | {"new": size - 2}
    (folder / "vocab.json").write_text(json.dumps(table))
    assert "pieces that were added behind it are not supported" in refusal(read_model, folder)


def test_other_models_are_named_before_their_files_are_missed(folder):
    (folder / "config.json").write_text('{"model_type": "bart"}')
    for name in ("source.spm", "vocab.json"):
        (folder / name).unlink()
    said = refusal(read_model, folder)
    assert "model_type is 'bart', expected marian, m2m_100, mbart, t5, mt5, umt5" in said and "missing" not in said


def test_the_first_input_of_the_decoder():
    """generation_config.json counts before config.json, as in transformers."""
    fields = FIELDS | {"decoder_start_token_id": 5}
    assert start_id(fields, {}) == 5 and start_id(fields, {"decoder_start_token_id": 7}) == 7
    assert start_id({"pad_token_id": 96, "decoder_start_token_id": None}, {}) == 96
    assert start_id({}, {}) == 58100


@pytest.mark.parametrize(
    ("generation", "changes", "expected"),
    [
        ({"num_beams": 2}, {"max_position_embeddings": 2000}, {"max_source_length": 512}),
        ({}, {"max_position_embeddings": None, "max_length": 3000}, {"max_source_length": 1024}),
        ({}, {"max_position_embeddings": 9999, "max_length": 9999}, {"max_source_length": 4096}),
        ({}, {"max_length": 2}, {"max_source_length": 2}),
        ({}, {"max_length": 300}, {"max_length": 299}),
        ({"max_new_tokens": 3}, {"max_length": 300}, {"max_length": 3}),
        ({"max_length": 300, "max_new_tokens": 3}, {}, {"max_length": 3, "max_source_length": 300}),
        ({"bad_words_ids": [[0]]}, {}, {"suppress_sequences": None}),
        ({}, {"num_beams": None, "length_penalty": None}, {"beam_size": 1, "length_penalty": 1.0}),
        ({}, {"eos_token_id": None}, {"eos_id": 0}),
        ({"eos_token_id": [0], "forced_eos_token_id": None}, {}, {"eos_id": 0}),
        (
            {},
            {"vocab_size": 58101, "decoder_vocab_size": None, "pad_token_id": None, "decoder_start_token_id": None},
            {"vocab_size": 58100, "source_vocab_size": None},
        ),
    ],
)
def test_defaults_and_limits(generation, changes, expected):
    """None: the field is missing."""
    fields = {name: value for name, value in (FIELDS | changes).items() if name not in changes or value is not None}
    fields.pop("bad_words_ids", None)
    config = read_huggingface_config(fields, generation, 1, True, WHERE)
    assert {name: getattr(config, name) for name in expected} == expected


def test_the_largest_sizes():
    limit = "expected a number from 1 to 4194304"
    assert f"d_model is 4194305, {limit}" in refusal(config_of, d_model=(1 << 22) + 1)
    assert limit not in refusal(config_of, d_model=1 << 22, max_length=1)
    assert "max_length is 1, expected a number from 2" in refusal(config_of, max_length=1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_type": "mbart"}, "model_type is 'mbart', supported is 'marian'"),
        ({"activation_function": "gelu_new"}, "activation_function is 'gelu_new', supported is 'gelu' or 'relu'"),
        ({"static_position_embeddings": False}, "static_position_embeddings is False"),
        ({"normalize_before": True}, "normalize_before is True"),
        ({"normalize_embedding": True}, "normalize_embedding is True"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm is True"),
        ({"quantization_config": {"bits": 4}}, "quantization_config is {'bits': 4}"),
        ({"decoder_attention_heads": 1}, "different numbers of attention heads"),
        ({"d_model": 1 << 40}, "d_model is 1099511627776, expected a number from 1"),
        ({"d_model": 24}, "expected multiples of 16"),
        ({"encoder_layers": None}, "encoder_layers is None"),
        ({"decoder_layers": 4_000_000}, "decoder_parameters"),
        ({"vocab_size": True}, "vocab_size is True"),
        ({"decoder_vocab_size": "97"}, "decoder_vocab_size is '97', vocab_size 97"),
        ({"decoder_vocab_size": [97]}, "decoder_vocab_size is [97], vocab_size 97"),
        ({"vocab_size": None, "decoder_vocab_size": None}, "vocab_size is None, expected a number from 1"),
        ({"vocab_size": 1, "decoder_vocab_size": 1}, "expected the same number for one embedding"),
        ({"vocab_size": 98}, "expected the same number for one embedding"),
        ({"vocab_size": 98, "share_encoder_decoder_embeddings": False}, "pad_token_id is 96 of 98 pieces"),
        ({"pad_token_id": 1}, "pad_token_id is 1 of 97 pieces, expected the last id"),
        ({"decoder_start_token_id": 97}, "decoder_start_token_id is 97, expected an id of the 97 target pieces"),
        ({"decoder_start_token_id": -1}, "decoder_start_token_id is -1, expected an id"),
        ({"decoder_start_token_id": True}, "decoder_start_token_id is True, expected an id"),
        ({"scale_embedding": "yes"}, "scale_embedding is 'yes', expected true or false"),
        ({"eos_token_id": [0, 2], "forced_eos_token_id": None}, "eos_id is [0, 2]"),
        ({"forced_eos_token_id": 5}, "eos_token_id and forced_eos_token_id differ"),
        ({"num_beams": 1000}, "beam_size is 1000"),
        ({"length_penalty": -1}, "length_penalty is -1"),
        ({"max_length": 10**30, "max_position_embeddings": "x"}, "max_position_embeddings is 'x'"),
        ({"bad_words_ids": [[96], [7, 8]]}, "bad_words_ids has [7, 8], expected ids of the target's vocabulary"),
        ({"bad_words_ids": [[7.0]]}, "bad_words_ids is [[7.0]], expected lists of ids"),
        ({"bad_words_ids": [7]}, "bad_words_ids is [7], expected lists of ids"),
        ({"bad_words_ids": {"7": 8}}, "expected lists of ids"),
        ({"no_repeat_ngram_size": 101}, "no_repeat_ngram_size is 101, expected"),
        ({"do_sample": True}, "do_sample is True"),
        ({"forced_bos_token_id": 7}, "forced_bos_token_id is 7"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(changes, told):
    message = refusal(config_of, **changes)
    assert message.startswith(WHERE) and told in message


# Values that change nothing, as transformers writes them.
NEUTRAL = {
    **dict.fromkeys(("add_bias_logits", "add_final_layer_norm", "normalize_before", "normalize_embedding"), False),
    **dict.fromkeys(("extra_pos_embeddings", "encoder_no_repeat_ngram_size", "min_length"), 0),
    **dict.fromkeys(("encoder_repetition_penalty", "repetition_penalty"), 1.0),
    **{name: [] for name in ("begin_suppress_tokens", "forced_decoder_ids", "suppress_tokens")},
    **dict.fromkeys(("constraints", "exponential_decay_length_penalty", "force_words_ids", "min_new_tokens")),
    **{"forced_bos_token_id": None, "quantization_config": None, "penalty_alpha": 0, "sequence_bias": {}},
    **{"diversity_penalty": 0.0, "do_sample": False, "num_beam_groups": 1, "static_position_embeddings": True},
}


def test_each_feature_may_be_off_and_not_on():
    assert config_of(**NEUTRAL) == config_of()
    for name, value in NEUTRAL.items():
        message = refusal(config_of, **{name: not value if isinstance(value, bool) else [7]})
        assert f"{name} is" in message and "supported is" in message


def test_all_that_is_not_supported_is_told_at_once():
    message = refusal(config_of, {"repetition_penalty": 1.2}, normalize_before=True, activation_function=["tanh"] * 999)
    assert all(name in message for name in ("normalize_before", "activation_function", "repetition_penalty"))
    assert "generation_config.json: repetition_penalty is 1.2, supported is 1.0 or None; remove it" in message


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights(shape, kind, tmp_path):
    """Each is at its place: transposed, rounded as its type, without <pad>."""
    fields, given = write_huggingface(tmp_path, shape, 3, kind)
    config = read_huggingface_config(fields, {}, 1, False, WHERE)
    arrays = read_float_tensors(tmp_path / "model.safetensors")
    config, found = stored_tensors(config, arrays, WHERE, start_id(fields, {}), left_out=1)

    def rounded(name):
        if kind == "BF16":
            return (bfloat16(given[name]).astype(np.uint32) << 16).view(np.float32)
        return given[name].astype({"F32": np.float32, "F16": np.float16}[kind]).astype(np.float32)

    table = "model.shared.weight" if config.shared_embedding else "model.encoder.embed_tokens.weight"
    assert np.array_equal(found["embedding" if config.shared_embedding else "source_embedding"], rounded(table)[:96])
    last = fields["decoder_vocab_size"] - 1
    assert np.array_equal(found["output.bias"], rounded("final_logits_bias")[0, :last])
    assert {name: array.shape for name, array in found.items()} == checkpoint_tensors(config)
    target = table if config.shared_embedding else "model.decoder.embed_tokens.weight"
    assert config.architecture.start_vector == ("trained on" in shape or "two sizes" in shape)
    if config.architecture.start_vector:
        assert np.array_equal(found["start"], rounded(target)[96])
    for ours, theirs in (
        ("encoder.0.self_attention.key.weight", "encoder.layers.0.self_attn.k_proj.weight"),
        ("encoder.0.feed_forward.outer.bias", "encoder.layers.0.fc2.bias"),
        ("decoder.0.cell.output.weight", "decoder.layers.0.self_attn.out_proj.weight"),
        ("decoder.0.cross_attention.value.weight", "decoder.layers.0.encoder_attn.v_proj.weight"),
        ("decoder.0.cell.norm.scale", "decoder.layers.0.self_attn_layer_norm.weight"),
        ("decoder.0.cross_attention.norm.bias", "decoder.layers.0.encoder_attn_layer_norm.bias"),
        ("decoder.0.feed_forward.norm.scale", "decoder.layers.0.final_layer_norm.weight"),
        ("decoder.0.feed_forward.inner.weight", "decoder.layers.0.fc1.weight"),
    ):
        assert np.array_equal(found[ours], rounded(f"model.{theirs}").T)
    assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in found.values())


def read_changed(path, change, **fields):
    """Reads the tensors after `change(arrays)`."""
    fields = FIELDS | fields
    arrays = random_tensors(fields)
    change(arrays)
    path.write_bytes(safetensors_bytes(arrays))
    config = read_huggingface_config(fields, {}, 1, True, WHERE)
    return stored_tensors(config, read_float_tensors(path), WHERE, left_out=1)[1]


def test_other_names_of_the_shared_table(tmp_path):
    """Files have one of them, or all."""
    plain = read_changed(tmp_path / "a", lambda arrays: None)
    names = ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"]

    def every(arrays):
        arrays |= dict.fromkeys(names, arrays["model.shared.weight"])

    for change in (every, lambda arrays: arrays.update({"lm_head.weight": arrays.pop("model.shared.weight")})):
        found = read_changed(tmp_path / "b", change)
        assert all(np.array_equal(found[name], array) for name, array in plain.items())

    for name in names:

        def other(arrays, name=name):
            arrays[name] = arrays["model.shared.weight"] + 1

        if name == "lm_head.weight":  # as in tc-big models: the embedding is the output layer
            found = read_changed(tmp_path / "c", other)
            assert all(np.array_equal(found[name], array) for name, array in plain.items())
        else:
            message = refusal(read_changed, tmp_path / "c", other)
            assert f"{name} differs from model.shared.weight" in message


def test_positions_in_the_file(tmp_path):
    """Older files have the sinusoids: fine. Trained ones are something else."""
    name = "model.encoder.embed_positions.weight"
    angles = np.arange(40)[:, None] / 10000 ** (np.arange(16) / 16)
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    read_changed(tmp_path / "a", lambda arrays: arrays.update({name: table}))
    for wrong, told in (
        (table[::-1], "holds trained positions"),
        (table[:, :8], "has shape (40, 8)"),
        (np.zeros((65536, 32), np.float32), "holds trained positions"),
        (np.zeros((65537, 32), np.float32), "has shape (65537, 32)"),
    ):
        assert told in refusal(read_changed, tmp_path / "b", lambda arrays, t=wrong: arrays.update({name: t}))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("model.encoder.layers.0.fc1.weight", None, "model.encoder.layers.0.fc1.weight is missing"),
        ("model.encoder.layers.7.fc1.weight", np.zeros(3), "model.encoder.layers.7.fc1.weight is unexpected"),
        ("model.encoder.layers.0.fc1.weight", np.zeros((32, 64)), "shape (32, 64), expected (64, 32)"),
        ("model.shared.weight", np.zeros((96, 32)), "shape (96, 32), expected (97, 32)"),
        ("final_logits_bias", np.zeros(97), "shape (97,), expected (1, 97)"),
        ("final_logits_bias", np.full((1, 97), np.nan), "final_logits_bias holds NaN or infinity"),
    ],
)
def test_wrong_tensors_are_listed(name, value, told, tmp_path):
    def change(arrays):
        arrays.pop(name, None)
        if value is not None:
            arrays[name] = value

    assert told in refusal(read_changed, tmp_path / "wrong", change)


@pytest.mark.parametrize("kind", ["F32", "BF16"])
def test_tensors_of_any_strides(kind):
    """Files of torch may hold transposed views."""
    given = random_tensors(FIELDS)
    if kind == "BF16":
        given = {name: Bfloat16(bfloat16(array)) for name, array in given.items()}
        turned = {name: Bfloat16(np.asfortranarray(array.halves)) for name, array in given.items()}
    else:
        turned = {name: np.asfortranarray(array) for name, array in given.items()}
    expected, found = (stored_tensors(config_of(), arrays, WHERE, left_out=1)[1] for arrays in (given, turned))
    for name, array in expected.items():
        assert found[name].flags.c_contiguous and found[name].tobytes() == array.tobytes(), name


def test_integers_and_large_numbers_are_no_weights():
    """Files of torch may hold them."""
    config = config_of()
    for value, told in ((np.zeros((1, 97), np.int64), "holds integers, expected floats"),
                        (np.full((1, 97), 1e39), "holds NaN or infinity")):  # fmt: skip
        arrays = random_tensors(FIELDS) | {"final_logits_bias": value}
        assert f"final_logits_bias {told}" in refusal(stored_tensors, config, arrays, WHERE, None, True)
    positions = {"model.encoder.embed_positions.weight": np.zeros((4, 32), np.int64)}
    assert "trained positions" in refusal(stored_tensors, config, random_tensors(FIELDS) | positions, WHERE, None, True)


@pytest.mark.parametrize(("count", "end"), [(20, " is missing"), (21, " is missing and 1 more")])
def test_many_wrong_tensors_are_counted(count, end, tmp_path):
    def change(arrays):
        for name in sorted(arrays)[:count]:
            del arrays[name]

    message = refusal(read_changed, tmp_path / "wrong", change)
    assert message.endswith(end) and message.count(" is missing") == 20


def test_tensors_that_are_no_floats_are_refused(tmp_path):
    content = safetensors_bytes({"a": np.zeros(8)}).replace(b'"F32"', b'"I32"')
    (tmp_path / "model.safetensors").write_bytes(content)
    assert "dtype 'I32', expected one of F32, F16, BF16" in refusal(read_float_tensors, tmp_path / "model.safetensors")


@pytest.mark.parametrize("scheme", [None, "int8", "float32"])
def test_a_directory(folder, scheme):
    model = read_model(str(folder), scheme)
    assert model.config.scheme == (scheme or "int8")
    found = {name: (array.dtype, array.shape) for name, array in model.tensors.items()}
    assert found == expected_tensors(model.config)
    assert (model.stored, model.alphas, model.shortlist) == ("float32", None, None)
    assert model.metadata == {"source_language": "en", "target_language": "fr"}
    assert model.config.shared_vocabulary
    source, target = open_vocabularies(model)
    assert isinstance(source, PieceVocabulary) and source is not target
    assert source.size == target.size == model.config.vocab_size == 96
    assert target.decode(target.encode(TEXT[0])) == TEXT[0]


def test_two_tables(tmp_path):
    write_huggingface(tmp_path, "apart", kind="BF16")
    write_vocabulary(tmp_path, train_vocabulary, separate=True)
    model = read_model(tmp_path)
    assert not model.config.shared_vocabulary and model.stored == "bfloat16"
    assert model.target_vocabulary.table.name == "target_vocab.json"
    table = json.loads((tmp_path / "target_vocab.json").read_text())
    table |= {"</s>": 1, "<unk>": 0}
    (tmp_path / "target_vocab.json").write_text(json.dumps(table))
    assert "</s> and <unk> have other ids" in refusal(read_model, tmp_path)


def test_of_several_weights_the_first_or_the_named_one_counts(folder):
    """Named as transformers prefers them."""
    (folder / "pytorch_model.bin").write_bytes(torch_bytes(random_tensors(FIELDS, 1)))
    assert read_model(folder).weights == folder / "model.safetensors"
    assert read_model(folder / "pytorch_model.bin").weights == folder / "pytorch_model.bin"
    (folder / "model.safetensors").unlink()
    assert read_model(folder).weights == folder / "pytorch_model.bin"
    assert set(KINDS["huggingface"].names) == set(WEIGHTS)


def test_missing_files_are_listed(folder):
    for name in ("model.safetensors", "source.spm", "vocab.json"):
        (folder / name).unlink()
    (folder / "tf_model.h5").write_bytes(b"x")
    message = refusal(read_model, folder)
    assert "source.spm is missing; vocab.json is missing" in message
    assert "model.safetensors or pytorch_model.bin is missing (tf_model.h5 cannot be read)" in message
    assert "no such directory" in refusal(read_model, folder / "none")


def test_activation_scales_and_another_end_of_sentence(folder):
    assert "holds no activation scales" in refusal(read_model, folder, None, "static")
    table = json.loads((folder / "vocab.json").read_text())
    first = next(piece for piece, i in table.items() if i == 2)
    (folder / "vocab.json").write_text(json.dumps(table | {"</s>": 2, first: 0}))
    assert "eos_token_id is 0, but </s> has id 2" in refusal(read_model, folder)


@pytest.mark.parametrize("content", ["[]", "{", "", '{"a": 1, "a": 2}', "[" * 100_000, '{"d_model": NaN}'])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json"])
def test_broken_json_is_refused(name, content, folder):
    (folder / name).write_text(content)
    assert str(folder / name) in refusal(read_model, folder)
