"""Recurrent networks of Marian and of Nematus: names, options, files, and equality with Marian's translations."""

import functools
import re

import numpy as np
import pytest
import yaml
from hypothesis import given, settings

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.marian.marian_recurrent import read_recurrent_config
from cpunmt.model.tensors import checkpoint_tensors
from quantize.checkpoints.marian_export import marian_options, write_marian_npz
from quantize.reference.network import Reference
from tests.golden.bergamot import RECURRENT_GOLDEN, float_engine, read_golden, sentences_of, settings_of
from tests.golden.bergamot_models import checkpoint
from tests.golden.bergamot_recurrent import RECURRENT, without_places
from tests.golden.marian_comparison import closest_choice, compare, sentences, translate
from tests.sample_models.marian_bin_writer import write_marian_bin
from tests.sample_models.marian_model import options_item
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED, configs, make_config
from tests.support.refusal import refusal
from tests.support.speeds import slow_after

NEAR_TIE = 1e-4
ONE_WIDTH = {"encoder_dim": 48, "decoder_dim": 48, "attention_dim": None}


@functools.cache
def golden():
    return read_golden(RECURRENT_GOLDEN)[0]


def test_the_golden_file_is_whole():
    assert list(golden()) == list(RECURRENT)
    for model, found in golden().items():
        assert list(found) == settings_of(model)
        assert all(len(found[setting]) == sentences_of(model, setting) for setting in found)
        texts = {translated.text for each in found.values() for translated in each}
        assert len(texts) > 10 and sum(text.count(" ") > 2 for text in texts) > 5


@pytest.mark.parametrize("model", slow_after(2, RECURRENT))
def test_float32_is_what_marian_makes(model):
    """Texts, near-ties apart, and the scores of all words."""
    engine = float_engine(model)
    for setting, theirs in golden()[model].items():
        texts = sentences()[: len(theirs)]
        different, words = compare(translate(engine, texts, setting), theirs)
        decided = {n: closest_choice(Reference(*checkpoint(model)), texts[n], setting) for n in different}
        assert {n: gap for n, gap in decided.items() if gap >= NEAR_TIE} == {}, setting
        assert len(different) <= 1 and len(words) > len(theirs)
        assert words.max() <= 1e-3, setting


def of_marian(config):
    """Returns the same network in Marian's form."""
    config = config.changed(**ONE_WIDTH, attention="conditional", stack=(), relu_limit=0.0, top="deep")
    norm = config.architecture.layer_norm
    return config.changed(layer_norm_epsilon=1e-5 if norm == "nematus" else 1e-9)


@given(configs())
@settings(deadline=None)
def test_what_is_exported_is_read_again(config):
    config = of_marian(config)
    made, _ = read_recurrent_config(marian_options(config), "some.npz")
    assert made == config.changed(shared_vocabulary=made.shared_vocabulary)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_network_survives_a_file(name, tmp_path):
    """Every tensor's numbers, including biases added to a norm's."""
    config = of_marian(make_config(**NAMED[name]))
    tensors = random_tensors(config, 1)
    without_places(config, tensors)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    made, found, _ = read_marian(tmp_path / "model.npz")
    assert made == config and list(found) == list(checkpoint_tensors(config))
    assert all(np.array_equal(found[tensor], tensors[tensor]) for tensor in found)


@pytest.mark.parametrize("name", ["plain", "LSTM", "Marian's norms", "Nematus"])
def test_a_binary_file_is_the_same_model(name, tmp_path):
    config = of_marian(make_config(**NAMED[name]))
    tensors = random_tensors(config, 2)
    without_places(config, tensors)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    arrays = dict(np.load(tmp_path / "model.npz"))
    options = arrays.pop("special:model.yml").tobytes()[:-1]
    write_marian_bin(tmp_path / "model.bin", arrays, options, "float32")
    one, other = (read_marian(tmp_path / f"model.{ending}") for ending in ("npz", "bin"))
    assert one.config == other.config and one.tensors.keys() == other.tensors.keys()
    assert all(np.array_equal(one.tensors[tensor], other.tensors[tensor]) for tensor in one.tensors)


