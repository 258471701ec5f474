"""A directory of any kind is recognized, or its missing files are listed; OPUS-MT's release directories are read."""

import json
import shutil

import numpy as np
import pytest
import yaml

from cpunmt.decoding.loading import contains_model
from cpunmt.errors import ModelFileError
from cpunmt.formats import any_directory
from cpunmt.formats.any_directory import kind_of, model_folder, read_checkpoint, read_model
from cpunmt.formats.foreign_model import VocabularyFiles, open_vocabularies
from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.foreign_directories import files_of, words
from tests.sample_models.huggingface_model import write_huggingface, write_vocabulary
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.refusal import refusal

SIZES = {"d": 32, "f": 64, "heads": 2, "enc": 1, "dec": 1, "vocab": 96}
MODEL = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz"


def write_opus(folder, tables=("opus.spm32k-spm32k.vocab.yml",)):
    """Writes a release directory of OPUS-MT."""
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
    assert model.source_vocabulary[:2] == (folder / "source.spm", folder / "opus.spm32k-spm32k.vocab.yml")
    assert model.target_vocabulary[:2] == (folder / "target.spm", folder / "opus.spm32k-spm32k.vocab.yml")
    source, target = open_vocabularies(model)
    assert isinstance(source, PieceVocabulary) and source.size == target.size == 96
    assert target.decode(target.encode(TEXT[1])) and source.encode(">>fra<< dog")[0] == source.ids([">>fra<<"])[0]


@pytest.mark.parametrize("with_decoder", [True, False])
def test_an_opus_release_with_two_tables(with_decoder, tmp_path):
    folder = write_opus(tmp_path, ("opus.src.vocab.yml", "opus.trg.vocab.yml"))
    if not with_decoder:
        (folder / "decoder.yml").unlink()
    files = files_of(folder)
    assert [files.source_vocabulary.table.name, files.target_vocabulary.table.name] == [
        "opus.src.vocab.yml",
        "opus.trg.vocab.yml",
    ]
    assert not read_model(folder).config.shared_vocabulary


def test_tables_of_words_stand_alone(tmp_path):
    folder = words(tmp_path / "two").path
    files = files_of(folder)
    assert (files.source_vocabulary, files.target_vocabulary) == (
        VocabularyFiles(None, folder / "train.src.vocab.yml"),
        VocabularyFiles(None, folder / "train.trg.vocab.yml"),
    )
    # called as one likes, where a configuration says which is which; JSON too
    (folder / "train.src.vocab.yml").rename(folder / "en.yml")
    table = json.dumps(yaml.safe_load((folder / "train.trg.vocab.yml").read_text("utf-8")))
    (folder / "train.trg.vocab.yml").unlink()
    (folder / "de.json").write_text(table)
    assert "vocabulary: none; expected " in refusal(files_of, folder)
    decoder = {"relative-paths": True, "models": ["model.npz"], "vocabs": ["en.yml", "de.json"]}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    assert [file.ids_from.name for file in files_of(folder)[1:3]] == ["en.yml", "de.json"]
    assert not read_model(folder).config.shared_vocabulary
    # text would have to be cut by what is there
    (folder / "codes.bpe").write_bytes(b"")
    assert "to translate text that was cut by it before, move it away" in refusal(files_of, folder)


def test_what_an_opus_release_may_lack(tmp_path):
    folder = write_opus(tmp_path)
    (folder / "target.spm").unlink()
    (folder / "source.spm").rename(folder / "source.bpe")
    message = refusal(read_model, folder)
    assert "the table of a vocabulary needs source.spm, which is not there; source.bpe is of another kind" in message
    assert "needs target.spm" in message
    (folder / "source.bpe").unlink()
    with pytest.raises(ModelFileError, match="vocab.yml: a table of SentencePiece's pieces"):
        open_vocabularies(read_model(folder))
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
    message = refusal(read_model, tmp_path)
    assert kind_of(tmp_path) == "huggingface" and "does not begin like a file of torch.save" in message
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


