"""clusters.safetensors: written sets are read back; the file joins a model's directory whole; all else is refused."""

import json
import os
import stat

import numpy as np
import pytest
import safetensors.numpy

from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.clusters_file import MOST_SETS, clusters_bytes, read_clusters, store_clusters
from cpunmt.formats.packed.packed_directory import read_directory, verify, write_directory
from cpunmt.formats.packed.safetensors_file import read_described_safetensors, safetensors_bytes
from cpunmt.model.config import ModelConfig
from tests.sample_models.random_clusters import random_clusters
from tests.support.refusal import cheap_refusal, refusal

CONFIG = ModelConfig.of(
    model_dim=32, ffn_dim=64, heads=2, encoder_layers=1, decoder_parameters=(0, 0), vocab_size=50, scheme="int8"
)


def equal(one, other):
    arrays = all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("centroids", "offsets", "ids"))
    return arrays and one.texts == other.texts and one.vocab_size == other.vocab_size


@pytest.fixture
def model(tmp_path):
    vocabulary = tmp_path / "some.spm"
    vocabulary.write_bytes(b"any bytes")
    tensors = {"output.bias": np.linspace(-1, 1, 50, dtype=np.float32)}
    write_directory(
        tmp_path / "model", CONFIG, tensors, vocabulary=vocabulary, shortlist=b"a list", metadata={"name": "größer"}
    )
    return tmp_path / "model"


SETS = {
    "": random_clusters(1, CONFIG, top="3", seed="1"),
    ">>de<<": random_clusters(2, CONFIG, 2, top="5"),
    ">>fr<<": random_clusters(3, CONFIG),
}


def test_round_trip(tmp_path):
    path = tmp_path / "clusters.safetensors"
    path.write_bytes(clusters_bytes(SETS))
    found = read_clusters(path, CONFIG)
    assert found.keys() == SETS.keys() and all(equal(found[piece], SETS[piece]) for piece in SETS)
    for clusters in found.values():
        for array in (clusters.centroids, clusters.offsets, clusters.ids):
            assert array.ctypes.data % 64 == 0 and not array.flags.writeable and isinstance(array.base, np.memmap)
    assert clusters_bytes(dict(reversed(SETS.items()))) == path.read_bytes()


def test_another_library_reads_it(tmp_path):
    path = tmp_path / "clusters.safetensors"
    path.write_bytes(clusters_bytes(SETS))
    found = safetensors.numpy.load_file(path)
    assert np.array_equal(found["de.ids"], SETS[">>de<<"].ids) and found["offsets"].dtype == np.int64
    with safetensors.safe_open(path, "numpy") as opened:
        texts = opened.metadata()
    assert texts == {"top": "3", "seed": "1", "de.piece": ">>de<<", "de.top": "5", "fr.piece": ">>fr<<"}


def test_any_piece_may_name_a_language(tmp_path):
    pieces = [">>zh-Hans<<", ">>zh_Hans<<", "__de__", ">><<", "<<>>", ">>größer<<", "padding", "", "a.b"]
    sets = {piece: random_clusters(number, CONFIG) for number, piece in enumerate(pieces)}
    path = tmp_path / "clusters.safetensors"
    path.write_bytes(clusters_bytes(sets))
    found = read_clusters(path, CONFIG)
    assert found.keys() == sets.keys() and all(equal(found[piece], sets[piece]) for piece in sets)
    names = {name.rpartition(".")[0] for name in read_described_safetensors(path)[0]}
    assert {"zh_Hans", "zh_Hans_2", "de", "language", "language_2", "gr_er", "padding_2", "", "a_b"} == names


def changed(path, change):
    """Changes the tensors and texts of the file `path` by `change`."""
    tensors, texts = read_described_safetensors(path)
    tensors = {name: np.array(tensor) for name, tensor in tensors.items()}
    change(tensors, texts)
    path.write_bytes(safetensors_bytes(tensors, texts))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors, texts: tensors.clear(), "0 sets of clusters, expected 1 to 256; fetch the model again"),
        (lambda tensors, texts: tensors.pop("ids"), "missing 'ids' int32 (0,)"),
        (lambda tensors, texts: tensors.pop("de.centroids"), "'de.offsets' is int64 (3,), expected int64 (1,)"),
        (lambda tensors, texts: tensors.update(more=np.zeros(3, np.int8)), "unexpected 'more'"),
        (lambda tensors, texts: tensors.update({"fr.more": np.zeros(3, np.int8)}), "unexpected 'fr.more'"),
        (lambda tensors, texts: tensors.update(ids=tensors["ids"].astype(np.int64)), "'ids' is int64"),
        (lambda tensors, texts: tensors.update(ids=np.array(3, np.int32)), "'ids' is int32 (), expected int32 (0,)"),
        (lambda tensors, texts: tensors.update(centroids=tensors["centroids"][:, :16]), "is float32 (5, 16), expected"),
        (lambda tensors, texts: tensors.update(offsets=tensors["offsets"][:-1]), "'offsets' is int64 (5,), expected"),
        (
            lambda tensors, texts: tensors["de.ids"].fill(50),
            "clusters 'de': target ids from 50 to 50, expected",
        ),
        (lambda tensors, texts: tensors["ids"].fill(50), "target ids from 50 to 50, expected 0 to 49"),
        (lambda tensors, texts: texts.pop("de.piece"), "the text 'de.piece' is '', expected the target language"),
        (lambda tensors, texts: texts.update({"de.piece": ">>fr<<"}), "the text 'fr.piece' is '>>fr<<', expected"),
    ],
)
def test_a_broken_file_is_one_clear_error(tmp_path, change, message):
    path = tmp_path / "clusters.safetensors"
    path.write_bytes(clusters_bytes(SETS))
    assert message in cheap_refusal(lambda file: read_clusters(file, CONFIG), changed(path, change))


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "clusters.safetensors"
    assert "not found" in refusal(lambda file: read_clusters(file, CONFIG), path)
    path.write_bytes(clusters_bytes({"": SETS[""]})[:-1])
    assert "of the data, which has 895" in refusal(lambda file: read_clusters(file, CONFIG), path)