def test_names_and_shapes_are_those_of_marian(tmp_path):
    """Name by name, independently of the tested code."""
    h, d, c, v = 32, 16, 64, 24
    cell = {"U": (h, 2 * h), "Ux": (h, h), "b": (1, 2 * h), "bx": (1, h), "gamma2": (1, 3 * h)}

    def reading(width):
        return {"W": (width, 2 * h), "Wx": (width, h), "gamma1": (1, 3 * h), **cell}

    shapes = {"Wemb": (v, d)}
    for stack in ("encoder_bi", "encoder_bi_r"):
        shapes |= {f"{stack}_{part}": shape for part, shape in reading(d).items()}
        shapes |= {f"{stack}_cell2_{part}": shape for part, shape in cell.items()}
        shapes |= {f"{stack}_l2_cell1_{part}": shape for part, shape in reading(h).items()}
        shapes |= {f"{stack}_l2_cell2_{part}": shape for part, shape in cell.items()}
    cells = {"cell1": reading(d), "cell2": reading(c), "cell3": cell, "l2_cell1": reading(h), "l2_cell2": cell}
    shapes |= {f"decoder_{name}_{part}": shape for name, parts in cells.items() for part, shape in parts.items()}
    shapes |= {"decoder_ff_state_W": (c, h), "decoder_ff_state_b": (1, h), "decoder_ff_state_gamma": (1, h)}
    shapes |= {"decoder_W_comb_att": (h, c), "decoder_Wc_att": (c, c), "decoder_b_att": (1, c), "decoder_U_att": (c, 1)}
    shapes |= {"decoder_att_gamma1": (1, c), "decoder_att_gamma2": (1, c), "decoder_ff_logit_l2_b": (1, v)}
    for i, width in enumerate((d, h, c)):
        shapes |= {f"decoder_ff_logit_l1_W{i}": (width, d), f"decoder_ff_logit_l1_b{i}": (1, d)}
        shapes[f"decoder_ff_logit_l1_gamma{i}"] = (1, d)
    options = {
        "type": "s2s", "dim-vocabs": [v, v], "dim-emb": d, "dim-rnn": h, "enc-type": "alternating", "enc-depth": 2,
        "enc-cell-depth": 2, "dec-depth": 2, "dec-cell-base-depth": 3, "dec-cell-high-depth": 2, "skip": True,
        "layer-normalization": True, "tied-embeddings-all": True,
    }  # fmt: skip
    generator = np.random.default_rng(3)
    arrays = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    np.savez(tmp_path / "model.npz", **arrays, **{"special:model.yml": options_item(options)})
    config, tensors, _ = read_marian(tmp_path / "model.npz")
    architecture = config.architecture
    assert architecture.encoder == "alternating"
    assert (architecture.encoder_layers, architecture.encoder_transitions) == (2, 2)
    assert (architecture.decoder_layers, architecture.decoder_transitions, architecture.high_transitions) == (2, 1, 1)
    assert architecture.skip and (architecture.layer_norm, architecture.layer_norm_epsilon) == ("marian", 1e-9)

    def same(ours, *theirs):
        np.testing.assert_array_equal(
            tensors[ours].ravel(), np.concatenate([np.ravel(part) for part in theirs]), err_msg=ours
        )

    of = arrays.__getitem__
    zeros, more = np.zeros(h), np.zeros(2 * h)
    same("encoder.backward.1.0.candidate.weight", of("encoder_bi_r_l2_cell1_Wx"))
    same("encoder.forward.0.0.input_norm.bias", of("encoder_bi_b"), of("encoder_bi_bx"))
    same("encoder.forward.0.0.state_norm.bias", more, zeros)
    same("encoder.forward.0.1.state_norm.bias", of("encoder_bi_cell2_b"), zeros)
    same("encoder.forward.0.1.candidate.bias", of("encoder_bi_cell2_bx"))
    same("decoder.0.1.input_norm.bias", of("decoder_cell2_b"), zeros)
    same("decoder.0.1.state_norm.bias", more, of("decoder_cell2_bx"))
    same("decoder.0.2.state_norm.bias", of("decoder_cell3_b"), of("decoder_cell3_bx"))
    same("decoder.1.1.candidate.bias", of("decoder_l2_cell2_bx"))
    same("attention.score", of("decoder_U_att"))
    same("attention.key.norm.bias", of("decoder_b_att"))
    same("top.context.norm.scale", of("decoder_ff_logit_l1_gamma2"))


def refusal_of(changes) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_recurrent_config(marian_options(make_config(**ONE_WIDTH)) | changes, "some.npz")
    assert str(caught.value).startswith("some.npz: ")
    return str(caught.value)


