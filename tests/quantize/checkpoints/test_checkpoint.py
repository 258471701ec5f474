"""Checkpoints of every kind are opened with all their parts."""

import hashlib

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import read_directory, vocabulary_arguments, write_directory
from cpunmt.model.tensors import checkpoint_tensors
from quantize.checkpoints.checkpoint import open_directory, open_file
from quantize.checkpoints.float_checkpoint import float_tensors
from tests.sample_models.foreign_directories import KINDS, marian, opus
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import train_vocabulary

LINES = ["A small dog runs.", "", "The water is cold, but the boy swims."]


def directory_vocabularies(checkpoint):
    """Returns the vocabularies in packing's form."""
    return vocabulary_arguments(checkpoint.config, checkpoint.files, checkpoint.vocabularies, "here")


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_of_every_kind(kind, tmp_path):
    written = KINDS[kind](tmp_path / "model")
    found = open_directory(written.path)
    assert found.tensors.keys() == checkpoint_tensors(found.config).keys()
    for name, tensor in float_tensors(found.tensors).items():
        assert tensor.dtype == np.float32 and np.array_equal(tensor, written.tensors[name]), name
    assert found.alphas == written.alphas
    assert (found.shortlist is None) == (written.shortlist is None)
    if written.shortlist:
        assert np.array_equal(found.shortlist.ids, written.shortlist.ids)
    weights = next(written.path.rglob(found.described["name"]))  # a package has them in a folder
    assert found.described["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert [vocabulary.size for vocabulary in found.vocabularies] == [found.config.source_size, found.config.vocab_size]


@pytest.mark.parametrize(
    "kind", ["bergamot with two vocabularies", "marian npz", "opus with two tables", "huggingface"]
)
def test_what_is_packed_of_it_translates_as_the_directory_does(kind, tmp_path):
    """In float32; with its vocabularies, tables and limits."""
    written = KINDS[kind](tmp_path / "model")
    found = open_directory(written.path)
    config, packed = packed_tensors(found.config, found.tensors, "float32")
    shortlist = found.shortlist and found.shortlist.to_bytes()
    write_directory(tmp_path / "packed", config, packed, shortlist=shortlist, **directory_vocabularies(found))
    expected = Translator(written.path, compute_type="float32").translate(LINES)
    assert [result.text for result in Translator(tmp_path / "packed").translate(LINES)] == [
        result.text for result in expected
    ]


def test_a_file_and_its_vocabularies(tmp_path):
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    paths = [str(train_vocabulary(tmp_path / name, 128)) for name in ("one.spm", "two.spm")]
    joint = open_file(tmp_path / "model.npz", paths[:1])
    assert joint.config.shared_vocabulary and joint.vocabularies[0] is joint.vocabularies[1]
    assert directory_vocabularies(joint) == {"vocabulary": joint.files[0].pieces, "tables": []}
    split = open_file(tmp_path / "model.npz", paths)
    assert not split.config.shared_vocabulary
    assert [str(path) for path in directory_vocabularies(split)["vocabulary"]] == paths
    assert joint.described["name"] == "model.npz" and joint.metadata == {} and joint.shortlist is None


def test_a_model_packed_as_float32_is_a_checkpoint_again():
    found = open_directory(DIRECTORIES["float32"])
    assert found.config == read_directory(DIRECTORIES["float32"]).config
    assert found.described["name"] == "model.npz"  # its own origin
    assert found.metadata["source_language"] == "en"
    assert not {"quantization", "checkpoint", "made_by", "files", "format_version"} & found.metadata.keys()
    assert found.shortlist.vocab_size == found.config.vocab_size


def test_a_model_that_is_quantized_already_is_refused():
    with pytest.raises(ModelFileError, match="packed as int16, int8, expected float32"):
        open_directory(DIRECTORIES["int8"])


def test_metadata_is_kept_as_far_as_json_can_hold_it(tmp_path):
    written = marian(tmp_path / "model")
    (written.path / "metadata.json").write_text('{"modelType": "tiny", "made_by": "them", "checkpoint": "old", "n": 3}')
    assert open_directory(written.path).metadata == {"modelType": "tiny", "n": 3}


def test_one_table_and_one_sentencepiece_model_cannot_be_packed(tmp_path):
    found = open_directory(opus(tmp_path / "model").path)
    plain = open_file(found.files[0].pieces.parent / "opus.npz", [str(train_vocabulary(tmp_path / "v.spm", 96))])
    mixed = found.config.changed(shared_vocabulary=False)
    with pytest.raises(ModelFileError, match="one vocabulary is a table and the other is not"):
        directory_vocabularies(
            found._replace(config=mixed, vocabularies=(found.vocabularies[0], plain.vocabularies[1]))
        )


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    path = str(train_vocabulary(tmp_path / "other.spm", 120))
    with pytest.raises(
        ModelFileError, match=r"other.spm: not the vocabulary of this model \(size 120, the model has 128\)"
    ):
        open_file(tmp_path / "model.npz", [path])
