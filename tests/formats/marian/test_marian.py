"""Marian's .npz: written files are read back; all others are one clear ModelFileError."""

import numpy as np
import pytest

from tests.sample_models.marian_model import (
    marian_options,
    marian_tensors,
    options_item,
    read_marian_npz,
    write_marian_npz,
)
from tests.support.refusal import refusal


def write(path, tensors, options, nuls=1):
    item = options if isinstance(options, np.ndarray) else options_item(options, nuls)
    np.savez(path, **tensors, **{"special:model.yml": item})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture
def tensors():
    return marian_tensors(3)


def test_sizes_come_from_the_options(path):
    write_marian_npz(path, 1, d=48, f=80, heads=3, enc=3, dec=2, vocab=70)
    config, _ = read_marian_npz(path)
    assert (
        config.architecture.model_dim,
        config.architecture.ffn_dim,
        config.architecture.heads,
        config.vocab_size,
    ) == (48, 80, 3, 70)
    assert (config.architecture.encoder_layers, config.architecture.decoder_parameters, config.architecture.cell) == (
        3,
        (0, 1),
        "ssru",
    )
    assert (config.eos_id, config.unk_id, config.scheme, config.shared_vocabulary) == (0, 1, "float32", True)


def test_tensors_get_canonical_names(path):
    theirs = write_marian_npz(path, 1, enc=2, dec=2)
    _, ours = read_marian_npz(path)
    pairs = {
        "embedding": "Wemb",
        "output.bias": "decoder_ff_logit_out_b",
        "encoder.1.self_attention.key.weight": "encoder_l2_self_Wk",
        "encoder.0.self_attention.output.bias": "encoder_l1_self_bo",
        "encoder.1.self_attention.norm.scale": "encoder_l2_self_Wo_ln_scale",
        "encoder.0.feed_forward.outer.weight": "encoder_l1_ffn_W2",
        "encoder.0.feed_forward.norm.bias": "encoder_l1_ffn_ffn_ln_bias",
        "decoder.0.cell.candidate.weight": "decoder_l1_rnn_W",
        "decoder.1.cell.forget.weight": "decoder_l2_rnn_Wf",
        "decoder.1.cell.forget.bias": "decoder_l2_rnn_bf",
        "decoder.0.cell.norm.scale": "decoder_l1_rnn_ffn_ln_scale",
        "decoder.1.cross_attention.query.weight": "decoder_l2_context_Wq",
        "decoder.0.cross_attention.norm.bias": "decoder_l1_context_Wo_ln_bias",
        "decoder.1.feed_forward.inner.bias": "decoder_l2_ffn_b1",
    }
    for name, marian_name in pairs.items():
        np.testing.assert_array_equal(ours[name], np.squeeze(theirs[marian_name]), err_msg=name)
    assert len(ours) == len(theirs) == 2 + 2 * 16 + 2 * 21
    for name, array in ours.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned, name
        assert array.ndim == (2 if name.endswith("weight") or name == "embedding" else 1), name


@pytest.mark.parametrize(
    "tied_layers, expected", [([1, 1], (0, 0)), ([2, 2], (0, 0)), ([2, 1], (1, 0)), ([1, 3, 1], (0, 1, 0))]
)
def test_tied_layers_share_a_parameter_set(path, tied_layers, expected):
    theirs = write_marian_npz(path, 1, dec=len(tied_layers), tied_layers=tied_layers)
    config, ours = read_marian_npz(path)
    assert config.architecture.decoder_parameters == expected
    for number, p in zip(tied_layers, expected, strict=True):
        np.testing.assert_array_equal(ours[f"decoder.{p}.cell.candidate.weight"], theirs[f"decoder_l{number}_rnn_W"])


@pytest.mark.parametrize("nuls", [0, 1, 2, 300])
def test_options_end_at_the_first_nul(path, tensors, nuls):
    write(path, tensors, marian_options(), nuls)
    assert read_marian_npz(path)[0].architecture.model_dim == 32


