"""Float checkpoints from files and directories of every kind."""

import numpy as np
import pytest

from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import write_directory
from cpunmt.model.tensors import checkpoint_tensors, linears, matrices, table_sizes
from quantize.checkpoints.float_checkpoint import read_float_checkpoint, unpacked_tensors
from quantize.checkpoints.stored_weights import stored_matrix
from quantize.rounding.matrix_quantizer import exceptions
from tests.sample_models.architectures import NAMED
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.random_models import random_tensors
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.sample_models.transformers import make_config
from tests.support.refusal import refusal


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.float32


@pytest.fixture
def pack(tmp_path):
    """Writes a directory of a random model, and returns its config, tensors, and the packed ones."""

    def packed(scheme, **options):
        config = make_config(vocab_size=128)
        tensors = random_tensors(config, 2)
        train_vocabulary(tmp_path / "vocab.spm", 128)
        made = packed_tensors(config, tensors, scheme, **options)
        write_directory(tmp_path / "packed", *made, vocabulary=tmp_path / "vocab.spm")
        return config, tensors, made

    return packed


@pytest.mark.parametrize("name", NAMED)
def test_unpacking_is_the_inverse_of_packing(name):
    config = NAMED[name]
    tensors = random_tensors(config, 2)
    same(unpacked_tensors(*packed_tensors(config, tensors, "float32")), tensors)


def test_a_file_and_a_directory_of_marian_hold_the_same(tmp_path):
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    train_vocabulary(tmp_path / "vocab.spm", 128)
    config, tensors = read_float_checkpoint(tmp_path / "model.npz")
    assert tensors.keys() == checkpoint_tensors(config).keys()
    again, from_directory = read_float_checkpoint(tmp_path)
    assert again.changed(shared_vocabulary=config.shared_vocabulary) == config
    same(from_directory, tensors)


def test_the_shipped_model_is_read_from_its_float32_directory():
    config, tensors = read_float_checkpoint(DIRECTORIES["float32"])
    assert {name: array.shape for name, array in tensors.items()} == checkpoint_tensors(config)
    assert {config.scheme_of(name) for name in matrices(config)} == {"float32"}


@pytest.mark.parametrize("scheme, schemes", [("float16", {}), ("float32", {"embedding": "float16"})])
def test_half_precision_is_widened(tmp_path, pack, scheme, schemes):
    config, tensors, _ = pack(scheme, schemes=schemes)
    found, weights = read_float_checkpoint(tmp_path / "packed")
    assert found == config
    assert (weights["embedding"] == tensors["embedding"].astype(np.float16)).all()
    assert all(array.dtype == np.float32 for array in weights.values())


@pytest.mark.parametrize("schemes", [{}, {"embedding": "float32"}])
def test_integers_are_refused(tmp_path, pack, schemes):
    beside = f"packed as int16, int8, expected float32 or float16; use {DIRECTORIES['int8'] / 'float32'}"
    assert beside in refusal(read_float_checkpoint, DIRECTORIES["int8"])
    pack("log4", schemes=schemes)
    told = refusal(read_float_checkpoint, tmp_path / "packed")
    assert "packed as log4, expected float32 or float16; use the checkpoint it was made of" in told


def test_integers_stand_for_what_they_are_multiplied_with(tmp_path, pack):
    """Every scheme at once; the read network equals the integers' network."""
    schemes = {"encoder.*": "int8", "decoder.*": "int16", "*.inner": "code4", "*.outer": "float16"}
    config, _, packed = pack("log4", schemes=exceptions(make_config(vocab_size=128), schemes.items()))
    found, weights = read_float_checkpoint(tmp_path / "packed", rounded=True)
    assert found == config
    for name in table_sizes(config):
        np.testing.assert_array_equal(weights[name], np.float32(stored_matrix(*packed, name).weights.T))
    for linear in linears(config):
        together = np.concatenate([weights[part] for part, _ in linear.parts], axis=1)
        np.testing.assert_array_equal(together, np.float32(stored_matrix(*packed, linear).weights))


def test_static_activation_scales_are_in_the_bias_and_are_refused(tmp_path, pack):
    pack("int8", alphas=dict.fromkeys(checkpoint_tensors(make_config(vocab_size=128)), 3.0))
    told = refusal(read_float_checkpoint, tmp_path / "packed", rounded=True)
    assert "packed as int8 with static scales, expected dynamic ones" in told


def test_what_is_missing_is_one_error(tmp_path):
    assert "not found" in refusal(read_float_checkpoint, tmp_path / "model.npz")
    assert "not a model's directory" in refusal(read_float_checkpoint, tmp_path)