def test_too_many_sets(tmp_path):
    sets = {f">>{number}<<": SETS[""] for number in range(MOST_SETS + 1)}
    with pytest.raises(ValueError, match="257 sets of clusters, expected at most 256"):
        clusters_bytes(sets)
    path = tmp_path / "clusters.safetensors"
    path.write_bytes(safetensors_bytes({f"a{number}.ids": np.zeros(1, np.int32) for number in range(257)}, {}))
    assert "257 sets of clusters" in refusal(lambda file: read_clusters(file, CONFIG), path)


# In a model's directory


def test_clusters_join_a_directory(model):
    (model / "README.md").write_text("stays")
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    assert read_directory(model).clusters is None
    os.chmod(model / "metadata.json", 0o640)
    store_clusters(model, SETS)
    assert equal(read_clusters(read_directory(model).clusters, CONFIG)[">>de<<"], SETS[">>de<<"])
    assert sorted(verify(model)) == [
        "clusters.safetensors",
        "config.json",
        "shortlist.bin",
        "vocabulary.spm",
        "weights.safetensors",
    ]
    assert read_directory(model).metadata == {"name": "größer"}
    assert stat.S_IMODE((model / "metadata.json").stat().st_mode) == 0o640
    kept = {name: content for name, content in before.items() if name != "metadata.json"}
    assert kept == {name: (model / name).read_bytes() for name in kept}
    assert sorted(os.listdir(model)) == sorted([*before, "clusters.safetensors"])
    store_clusters(model, {"": SETS[""]})  # replaces them, and open ones stay valid
    assert list(read_clusters(model / "clusters.safetensors", CONFIG)) == [""] and verify(model)


def test_a_copy_is_complete_and_the_model_stays(model, tmp_path):
    (model / "README.md").write_text("not of the format")
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    out = tmp_path / "copy"
    store_clusters(model, SETS, out)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert read_directory(out).config == CONFIG and "clusters.safetensors" in verify(out)
    assert sorted(os.listdir(out)) == sorted([*verify(out), "metadata.json"])
    with pytest.raises(ModelFileError, match="copy: exists; choose another directory, or replace it .force=True."):
        store_clusters(model, SETS, out)
    store_clusters(out, {"": SETS[""]}, tmp_path / "third")  # its clusters are replaced there
    assert list(read_clusters(tmp_path / "third" / "clusters.safetensors", CONFIG)) == [""]
    store_clusters(model, {"": SETS[""]}, out, force=True)
    assert verify(out) == verify(tmp_path / "third")


def test_a_listed_file_must_be_there_and_an_unlisted_one_is_loaded(model):
    store_clusters(model, SETS)
    path = model / "clusters.safetensors"
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(ModelFileError, match="clusters.safetensors: not found, but the model needs it"):
        read_directory(model)
    path.write_bytes(content)
    fields = json.loads((model / "metadata.json").read_text("utf-8"))
    del fields["files"]["clusters.safetensors"]
    (model / "metadata.json").write_text(json.dumps(fields))
    assert read_directory(model).clusters == path
    assert "clusters.safetensors: not in metadata.json" in refusal(verify, model)


@pytest.mark.parametrize("out", [None, "copy"])
def test_what_cannot_be_written_leaves_nothing(model, tmp_path, out, monkeypatch):
    before = {path.name: path.read_bytes() for path in model.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(ModelFileError, match="cannot be written: No space left on device"):
        store_clusters(model, SETS, out and tmp_path / out)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["model", "some.spm"]


@pytest.mark.parametrize("value", ["1e999", '"\\ud800"'])
def test_metadata_that_cannot_be_written_again(model, value):
    text = (model / "metadata.json").read_text("utf-8")
    (model / "metadata.json").write_text(text.replace('"größer"', value), "utf-8")
    with pytest.raises(ModelFileError, match="metadata.json: has numbers or letters that JSON cannot hold"):
        store_clusters(model, SETS)
    assert "clusters.safetensors" not in os.listdir(model)
