"""The packed model directory: complete or absent; written ones are read back; all else is refused."""

import hashlib
import json
import os
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import VocabularyFiles
from cpunmt.formats.packed import packed_directory
from cpunmt.formats.packed.packed_directory import (
    NAMES,
    read_directory,
    verify,
    vocabulary_arguments,
    write_directory,
)
from cpunmt.model.config import ModelConfig
from tests.support.refusal import refusal

CONFIG = ModelConfig.of(
    model_dim=32,
    ffn_dim=64,
    heads=2,
    encoder_layers=1,
    decoder_parameters=(0, 0),
    vocab_size=50,
    scheme="int8",
)
SPLIT = CONFIG.changed(shared_vocabulary=False)
TENSORS = {
    "embedding": np.arange(-800, 800, dtype=np.int16).reshape(50, 32).astype(np.int8),
    "output.bias": np.linspace(-1, 1, 50, dtype=np.float32),
}
STATES = ("right", "changed", "longer", "only there", "only listed", "nowhere")
METADATA = {"languages": ["en", "de"], "licence": "CC BY 4.0", "note": "größer\0", "report": {"bleu": 36.9}}


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "some.spm"
    path.write_bytes(b"any bytes: a vocabulary is copied, not looked at")
    return path


@pytest.fixture
def written(tmp_path, vocabulary):
    path = tmp_path / "model"
    write_directory(path, CONFIG, TENSORS, vocabulary=vocabulary, shortlist=b"shortlist", metadata=METADATA)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Makes a directory whose files a test may change."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "some.spm").write_bytes(b"any bytes")
    write_directory(folder / "model", CONFIG, TENSORS, vocabulary=folder / "some.spm", metadata=METADATA)
    return folder / "model"


def assert_equal(tensors, expected):
    assert tensors.keys() == expected.keys()
    for name, array in expected.items():
        assert tensors[name].dtype == array.dtype
        assert np.array_equal(tensors[name], array)


def edit(path, change):
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))


def test_round_trip(written, vocabulary):
    packed = read_directory(str(written))
    assert packed.config == CONFIG
    assert_equal(packed.tensors, TENSORS)
    assert packed.source_vocabulary == packed.target_vocabulary == (written / "vocabulary.spm", None, None)
    assert packed.source_vocabulary.pieces.read_bytes() == vocabulary.read_bytes()
    assert packed.shortlist.read_bytes() == b"shortlist"
    assert packed.shortlist_sha256 == verify(written)["shortlist.bin"]
    assert packed.metadata == METADATA
    assert sorted(verify(written)) == [
        "config.json",
        "shortlist.bin",
        "vocabulary.spm",
        "weights.safetensors",
    ]


def test_all_is_on_the_disk_before_the_directory_has_its_name(tmp_path, vocabulary, monkeypatch):
    synced = []
    monkeypatch.setattr(packed_directory, "sync", lambda path: synced.append(path))
    write_directory(tmp_path / "model", CONFIG, TENSORS, vocabulary=vocabulary)
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert {path.name for path in synced[:-1]} == names and synced[-1] == synced[0].parent
    text = (tmp_path / "model" / "config.json").read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


def test_metadata_that_another_model_keeps():
    metadata = {"a": 1, "b": float("nan"), "files": {}, "format_version": 1, "c": "\ud800", "d": None}
    assert packed_directory.kept_metadata(metadata, ("d",)) == {"a": 1}


def test_round_trip_of_two_vocabularies_without_shortlist(tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).write_text(name)
    write_directory(tmp_path / "model", SPLIT, TENSORS, vocabulary=(tmp_path / "s", str(tmp_path / "t")))
    packed = read_directory(tmp_path / "model")
    assert packed.source_vocabulary.pieces.read_text() == "s" and packed.target_vocabulary.pieces.read_text() == "t"
    assert packed.shortlist is None and packed.shortlist_sha256 is None and packed.metadata == {}
    assert packed.config == SPLIT


def test_vocabularies_must_fit_the_config(tmp_path, vocabulary):
    for config, given_ in ((SPLIT, vocabulary), (SPLIT, [vocabulary]), (CONFIG, (vocabulary, vocabulary))):
        with pytest.raises(ValueError, match=r"config\.shared_vocabulary"):
            write_directory(tmp_path / "model", config, TENSORS, vocabulary=given_)
    assert os.listdir(tmp_path) == [vocabulary.name]