@pytest.mark.parametrize("inner", ["b/", "snapshots/0123/", "c.argosmodel"])
def test_a_model_further_down_is_named(inner, tmp_path):
    """As in the cache of the hub, whose files are links, and beside broken folders."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text("{")
    path = tmp_path / inner
    if inner.endswith("/"):
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps({"model_type": "marian"}))
    else:
        path.write_bytes(b"")
    assert refusal(kind_of, tmp_path) == f"{tmp_path}: not a model's directory, but {path} is a model; name that one"
    assert not contains_model(tmp_path)


def test_no_model_at_all(tmp_path):
    message = refusal(kind_of, tmp_path)
    assert message.startswith(f"{tmp_path}: not a model's directory. Found: no file. Expected the files of one of ")
    for i in range(30):
        (tmp_path / f"file{i:02}").write_text("x")
    message = refusal(kind_of, tmp_path)
    assert "file00, file01" in message and "and 10 more" in message
    assert message.endswith("Marian, Bergamot or OPUS-MT, Hugging Face, Argos package")
    (tmp_path / "config.json").write_text("{")
    assert str(tmp_path / "config.json") in refusal(kind_of, tmp_path)
    assert "no such directory" in refusal(kind_of, tmp_path / "none")
    shutil.copy(__file__, tmp_path / "file")
    assert "not a file of a model; expected a model's directory" in refusal(kind_of, tmp_path / "file")


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "vocabulary.spm", "shortlist.bin"])
def test_a_file_of_a_packed_model_is_taken_for_its_directory(name):
    assert kind_of(DIRECTORIES["int8"] / name) == "packed"
    assert model_folder(DIRECTORIES["int8"] / name) == DIRECTORIES["int8"]


def test_a_file_of_a_release_is_taken_for_its_directory(tmp_path):
    folder = write_opus(tmp_path)
    expected = read_checkpoint(folder)
    for name in ("decoder.yml", MODEL, "source.spm", "opus.spm32k-spm32k.vocab.yml"):
        assert kind_of(folder / name) == "marian"
        found = read_checkpoint(folder / name)
        assert (found.weights, found.config) == (expected.weights, expected.config)
    for name in ("README.md", "preprocess.sh"):
        assert "not a file of a model" in refusal(read_checkpoint, folder / name)


def test_a_file_of_huggingface_is_taken_for_its_directory(tmp_path):
    write_huggingface(tmp_path)
    write_vocabulary(tmp_path, train_vocabulary)
    for name in ("config.json", "model.safetensors", "vocab.json"):
        assert kind_of(tmp_path / name) == "huggingface"
        assert read_checkpoint(tmp_path / name).weights == tmp_path / "model.safetensors"


def test_of_several_models_the_file_says_which(tmp_path):
    """Models by their name, or by a configuration's, which is arbitrary."""
    train_vocabulary(tmp_path / "vocab.spm", 96)
    for name, layers in (("first.npz", 1), ("second.npz", 2), ("model.npz", 3)):
        write_marian_npz(tmp_path / name, **{**SIZES, "enc": layers})
    said = {"relative-paths": True, "vocabs": ["vocab.spm", "vocab.spm"]}
    (tmp_path / "quick.yml").write_text(yaml.safe_dump({**said, "models": ["first.npz"], "beam-size": 1}))
    (tmp_path / "config.slow.yml").write_text(yaml.safe_dump({**said, "models": ["second.npz"], "beam-size": 6}))
    for name, layers, beam in (
        ("first.npz", 1, 1),
        ("quick.yml", 1, 1),
        ("second.npz", 2, 6),
        ("config.slow.yml", 2, 6),
        ("model.npz", 3, 1),
        ("vocab.spm", 2, 6),
        ("", 2, 6),
    ):
        config = read_checkpoint(tmp_path / name).config
        assert (config.architecture.encoder_layers, config.beam_size) == (layers, beam), name
    (tmp_path / "config.slow.yml").unlink()
    assert "name the file instead of its directory" in refusal(read_checkpoint, tmp_path)


def test_beside_a_packed_model_a_model_of_marian_is_meant_by_its_name(tmp_path):
    for name in ("config.json", "weights.safetensors"):
        shutil.copy(DIRECTORIES["int8"] / name, tmp_path)
    write_marian_npz(tmp_path / "model.npz", **SIZES)
    train_vocabulary(tmp_path / "vocab.spm", 96)
    assert kind_of(tmp_path) == kind_of(tmp_path / "config.json") == "packed"
    assert kind_of(tmp_path / "model.npz") == "marian"
    assert read_checkpoint(tmp_path / "model.npz").config.vocab_size == 96


@pytest.mark.parametrize("name", ["shared_vocabulary.json", "source_vocabulary.txt", "target_vocabulary.json.gz"])
def test_a_model_of_ctranslate2_is_known_by_its_vocabulary(name, tmp_path):
    for file in ("model.bin", name, "model.npz"):
        (tmp_path / file).write_text("x")
    assert kind_of(tmp_path) == kind_of(tmp_path / "model.bin") == "ctranslate2"
    assert kind_of(tmp_path / "model.npz") == "marian"
    (tmp_path / name).unlink()
    assert kind_of(tmp_path) == kind_of(tmp_path / "model.bin") == "marian"


@pytest.mark.parametrize("field", ["add_source_bos", "decoder_start_token"])
def test_a_model_of_ctranslate2_is_known_by_its_config(field, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({field: None}))
    assert kind_of(tmp_path) == "ctranslate2"
    assert "model.bin is missing; expected the directory that" in refusal(read_checkpoint, tmp_path)


@pytest.mark.parametrize(("count", "end"), [(20, "f19. Expected"), (21, "f19 and 1 more. Expected")])
def test_many_files_of_no_model_are_counted(count, end, tmp_path):
    for number in range(count):
        (tmp_path / f"f{number:02}").touch()
    assert end in refusal(kind_of, tmp_path)


def test_the_most_files_of_a_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(any_directory, "_MAX_FILES", 3)
    for number in range(3):
        (tmp_path / f"f{number}").touch()
    assert any_directory.listing(tmp_path) == ["f0", "f1", "f2"]
    (tmp_path / "f3").touch()
    assert "holds over 3 files, expected a model's directory" in refusal(any_directory.listing, tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.npz", "model.npz"),
        ("model.bin.gz", "model.bin.gz"),
        ("model.a.bin.zst", "model.a.bin.zst"),
        ("decoder.yml.ZST", "decoder.yml.ZST"),
        ("shortlist.bin", None),
        ("pytorch_model.bin", None),
        ("README.md", None),
        ("", None),
    ],
)
def test_files_that_select_a_model(name, expected, tmp_path):
    assert any_directory.marian_file(tmp_path / name, tmp_path) == expected
