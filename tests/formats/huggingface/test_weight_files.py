"""Weights of every form are the same model: one file or shards, of safetensors or of torch.save."""

import json

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.formats.any_directory import kind_of, read_model
from cpunmt.formats.huggingface.weight_files import read_weights
from tests.golden.torch_files import CONTAINERS, FOLDER, SMALL, model
from tests.sample_models.huggingface_model import (
    FIELDS,
    SHAPES,
    random_tensors,
    safetensors_bytes,
    write_huggingface,
    write_vocabulary,
)
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.torch_writer import torch_bytes
from tests.support.refusal import refusal

WRITERS = {
    "model.safetensors": safetensors_bytes,
    "pytorch_model.bin": torch_bytes,
    "pytorch_model.bin, legacy": lambda tensors, kind: torch_bytes(tensors, kind, "legacy"),
}


def write_shards(folder, name, tensors, kind="F32", **places):
    """Writes an index and three files; returns the map of the index, with `places` changed."""
    stem, _, ending = name.partition(".")
    names, found = list(tensors), {}
    for i in range(3):
        file = f"{stem}-0000{i + 1}-of-00003.{ending}"
        part = {one: tensors[one] for one in names[i::3]}
        (folder / file).write_bytes(WRITERS[name](part, kind))
        found |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": found | places}
    (folder / f"{name}.index.json").write_text(json.dumps(index))
    return found


@pytest.fixture
def folder(tmp_path):
    write_huggingface(tmp_path, "trained on")
    write_vocabulary(tmp_path, train_vocabulary)
    return tmp_path


def same(ours, theirs):
    assert ours.config == theirs.config and ours.stored == theirs.stored
    assert ours.tensors.keys() == theirs.tensors.keys()
    for name, array in theirs.tensors.items():
        assert ours.tensors[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("form", list(WRITERS)[1:])
def test_torch_files_are_the_same_model(form, kind, folder):
    tensors = random_tensors(FIELDS, 0, trained_on=True)
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, kind))
    expected, translator = read_model(folder), Translator(folder)
    texts = [result.text for result in translator.translate(TEXT[:4])]
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(WRITERS[form](tensors, kind))
    same(read_model(folder), expected)
    assert [result.text for result in Translator(folder).translate(TEXT[:4])] == texts


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_directory_with_a_file_that_torch_wrote(container, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    write_vocabulary(tmp_path, train_vocabulary, SMALL["vocab_size"])
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(model(), "F16"))
    expected, texts = read_model(tmp_path), Translator(tmp_path).translate(TEXT[:4])
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes((FOLDER / f"marian.{container}.bin").read_bytes())
    found = read_model(tmp_path)
    same(found, expected)
    assert found.config.architecture.start_vector and found.stored == "float16"
    assert [r.text for r in Translator(tmp_path).translate(TEXT[:4])] == [r.text for r in texts]


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_shards(name, folder):
    expected = read_model(folder)
    (folder / "model.safetensors").unlink()
    write_shards(folder, name, random_tensors(FIELDS, 0, trained_on=True))
    found = read_model(folder)
    same(found, expected)
    assert found.weights == folder / f"{name}.index.json"
    assert read_model(folder / f"{name}.index.json").weights == found.weights
    (folder / "config.json").rename(folder / "config")
    assert kind_of(folder) == "huggingface"


def test_float64(folder):
    expected = read_model(folder)
    tensors = random_tensors(FIELDS, 0, trained_on=True)
    content = safetensors_bytes({name: array.astype(np.float64) for name, array in tensors.items()}, "F64")
    (folder / "model.safetensors").write_bytes(content)
    found = read_model(folder)
    same(found._replace(stored="float32"), expected)
    assert found.stored == "float64"


@pytest.mark.parametrize(
    ("weight_map", "told"),
    [
        (None, "weight_map is None, expected names of tensors and files"),
        ({}, "weight_map is {}, expected"),
        ([1], "weight_map is [1], expected"),
        ({"a": 3}, "weight_map names the file 3, expected one *.bin of the same directory"),
        ({"a": "../pytorch_model.bin"}, "weight_map names the file '../pytorch_model.bin', expected one *.bin"),
        ({"a": "/etc/x.bin"}, "weight_map names the file '/etc/x.bin'"),
        ({"a": ".x.bin"}, "weight_map names the file '.x.bin'"),
        ({"a": "model.safetensors"}, "weight_map names the file 'model.safetensors', expected one *.bin"),
        ({str(i): f"{i}.bin" for i in range(1001)}, "weight_map names over 1000 files"),
    ],
)
def test_an_index_names_files_beside_it(weight_map, told, tmp_path):
    path = tmp_path / "pytorch_model.bin.index.json"
    path.write_text(json.dumps({"weight_map": weight_map}))
    assert told in refusal(read_weights, path)