def test_two_vocabularies_are_of_one_kind(student, words):
    """A packed model has tables, or SentencePiece models, of both languages: not one of each."""
    files = [VocabularyFiles(Path("a.spm"), None), VocabularyFiles(Path("b.spm"), None)]
    pieces, table = student.target_vocabulary, words.target_vocabulary
    for opened in ([pieces, table], [table, pieces]):
        with pytest.raises(ModelFileError, match="^here: one vocabulary is a table and the other is not"):
            vocabulary_arguments(SPLIT, files, opened, "here")
    assert vocabulary_arguments(SPLIT, files, [pieces, pieces], "here")["tables"] == []
    for name, count in (("a.yml", 1), ("b.yml", 2)):  # one that both languages have is written once
        files = [VocabularyFiles(None, Path("a.yml")), VocabularyFiles(None, Path(name))]
        assert len(vocabulary_arguments(SPLIT, files, [table, table], "here")["tables"]) == count


def test_other_files_are_ignored_and_a_shortlist_may_be_added(written):
    (written / "README.md").write_text("about this model")
    (written / "float32").mkdir()
    assert_equal(read_directory(written).tensors, TENSORS)
    verify(written)
    edit(written / "metadata.json", lambda fields: fields["files"].pop("shortlist.bin"))
    packed = read_directory(written)
    assert packed.shortlist == written / "shortlist.bin" and packed.shortlist_sha256 is None
    assert "shortlist.bin: not in metadata.json" in refusal(verify, written)


def test_a_model_has_a_shortlist_or_a_vocabulary_map(written, vocabulary, tmp_path):
    described = json.loads((written / "metadata.json").read_text())["files"]["shortlist.bin"]
    edit(written / "metadata.json", lambda fields: fields["files"].update({"vmap.txt": described}))
    (written / "vmap.txt").write_bytes(b"shortlist")
    assert "metadata.json: lists both shortlist.bin and vmap.txt, expected one of them" in refusal(
        read_directory, written
    )
    both = {"shortlist": b"", "vocabulary_map": b""}
    with pytest.raises(ValueError, match="^shortlist and vocabulary_map are both given, expected one of them$"):
        write_directory(tmp_path / "both", CONFIG, TENSORS, vocabulary=vocabulary, **both)
    for name, content in both.items():  # an empty file is a file: loading it says what is wrong
        write_directory(tmp_path / name, CONFIG, TENSORS, vocabulary=vocabulary, **{name: content})
        assert read_directory(tmp_path / name).shortlist.read_bytes() == b""


# Writing is all or nothing


def test_an_existing_target_is_kept(written, vocabulary):
    before = verify(written)
    with pytest.raises(ModelFileError, match="exists; choose another"):
        write_directory(written, CONFIG, {}, vocabulary=vocabulary)
    assert verify(written) == before
    assert sorted(os.listdir(written.parent)) == ["model", "some.spm"]


def test_force_replaces_and_open_tensors_stay_valid(written, vocabulary):
    opened = read_directory(written).tensors
    write_directory(written, CONFIG, {"x": np.ones(3, np.int8)}, vocabulary=vocabulary, force=True)
    assert_equal(read_directory(written).tensors, {"x": np.ones(3, np.int8)})
    assert_equal(opened, TENSORS)
    assert sorted(os.listdir(written.parent)) == ["model", "some.spm"]
    assert not (written / "shortlist.bin").exists()


class Interrupted(dict):
    """Tensors whose second traversal (the data, after the header) is interrupted."""

    def values(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"tensors": {"x": np.zeros(3)}}, ValueError),
        ({"tensors": Interrupted(TENSORS)}, KeyboardInterrupt),
        ({"metadata": {"files": {}}}, ValueError),
        ({"metadata": {"format_version": 2}}, ValueError),
        ({"metadata": {"score": float("nan")}}, ValueError),
        ({"metadata": {"path": os}}, TypeError),
        ({"metadata": {"text": "\ud800"}}, ValueError),
        ({"vocabulary": "none.spm"}, ModelFileError),
        ({"vocabulary": "/"}, ModelFileError),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_failure_leaves_nothing_or_the_old_directory(written, vocabulary, tmp_path, changed, error, force):
    before = verify(written)
    path = written if force else tmp_path / "new"
    arguments = {"tensors": TENSORS, "vocabulary": vocabulary, "metadata": METADATA, **changed}
    with pytest.raises(error):
        write_directory(path, CONFIG, force=force, **arguments)
    assert sorted(os.listdir(tmp_path)) == ["model", "some.spm"]
    assert verify(written) == before


