"""Reading models of many languages from Hugging Face's files: what is read, and what is refused."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import ModelFileError, Translator
from cpunmt.commands.cli import main
from cpunmt.commands.models import converted, describe
from cpunmt.formats.any_directory import kind_of, read_checkpoint, read_metadata
from cpunmt.formats.foreign_model import open_vocabularies
from cpunmt.formats.huggingface import many_languages
from tests.sample_models.huggingface_model import safetensors_bytes
from tests.sample_models.many_languages_model import SHAPES, put_tokenizer_json, tensors_of, write_model
from tests.sample_models.torch_writer import torch_bytes

PAIR = {"source_lang": "en", "target_lang": "de"}
SENTENCE = "A small dog runs."


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name in SHAPES:
        write_model(root / name, name)
    return {name: root / name for name in SHAPES}


@pytest.fixture
def copied(directories, tmp_path):
    """Returns copied(shape) -> a directory that a test may change."""

    def copy(name):
        return shutil.copytree(directories[name], tmp_path / name)

    return copy


def changed(folder, file="config.json", **fields):
    path = folder / file
    found = json.loads(path.read_text()) if path.exists() else {}
    found |= fields
    path.write_text(json.dumps({name: value for name, value in found.items() if value is not ...}))
    return folder


def refusal(folder) -> str:
    with pytest.raises(ModelFileError) as caught:
        Translator(folder)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", SHAPES)
def test_a_directory(directories, name):
    shape, found = SHAPES[name], read_checkpoint(directories[name])
    assert kind_of(directories[name]) == "huggingface" and found.stored == "float32"
    assert found.config.languages == tuple(shape.languages)
    tag = {"source": "source", "target": "target", "": "source"}[shape.begin]
    placed = found.config.source_tag, found.config.source_tag_last, found.config.target_tag
    assert placed == (tag, bool(shape.finish), shape.prompt)
    source, target = open_vocabularies(found)
    assert source is target and source.size == found.config.vocab_size
    assert source.pieces([0, 1, 2, 3]) == ["<s>", "<pad>", "</s>", "<unk>"]
    assert read_metadata(directories[name]) == found.metadata
    described = describe(directories[name], False)
    assert described["model family"] == {"m2m": "M2M-100", "small": "SMaLL-100", "mbart": "mBART-50"}.get(
        name, "NLLB-200"
    )
    assert described["languages"].startswith(f"{len(shape.languages)}: ")


@pytest.mark.parametrize("name", ["nllb", "mbart"])
def test_tokenizer_json_in_place_of_the_sentencepiece_model(directories, copied, name, tmp_path):
    folder = copied(name)
    put_tokenizer_json(folder / many_languages.PIECES, ["<s>", "<pad>", "</s>", "<unk>"], SHAPES[name].languages)
    converted(folder, tmp_path / "out", None, "dynamic", False)
    expected = Translator(directories[name]).translate(SENTENCE, **PAIR)
    assert all(Translator(path).translate(SENTENCE, **PAIR) == expected for path in (folder, tmp_path / "out"))
    fields = json.loads((folder / "tokenizer.json").read_text())
    fields["added_tokens"][-1]["id"] += 1
    changed(folder, "tokenizer.json", added_tokens=fields["added_tokens"])
    assert "the added piece" in refusal(folder)
    (folder / "tokenizer.json").unlink()
    assert "sentencepiece.bpe.model is missing, and so is tokenizer.json; expected the Sentence" in refusal(folder)


@pytest.mark.parametrize("kind", ["F16", "BF16", "F64"])
def test_types_of_weights(directories, copied, kind):
    folder = copied("mbart")
    fields = json.loads((folder / "config.json").read_text())
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors_of(fields), kind))
    made, expected = (Translator(path, compute_type="float32").score("A dog.", "Ein Hund.", **PAIR)
                      for path in (folder, directories["mbart"]))  # fmt: skip
    assert abs(made.log_prob - expected.log_prob) < {"F16": 0.05, "BF16": 1.0, "F64": 1e-6}[kind]


def test_pytorch_files_and_names_of_the_same_table(directories, copied):
    folder = copied("m2m")
    fields = json.loads((folder / "config.json").read_text())
    tensors = tensors_of(fields)
    shared = tensors["model.shared.weight"]
    tensors |= {f"model.{side}.embed_tokens.weight": shared for side in ("encoder", "decoder")}
    tensors["lm_head.weight"] = shared
    rows = np.arange(20)[:, None] * np.exp(-np.log(10000) * np.arange(16) / 15)
    tensors["model.encoder.embed_positions.weights"] = np.hstack([np.sin(rows), np.cos(rows)]).astype(np.float32)
    tensors["model.encoder.embed_positions.weights"][1] = 0  # of <pad>
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(torch_bytes(tensors, "F32", "zip"))
    expected = Translator(directories["m2m"]).translate(SENTENCE, **PAIR)
    assert Translator(folder).translate(SENTENCE, **PAIR) == expected
    tensors["model.encoder.embed_positions.weights"][4] += 1
    (folder / "pytorch_model.bin").write_bytes(torch_bytes(tensors, "F32", "zip"))
    assert "model.encoder.embed_positions.weights holds trained positions" in refusal(folder)


def test_search_settings(copied):
    folder = changed(copied("nllb"), "generation_config.json", num_beams=3, max_length=200, length_penalty=0.5)
    options = Translator(folder).options
    assert (options.beam_size, options.max_length, options.length_penalty) == (3, 62, 0.5)  # 64 positions
    folder = changed(folder, "generation_config.json", max_length=40, bad_words_ids=[[3], [9, 10]])
    config = read_checkpoint(folder).config
    assert config.max_length == 38 and len(config.suppress_sequences) == 1


def test_a_model_of_one_target_language(copied):
    folder = copied("mbart")
    table = {piece: i for i, piece in enumerate(read_checkpoint(folder).source_vocabulary.ids)}
    changed(folder, "generation_config.json", forced_bos_token_id=table["fr_XX"])
    model = Translator(folder)
    assert model.options.target_lang == "fr_XX" and model.target_language == "fr"
    expected = model.translate(SENTENCE, source_lang="en", target_lang="fr")
    assert model.translate(SENTENCE, source_lang="en") == expected
    assert model.metadata["target_language"] == "fr" and read_metadata(folder) == model.metadata
    changed(folder, "generation_config.json", forced_bos_token_id=7)
    assert "forced_bos_token_id is 7, expected the id of a language's piece" in refusal(folder)


@pytest.mark.parametrize(
    ("width", "fields", "problem"),
    [
        (0, {}, "vocab_size is 4194304, but the embedding has shape (4194304, 0)"),
        (0, {"d_model": 0}, "pieces, expected at most 10000 rows without one"),
        (1, {"d_model": 1}, "pieces, expected at most 10000 rows without one"),
    ],
)
def test_rows_without_pieces_are_limited(copied, monkeypatch, width, fields, problem):
    """A name for each would take a gigabyte, of a file of a few megabytes."""
    folder = changed(copied("m2m"), vocab_size=1 << 22, **fields)
    tensors = tensors_of(json.loads((copied("nllb") / "config.json").read_text()))
    tensors["model.shared.weight"] = np.zeros((1 << 22, width), np.float32)
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, "F16"))
    monkeypatch.setattr(many_languages, "_name_rows", None)  # it is not reached
    assert problem in refusal(folder)


def test_tables_that_are_one_number(copied):
    folder = copied("m2m")
    tensors = tensors_of(json.loads((folder / "config.json").read_text()))
    tensors |= dict.fromkeys(("model.shared.weight", "model.encoder.embed_tokens.weight"), np.float32(1).reshape(()))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, "F32"))
    assert "the embedding has shape ()" in refusal(folder)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"languages": ["__en__", "__de__"]}, "lacks the piece '__en__', which names a language by config.json"),
        ({"target_lang": "zz"}, "target_lang is 'zz', expected one of languages"),
        ({"languages": []}, "source_tag or target_tag without languages"),
        ({"shared_vocabulary": False}, "languages of two vocabularies, expected shared_vocabulary"),
    ],
)
def test_packed_models_that_are_refused(directories, tmp_path, fields, problem):
    packed = tmp_path / "packed"
    assert main(["convert", str(directories["nllb"]), str(packed)]) == 0
    path = packed / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    assert problem in refusal(packed)


def test_other_ways_to_say_the_same(copied):
    """A list of one id, null for the default, and the class of any tokenizer."""
    for name in ("m2m", "nllb"):
        folder = copied(name)
        expected = Translator(folder).translate(SENTENCE, **PAIR)
        changed(folder, decoder_start_token_id=None, forced_eos_token_id=None, eos_token_id=[2])
        changed(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
        assert Translator(folder).translate(SENTENCE, **PAIR) == expected


def test_languages_that_were_added(copied):
    folder = copied("nllb")
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    changed(folder, "added_tokens.json", **{"tlh_Latn": size - 2})
    model = Translator(folder)
    assert model.config.languages[-1] == "tlh_Latn"
    assert model.translate(SENTENCE, source_lang="en", target_lang="tlh") != model.translate(SENTENCE, **PAIR)
    (folder / "added_tokens.json").unlink()
    listed = {str(size - 1): {"content": "qya_Tengwar"}, str(size - 2): {"content": "tlh_Latn"}}
    changed(folder, "tokenizer_config.json", added_tokens_decoder=listed)
    assert Translator(folder).config.languages[-1] == "tlh_Latn"


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("m2m", {"activation_function": "tanh"}, "activation_function is 'tanh', supported is 'relu' or"),
        ("m2m", {"d_model": 0}, "d_model is 0, expected a number from 1"),
        ("m2m", {"d_model": ...}, "d_model is None, expected"),
        ("m2m", {"vocab_size": 203}, "vocab_size is 203, but the embedding has "),
        ("m2m", {"decoder_start_token_id": 5}, "decoder_start_token_id is 5, expected 2, the id of </s>"),
        ("mbart", {"decoder_start_token_id": ...}, "decoder_start_token_id is None, expected 2"),
        ("m2m", {"eos_token_id": [2, 0]}, "eos_token_id is [2, 0], expected 2"),
        ("m2m", {"eos_token_id": 0}, "eos_token_id is 0, expected 2"),
        ("m2m", {"max_length": 1}, "max_length is 1, expected a number from 3"),
        ("m2m", {"max_new_tokens": 1}, "max_new_tokens is 1, expected a number from 2"),
        ("m2m", {"bad_words_ids": [[5, 2]]}, "bad_words_ids has [5, 2], and 2 ends a translation; remove the"),
        ("m2m", {"stop_strings": ["."]}, "stop_strings is ['.'], supported is None or []; remove it"),
        ("m2m", {"do_sample": True}, "do_sample is True, supported is False or None; remove it"),
        ("m2m", {"max_position_embeddings": 1 << 20}, "max_position_embeddings is 1048576, expected 8 to 65536"),
        ("m2m", {"encoder_layers": 1}, "model.encoder.layers.1.fc1.bias is unexpected"),
        ("m2m", {"encoder_layers": 3}, "model.encoder.layers.2.fc1.bias is missing"),
        ("m2m", {"scale_embedding": 1}, "scale_embedding is 1, expected true or false"),
        ("m2m", {"num_beams": 1000}, "beam_size is 1000, expected"),
        ("m2m", {"d_model": 1 << 22}, "embedding has shape|has shape|expected"),
    ],
)
def test_configs_that_are_refused(copied, name, fields, problem):
    said = refusal(changed(copied(name), **fields))
    assert any(one in said for one in problem.split("|")), said


@pytest.mark.parametrize(
    ("name", "file", "fields", "problem"),
    [
        (
            "mbart",
            "tokenizer_config.json",
            {"tokenizer_class": "MBartTokenizer"},
            "'MBartTokenizer' of mBART, whose",
        ),
        ("nllb", "added_tokens.json", {"ace_Arab": 3}, "the added piece 'ace_Arab' has id 3, expected "),
        ("nllb", "added_tokens.json", {"new": 3}, "two pieces have one id"),
        ("nllb", "added_tokens.json", {"new": "3"}, "the list of added pieces has 'new': '3', expected a piece and"),
        ("nllb", "added_tokens.json", {"new": -1}, "has 'new': -1, expected"),
        ("nllb", "added_tokens.json", {"new": 1 << 21}, "but the tokenizer has ids up to 2097152"),
        ("nllb", "tokenizer_config.json", {"added_tokens_decoder": {"x": {"content": "y"}}}, "has 'y': 'x', expected"),
        ("nllb", "tokenizer_config.json", {"added_tokens_decoder": {"7": 5}}, "has None: 7, expected"),
        ("m2m", "vocab.json", {"</s>": ...}, "two pieces have one id"),
        ("m2m", "vocab.json", {"dog": 10**6}, "the piece 'dog' has id 1000000, expected"),
    ],
)
def test_tokenizers_that_are_refused(copied, name, file, fields, problem):
    assert problem in refusal(changed(copied(name), file, **fields))


@pytest.mark.parametrize("name", ["m2m", "nllb"])
@pytest.mark.parametrize("file", ["sentencepiece.bpe.model", "vocab.json", "model.safetensors"])
def test_files_that_are_missing(copied, name, file):
    folder = copied(name)
    if (folder / file).exists():
        (folder / file).unlink()
        assert file in refusal(folder)


FILES = ["config.json", "tokenizer_config.json", "vocab.json", "sentencepiece.bpe.model", "model.safetensors"]


@given(st.sampled_from(["m2m", "nllb", "mbart"]), st.sampled_from(FILES), st.data())
@settings(deadline=None, max_examples=40)
def test_damaged_files_are_one_error_or_a_model(directories, tmp_path_factory, name, file, data):
    folder = tmp_path_factory.mktemp("damaged") / name
    shutil.copytree(directories[name], folder)
    if not (folder / file).exists():
        return
    content = bytearray((folder / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, min(len(content), 5000) - 1), "place")
        content[place] = data.draw(st.integers(0, 255), "byte")
    if data.draw(st.booleans(), "cut"):
        del content[data.draw(st.integers(0, len(content)), "end") :]
    (folder / file).write_bytes(bytes(content))
    try:
        model = Translator(folder)
        model.translate(SENTENCE, max_length=5, **PAIR)
    except (ModelFileError, ValueError) as error:
        assert "\n" not in str(error) and len(str(error)) < 20_000
    finally:
        shutil.rmtree(folder)