def test_options_saved_as_text_are_understood(path, tensors):
    options = marian_options()
    texts = {name: str(value).lower() for name, value in options.items() if isinstance(value, bool | int)}
    assert texts["tied-embeddings-all"] == "true" and texts["dim-emb"] == "32"
    write(path, tensors, options | texts | {"dim-vocabs": ["96", "96"]})
    assert read_marian_npz(path)[0].architecture.model_dim == 32


def test_absent_options_have_marian_defaults(path):
    options = marian_options(heads=8, f=2048, d=128)
    for name in (
        "transformer-heads",
        "transformer-dim-ffn",
        "transformer-postprocess",
        "transformer-tied-layers",
    ):
        del options[name]
    write(path, marian_tensors(1, heads=8, f=2048, d=128), options)
    config, _ = read_marian_npz(path)
    assert (config.architecture.heads, config.architecture.ffn_dim) == (8, 2048)


def test_member_names_may_carry_npy_twice(path, tensors):
    members = tensors | {"special:model.yml": options_item(marian_options())}
    np.savez(path, **{f"{name}.npy": array for name, array in members.items()})
    np.testing.assert_array_equal(read_marian_npz(path)[1]["embedding"], tensors["Wemb"])


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_float_widths_are_converted(path, tensors, dtype):
    write(path, {name: array.astype(dtype) for name, array in tensors.items()}, marian_options())
    _, ours = read_marian_npz(path)
    np.testing.assert_array_equal(ours["embedding"], tensors["Wemb"].astype(dtype).astype(np.float32))


def test_vectors_may_be_one_dimensional(path, tensors):
    write(
        path,
        {name: array[0] if len(array) == 1 else array for name, array in tensors.items()},
        marian_options(),
    )
    assert read_marian_npz(path)[1]["encoder.0.self_attention.query.bias"].shape == (32,)


def test_special_members_and_alphas_are_skipped(path, tensors):
    extra = {"special:other": np.zeros(3, np.int8), "encoder_l1_self_Wq_QuantMultA": np.ones(1, np.float32)}
    write(path, tensors | extra, marian_options())
    assert len(read_marian_npz(path)[1]) == len(tensors)


def test_omitted_output_bias_is_zero(path, tensors):
    del tensors["decoder_ff_logit_out_b"]
    write(path, tensors, marian_options() | {"output-omit-bias": True})
    assert not read_marian_npz(path)[1]["output.bias"].any()


def test_all_wrong_tensors_are_listed_at_once(path, tensors):
    del tensors["encoder_l1_ffn_W1"]
    tensors["decoder_l9_rnn_W"] = np.zeros((9, 32), np.float32)
    tensors["decoder_l2_rnn_W"] = np.zeros((32, 16), np.float32)
    tensors["decoder_l1_rnn_bf"] = np.zeros((32, 1), np.float32)
    tensors["encoder_l2_self_bq"] = np.zeros((1, 32), np.int8)
    write(path, tensors, marian_options())
    message = refusal(read_marian_npz, path)
    assert "encoder_l1_ffn_W1 is missing" in message
    assert "decoder_l9_rnn_W is unexpected" in message
    assert "decoder_l2_rnn_W has shape (32, 16), expected (32, 32)" in message
    assert "decoder_l1_rnn_bf has shape (32, 1), expected (32,)" in message
    assert "encoder_l2_self_bq has dtype int8" in message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(path, tensors, value):
    tensors["encoder_l2_ffn_W2"][5, 7] = value
    write(path, tensors, marian_options())
    assert "encoder_l2_ffn_W2 holds NaN or infinity" in refusal(read_marian_npz, path)


def test_float64_beyond_float32_is_refused(path, tensors):
    tensors["Wemb"] = np.full(tensors["Wemb"].shape, 1e300)
    write(path, tensors, marian_options())
    assert "Wemb holds NaN or infinity" in refusal(read_marian_npz, path)


def test_missing_file_and_directory_are_refused(tmp_path):
    assert "not found" in refusal(read_marian_npz, tmp_path / "nothing.npz")
    refusal(read_marian_npz, tmp_path)


def test_npz_without_options_is_refused(path, tensors):
    np.savez(path, **tensors)
    assert "special:model.yml" in refusal(read_marian_npz, path)