@pytest.mark.parametrize(
    "option, value",
    [
        ("enc-cell", "mlstm"),
        ("dec-cell", "mgru"),
        ("dec-cell", "tanh"),
        ("enc-type", "convolutional"),
        ("dec-cell-base-depth", 1),
        ("dec-cell-base-depth", "2"),
        ("dec-attention-hops", 2),
        ("dec-attention-heads", 8),
        ("input-types", ["sequence", "class"]),
        ("dim-vocabs", [40]),
        ("dim-vocabs", [40, 40, 40]),
        ("lemma-dim-emb", 5),
        ("layer-normalization", "yes"),
        ("skip", 1),
    ],
)
def test_unsupported_options_are_named(option, value):
    message = refusal_of({option: value})
    assert f"{option} is {value!r}" in message and "supported is" in message


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"type": "nematus", "layer-normalization": True}, "enc-cell is 'gru' with layer-normalization"),
        ({"dec-cell": "gru-nematus", "layer-normalization": True}, "dec-cell is 'gru-nematus' with layer-norm"),
        ({"dim-rnn": 40, "layer-normalization": True}, "widths .*, expected multiples of 16"),
        ({"dim-rnn": 8193}, "encoder_dim is 8208, expected 1 to 8192"),
        ({"dim-emb": 0}, "model_dim is 0"),
        ({"dim-emb": 31.5}, "model_dim is 31.5"),
        ({"enc-depth": 10**9}, "encoder_layers is 1000000000, expected 1 to 64"),
        ({"dec-cell-high-depth": []}, "high_transitions is"),
        ({"dim-emb": "x"}, "model_dim is 'x'"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, expected):
    assert re.search(expected, refusal_of(changes))


@pytest.mark.parametrize("type", ["lm", "multi-s2s", "char-s2s", "s2s-transformer", "lm-transformer"])
def test_other_kinds_of_models_are_refused_by_name(type, tmp_path):
    config = make_config(**ONE_WIDTH)
    write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 4))
    arrays = dict(np.load(tmp_path / "model.npz"))
    options = yaml.safe_load(arrays["special:model.yml"].tobytes()[:-1]) | {"type": type}
    np.savez(tmp_path / "other.npz", **{**arrays, "special:model.yml": options_item(options)})
    message = refusal(read_marian, tmp_path / "other.npz")
    assert f"type is '{type}', supported is 'transformer' or 'amun' or 's2s' or 'nematus'" in message


def test_arrays_that_do_not_belong_to_the_options_are_listed(tmp_path):
    config = make_config(**ONE_WIDTH, layer_norm="marian")
    tensors = random_tensors(config, 4)
    without_places(config, tensors)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    arrays = dict(np.load(tmp_path / "model.npz"))
    del arrays["encoder_bi_b"]
    arrays["decoder_cell2_bx"] = np.zeros((1, 16), np.float32)
    arrays["decoder_U_att"] = arrays["decoder_U_att"].T
    arrays["encoder_bi_l2_cell1_W"] = np.zeros((48, 96), np.float32)
    np.savez(tmp_path / "other.npz", **arrays)
    message = refusal(read_marian, tmp_path / "other.npz")
    assert "encoder_bi_b is missing" in message and "encoder_bi_l2_cell1_W is unexpected" in message
    assert "decoder_cell2_bx has shape (1, 16), expected (48,)" in message
    assert "decoder_U_att has shape (1, 96), expected (96, 1)" in message


def test_an_omitted_output_bias_is_zero(tmp_path):
    config = make_config(**ONE_WIDTH)
    write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 4))
    arrays = dict(np.load(tmp_path / "model.npz"))
    del arrays["decoder_ff_logit_l2_b"]
    options = yaml.safe_load(arrays["special:model.yml"].tobytes()[:-1]) | {"output-omit-bias": True}
    np.savez(tmp_path / "other.npz", **{**arrays, "special:model.yml": options_item(options)})
    assert not read_marian(tmp_path / "other.npz").tensors["output.bias"].any()


@pytest.mark.parametrize("name", ["Bahdanau", "stack", "recurrent top", "LSTM over GRU"])
def test_what_marian_does_not_have_is_not_written(name, tmp_path):
    config = make_config(**NAMED[name])
    with pytest.raises(ValueError, match="Marian"):
        write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 1))
    assert not list(tmp_path.iterdir())


def test_numbers_that_have_no_place_in_marian_are_not_lost(tmp_path):
    config = make_config(**ONE_WIDTH, layer_norm="marian")
    with pytest.raises(ValueError, match="attention.query.norm.bias has numbers other than 0"):
        write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 1))