def test_a_full_disk_is_one_clear_error(tmp_path, vocabulary):
    """A limit on the size of a file replaces a full disk: the same write fails in the same place."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ModelFileError, match="model: cannot be written: File too large"):
            write_directory(tmp_path / "model", CONFIG, {"x": np.zeros(200_000, np.int8)}, vocabulary=vocabulary)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == [vocabulary.name]


def test_files_have_the_modes_of_the_umask(tmp_path, vocabulary):
    old = os.umask(0o027)
    try:
        write_directory(tmp_path / "model", CONFIG, TENSORS, vocabulary=vocabulary)
    finally:
        os.umask(old)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o750
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "model").iterdir()} == {0o640}


# Reading refuses


def test_paths_that_are_no_model(tmp_path, vocabulary):
    assert "no such directory" in refusal(read_directory, tmp_path / "none")
    assert "no such directory" in refusal(read_directory, vocabulary)
    assert "config.json: model config not found" in refusal(read_directory, tmp_path)


@pytest.mark.parametrize(
    "name", ["config.json", "weights.safetensors", "vocabulary.spm", "shortlist.bin", "metadata.json"]
)
def test_a_missing_file_is_named(written, name):
    (written / name).unlink()
    assert f"{name}" in refusal(read_directory, written)
    assert name in refusal(verify, written)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", lambda fields: fields.update(version=99), "upgrade cpunmt"),
        ("config.json", lambda fields: fields["architecture"].update(heads=0), "config: heads is 0"),
        ("config.json", lambda fields: fields.update(beam=4), "unknown field(s) beam"),
        ("config.json", lambda fields: fields.pop("format"), "not a cpunmt model config"),
        ("metadata.json", lambda fields: fields.update(format_version=99), "format_version is 99, expected 1"),
        ("metadata.json", lambda fields: fields.update(format_version=0), "format_version is 0, expected 1"),
        ("metadata.json", lambda fields: fields.update(format_version="1"), "format_version is '1'"),
        ("metadata.json", lambda fields: fields.pop("files"), "'files' does not give"),
        ("metadata.json", lambda fields: fields.update(files=[]), "'files' does not give"),
        ("metadata.json", lambda fields: fields["files"].update({"../x": {}}), "'files' does not give"),
        ("metadata.json", lambda fields: fields["files"]["config.json"].pop("size"), "'files' does not give"),
        ("metadata.json", lambda fields: fields["files"].update({"config.json": 5}), "'files' does not give"),
    ],
)
def test_wrong_fields_are_named(written, name, change, message):
    edit(written / name, change)
    text = refusal(read_directory, written)
    assert message in text and str(written / name) in text


def test_a_key_that_comes_twice_is_refused(written):
    text = (written / "config.json").read_text()
    (written / "config.json").write_text(text.replace('"heads": 2', '"heads": 2, "heads": 4'))
    assert "'heads' occurs twice" in refusal(read_directory, written)


@given(st.dictionaries(st.sampled_from(sorted(NAMES - {"metadata.json"})), st.sampled_from(STATES)))
def test_verify_is_about_every_file_that_is_there_or_listed_or_needed(whole, files):
    """Each in any state, independently of the others."""
    needed = {"config.json", "weights.safetensors"}
    metadata = json.loads((whole / "metadata.json").read_text())
    listed, wrong = {}, {name for name in needed if files.get(name, "nowhere") == "nowhere"}
    for name in NAMES - {"metadata.json"}:
        (whole / name).unlink(missing_ok=True)
    for name, state in files.items():
        content = name.encode()
        if state != "only there" and state != "nowhere":
            listed[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        if state != "only listed" and state != "nowhere":
            (whole / name).write_bytes({"changed": content.upper(), "longer": content + b"\0"}.get(state, content))
        if state not in ("right", "nowhere"):
            wrong.add(name)
    (whole / "metadata.json").write_text(json.dumps({**metadata, "files": listed}))
    if not wrong:
        assert verify(whole) == {name: entry["sha256"] for name, entry in listed.items()}
        return
    with pytest.raises(ModelFileError) as told:
        verify(whole)
    assert {line.strip().split(":")[0] for line in str(told.value).splitlines()[1:]} == wrong


def test_verify_names_all_changed_files(written):
    for name in ("weights.safetensors", "vocabulary.spm"):
        content = bytearray((written / name).read_bytes())
        content[-1] ^= 1
        (written / name).write_bytes(content)
    read_directory(written)  # does not look
    text = refusal(verify, written)
    assert "weights.safetensors: SHA-256 differs" in text and "vocabulary.spm: SHA-256 differs" in text
    (written / "vocabulary.spm").write_bytes(content + b"x")
    (written / "shortlist.bin").unlink()
    size = len(content)
    text = refusal(verify, written)
    assert f"vocabulary.spm: {size + 1} bytes, expected {size}" in text and "shortlist.bin: no such file" in text
    assert "config.json" not in text


def test_a_copy_is_the_same_model(written, tmp_path):
    shutil.copytree(written, tmp_path / "copy")
    assert verify(tmp_path / "copy") == verify(written)