def test_an_index_and_its_files_list_the_same(tmp_path):
    path = tmp_path / "pytorch_model.bin.index.json"
    tensors = {name: np.ones((2, 2)) for name in "abcdef"}
    places = write_shards(tmp_path, "pytorch_model.bin", tensors)
    assert set(read_weights(path)) == set(tensors)
    write_shards(tmp_path, "pytorch_model.bin", tensors, a=places["b"], g=places["c"])
    message = refusal(read_weights, path)
    for told in (f"a is not in {places['b']}", f"a of {places['a']} is not listed", f"g is not in {places['c']}"):
        assert told in message
    (tmp_path / places["c"]).unlink()
    with pytest.raises(Exception, match=f"{places['c']}: tensor file not found"):
        read_weights(path)


def test_models_of_two_sizes(tmp_path):
    """Each side has its own table; the decoder begins with the row that config.json names."""
    for start in (96, 0, 111):
        fields, tensors = write_huggingface(tmp_path, "apart, of two sizes", decoder_start_token_id=start)
        write_vocabulary(tmp_path, train_vocabulary, separate=True, target_size=fields["decoder_vocab_size"])
        found = read_model(tmp_path, "float32")
        assert (found.config.source_size, found.config.vocab_size) == (96, 112)
        assert np.array_equal(found.tensors["start"], tensors["model.decoder.embed_tokens.weight"][start])
        assert Translator(tmp_path).translate(TEXT[0]).text is not None
    write_huggingface(tmp_path, "apart, of two sizes", decoder_start_token_id=112)  # a row of zeros
    assert not read_model(tmp_path).config.architecture.start_vector


def test_the_settings_of_a_model_are_its_defaults(tmp_path):
    """And options of a call replace them."""
    fields, _ = write_huggingface(tmp_path, "shared", num_beams=2, length_penalty=0.5, max_length=60)
    table = write_vocabulary(tmp_path, train_vocabulary)
    plain = Translator(tmp_path)
    assert (plain.options.beam_size, plain.options.length_penalty, plain.options.max_length) == (2, 0.5, 59)
    said = plain.translate(TEXT[0], split="none", max_length_factor=50).pieces
    assert len(said) == 59
    barred = next(piece for piece in said if piece in table and table[piece] > 1)
    changed = fields | {"bad_words_ids": [[96], [table[barred]]], "no_repeat_ngram_size": 2}
    (tmp_path / "config.json").write_text(json.dumps(changed))
    translator = Translator(tmp_path)
    assert translator.options.suppress_sequences == ((barred,),) and translator.options.no_repeat_ngram_size == 2
    assert translator.config.suppress_sequences == ((barred,),)
    assert barred not in translator.translate(TEXT[0], split="none", max_length_factor=50).pieces
    options = {"split": "none", "max_length_factor": 50, "suppress_sequences": [], "no_repeat_ngram_size": 0}
    free = translator.translate(TEXT[0], **options).pieces
    assert free == said
    assert len(translator.translate(TEXT[0], split="none", max_length=3).pieces) <= 3


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "trained" in shape])
def test_start_vectors_are_packed(shape, tmp_path):
    """A converted model translates as its origin."""
    from cpunmt.commands.cli import main

    source = tmp_path / "model"
    write_huggingface(source, shape, 2)
    write_vocabulary(source, train_vocabulary, separate="apart" in shape)
    assert main(["convert", str(source), str(tmp_path / "packed")]) in (None, 0)
    texts = [[r.text for r in Translator(path).translate(TEXT)] for path in (source, tmp_path / "packed")]
    assert texts[0] == texts[1]
    packed = json.loads((tmp_path / "packed" / "config.json").read_text())
    assert packed["architecture"]["start_vector"] is True
