"""A directory of any kind is recognized, or told what it lacks; OPUS-MT's release directories are read."""

import json
import shutil

import numpy as np
import pytest
import yaml

from cpunmt.formats.any_directory import kind_of, read_model
from cpunmt.formats.foreign_model import open_vocabularies
from cpunmt.formats.marian.bergamot_directory import find_files
from cpunmt.text.piece_vocabulary import PieceVocabulary
from cpunmt.text.vocabulary import Vocabulary
from tests.sample_models.huggingface_model import write_huggingface, write_vocabulary
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.refusal import refusal

SIZES = {"d": 32, "f": 64, "heads": 2, "enc": 1, "dec": 1, "vocab": 96}
MODEL = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz"


def write_opus(folder, tables=("opus.spm32k-spm32k.vocab.yml",)):
    """A release directory of OPUS-MT."""
    table = write_vocabulary(folder, train_vocabulary)
    for name in ("vocab.json", "tokenizer_config.json"):
        (folder / name).unlink()
    table.pop("<pad>")
    for name in tables:
        (folder / name).write_text(yaml.safe_dump(table, allow_unicode=True, sort_keys=False))
    write_marian_npz(folder / MODEL, **SIZES)
    for name in ("README.md", "preprocess.sh", "postprocess.sh"):
        (folder / name).write_text("text")
    vocabularies = [tables[0], tables[-1]]
    decoder = {"relative-paths": True, "models": [MODEL], "vocabs": vocabularies, "beam-size": 6, "normalize": 1}
    decoder |= {"word-penalty": 0, "mini-batch": 1, "maxi-batch": 1, "maxi-batch-sort": "src"}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return folder


@pytest.mark.parametrize("with_decoder", [True, False])
def test_an_opus_release(with_decoder, tmp_path):
    folder = write_opus(tmp_path)
    if not with_decoder:
        (folder / "decoder.yml").unlink()
    assert kind_of(folder) == "marian"
    model = read_model(folder, "float32")
    assert model.config.beam_size == (6 if with_decoder else 1)
    assert model.config.shared_vocabulary
    assert model.source_vocabulary == (folder / "source.spm", folder / "opus.spm32k-spm32k.vocab.yml")
    assert model.target_vocabulary == (folder / "target.spm", folder / "opus.spm32k-spm32k.vocab.yml")
    source, target = open_vocabularies(model)
    assert isinstance(source, PieceVocabulary) and source.size == target.size == 96
    assert target.decode(target.encode(TEXT[1])) and source.encode(">>fra<< dog")[0] == source.ids([">>fra<<"])[0]


@pytest.mark.parametrize("with_decoder", [True, False])
def test_an_opus_release_with_two_tables(with_decoder, tmp_path):
    folder = write_opus(tmp_path, ("opus.src.vocab.yml", "opus.trg.vocab.yml"))
    if not with_decoder:
        (folder / "decoder.yml").unlink()
    files = find_files(folder)
    assert [files.source_vocabulary.table.name, files.target_vocabulary.table.name] == [
        "opus.src.vocab.yml",
        "opus.trg.vocab.yml",
    ]
    assert not read_model(folder).config.shared_vocabulary


def test_what_an_opus_release_may_lack(tmp_path):
    folder = write_opus(tmp_path)
    (folder / "target.spm").unlink()
    (folder / "source.spm").rename(folder / "source.bpe")
    message = refusal(read_model, folder)
    assert "the table of a vocabulary needs source.spm, which is not there; source.bpe is of another kind" in message
    assert "needs target.spm" in message
    folder = write_opus(tmp_path, ("a.vocab.yml", "b.vocab.yml"))
    (folder / "decoder.yml").unlink()
    (folder / "opus.spm32k-spm32k.vocab.yml").unlink()
    assert "vocabulary: a.vocab.yml, b.vocab.yml; expected one, or *src.vocab.yml" in refusal(read_model, folder)


def test_other_kinds(tmp_path):
    assert {kind_of(path) for path in DIRECTORIES.values()} == {"packed"}
    message = refusal(read_model, DIRECTORIES["int8"])
    assert "is packed already" in message
    write_huggingface(tmp_path)
    write_vocabulary(tmp_path, train_vocabulary)
    assert kind_of(tmp_path) == "huggingface"
    assert read_model(tmp_path, "float32").config.architecture.positions == "tensor2tensor"
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    assert kind_of(tmp_path) == "huggingface" and "pickle" in refusal(read_model, tmp_path)
    (tmp_path / "config.json").unlink()
    assert kind_of(tmp_path) == "huggingface" and "config.json is missing" in refusal(read_model, tmp_path)


def test_a_bergamot_directory_beside_a_config_of_something_else(tmp_path):
    write_marian_npz(tmp_path / "model.npz", **SIZES)
    train_vocabulary(tmp_path / "vocab.spm", 96)
    (tmp_path / "config.json").write_text(json.dumps({"name": "mine"}))
    assert kind_of(tmp_path) == "marian"
    model = read_model(tmp_path)
    source, target = open_vocabularies(model)
    assert source is target and isinstance(source, Vocabulary) and source.size == 96
    assert np.isfinite(model.tensors["output.bias"]).all()


def test_no_model_at_all(tmp_path):
    message = refusal(kind_of, tmp_path)
    assert message.startswith(f"{tmp_path}: not a model's directory. Found: no file. Expected config.json of cpunmt")
    for i in range(30):
        (tmp_path / f"file{i:02}").write_text("x")
    message = refusal(kind_of, tmp_path)
    assert "file00, file01" in message and "and 10 more" in message
    assert "*.npz or model*.bin" in message and "model.safetensors, vocab.json" in message
    (tmp_path / "config.json").write_text("{")
    assert str(tmp_path / "config.json") in refusal(kind_of, tmp_path)
    assert "no such directory" in refusal(kind_of, tmp_path / "none")
    shutil.copy(__file__, tmp_path / "file")
    assert "no such directory" in refusal(kind_of, tmp_path / "file")


def test_a_model_of_ctranslate2_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"add_source_bos": false}')
    for name in ("model.bin", "shared_vocabulary.json"):
        (tmp_path / name).write_text("x")
    assert "a CTranslate2 model, which is not read" in refusal(kind_of, tmp_path)
