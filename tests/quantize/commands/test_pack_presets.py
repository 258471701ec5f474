"""`quantize pack --preset`: named schemes of matrices."""

import pytest

from cpunmt import Translator
from cpunmt.formats.packed.packed_directory import read_directory
from quantize.checkpoints.marian_export import write_marian_npz as write_recurrent_npz
from quantize.checkpoints.stored_weights import step_bytes
from quantize.commands.cli import main
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import make_config
from tests.sample_models.small_vocabulary import train_vocabulary

SENTENCES = ["A small dog runs.", "The water is cold, but the boy swims."]


@pytest.fixture
def pack(tmp_path, capsys):
    """Packs a small model into a directory of that name; the exit status."""
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    train_vocabulary(tmp_path / "both.spm", 128)

    def packed(name, *flags):
        command = ["pack", str(tmp_path / "model.npz"), str(tmp_path / name), "--vocab", str(tmp_path / "both.spm")]
        return main([*command, *flags])

    return packed


def quantization(model):
    return read_directory(model).metadata["quantization"]


def test_a_preset_is_a_list_of_schemes_that_keep_may_change(pack, tmp_path):
    assert pack("model", "--preset", "latency") == 0
    config = read_directory(tmp_path / "model").config
    expected = {f"decoder.{i}.feed_forward.inner": "code4" for i in (0, 1)}
    expected |= {f"decoder.{i}.cross_attention.key_value": "int16" for i in (0, 1)}
    assert config.scheme == "int8" and dict(config.schemes) == expected
    told = quantization(tmp_path / "model")
    assert told["preset"] == "latency" and told["exceptions"] == expected
    assert Translator(tmp_path / "model").translate(SENTENCES)[0].pieces
    flags = ["--keep", "decoder.1.*=int8", "--preset", "latency"]
    assert pack("changed", *flags) == 0
    kept = {name: scheme for name, scheme in expected.items() if name.startswith("decoder.0.")}
    assert dict(read_directory(tmp_path / "changed").config.schemes) == kept
    assert pack("plain") == 0 and "preset" not in quantization(tmp_path / "plain")


def test_a_preset_of_other_networks_is_one_error(tmp_path, capsys):
    """It listed all matrices, and none of the words that were given."""
    config = make_config(vocab_size=128, encoder_dim=48)
    write_recurrent_npz(tmp_path / "model.npz", config, random_tensors(config, 1))
    train_vocabulary(tmp_path / "both.spm", 128)
    command = ["pack", str(tmp_path / "model.npz"), str(tmp_path / "out"), "--vocab", str(tmp_path / "both.spm")]
    assert main([*command, "--preset", "latency"]) == 1
    error = capsys.readouterr().err
    assert error == (
        "cpunmt-quantize: error: --preset latency is of transformer models, and this one is recurrent; choose with "
        "--keep\n"
    )
    assert not (tmp_path / "out").exists() and main(command) == 0
    packed = read_directory(tmp_path / "out")
    assert packed.config.architecture == config.architecture
    read = [key for key in packed.tensors if key.startswith(("decoder.", "top.state."))]
    assert step_bytes(packed.config, packed.tensors) == sum(packed.tensors[key].nbytes for key in read)
    assert Translator(tmp_path / "out").translate(SENTENCES)[0].pieces


def test_a_preset_reads_fewer_bytes_in_each_step(pack, tmp_path):
    sizes = {}
    for name, flags in (("plain", []), ("latency", ["--preset", "latency"])):
        assert pack(name, *flags) == 0
        packed = read_directory(tmp_path / name)
        sizes[name] = step_bytes(packed.config, packed.tensors)
        read = [key for key in packed.tensors if key.startswith("decoder.") and ".key_value." not in key]
        read = [key for key in read if ".norm." not in key]
        assert sizes[name] == sum(packed.tensors[key].nbytes for key in read)
    weights = {key: tensor for key, tensor in packed.tensors.items() if key.endswith("feed_forward.inner.weight")}
    halves = sum(tensor.nbytes for key, tensor in weights.items() if key.startswith("decoder."))
    sums = sum(packed.tensors[f"decoder.{i}.feed_forward.inner.bias"].nbytes for i in (0, 1))  # int8's alone
    assert sizes["plain"] - sizes["latency"] == halves + sums
