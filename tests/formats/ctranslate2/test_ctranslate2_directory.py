"""CTranslate2's directories: their vocabularies and SentencePiece models, settings of each version, and their texts."""

import json
import shutil

import numpy as np
import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.formats.any_directory import read_checkpoint
from cpunmt.formats.ctranslate2.ctranslate2_directory import PIECES
from quantize.checkpoints.float_checkpoint import float_tensors
from quantize.commands.cli import main as quantize
from tests.golden.ctranslate2_directories import FOLDER
from tests.sample_models.ctranslate2_writer import older, random_variables, stored_as, write_ctranslate2
from tests.sample_models.foreign_directories import ctranslate2, words_of
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.refusal import refusal
from tests.support.speeds import slow_after

SINGLES = [source for source, target in PIECES if source == target]


@pytest.fixture
def folder(tmp_path):
    return ctranslate2(tmp_path / "model").path


def change(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize("name", slow_after(2, SINGLES))
@pytest.mark.parametrize("above", [False, True])
def test_a_model_of_both_languages_is_found_by_its_name(name, above, folder):
    place = (folder.parent if above else folder) / name
    (folder / "sentencepiece.model").rename(place)
    found = read_checkpoint(folder)
    assert found.source_vocabulary[:2] == found.target_vocabulary[:2] == (place, folder / "shared_vocabulary.json")


def test_models_of_each_language_are_preferred(folder):
    shutil.copy(folder / "sentencepiece.model", folder.parent / "source.spm")
    for name in ("source.spm", "target.spm"):
        shutil.copy(folder / "sentencepiece.model", folder / name)
    found = read_checkpoint(folder)
    assert (found.source_vocabulary.pieces, found.target_vocabulary.pieces) == (
        folder / "source.spm",
        folder / "target.spm",
    )
    (folder / "target.spm").unlink()
    assert read_checkpoint(folder).source_vocabulary.pieces == folder / "sentencepiece.model"


def test_a_relative_path_has_a_folder_above(folder, monkeypatch):
    (folder / "sentencepiece.model").rename(folder.parent / "sentencepiece.model")
    monkeypatch.chdir(folder)
    assert Translator(".").translate("A dog.").text


def test_without_a_sentencepiece_model(folder):
    (folder / "sentencepiece.model").unlink()
    message = refusal(read_checkpoint, folder)
    assert (
        "no SentencePiece model, which CTranslate2 leaves to its callers; put source.spm and target.spm there"
        in message
    )
    assert "as the converted checkpoint has them; or one" in message and "sentencepiece.bpe.model" in message


def test_a_sentencepiece_model_of_another_vocabulary(folder):
    (folder / "sentencepiece.model").unlink()
    other = folder.parent / "spm.model"
    train_vocabulary(other, 180, user_defined_symbols=[f"x{i}" for i in range(100)])
    assert "are in shared_vocabulary.json; expected the SentencePiece model that" in refusal(
        lambda _: read_checkpoint(folder), other
    )


def test_words_need_no_sentencepiece_model(tmp_path):
    pieces = ["<blank>", "<s>", *words_of(TEXT)]
    variables, aliases = random_variables(source=len(pieces), pre_norm=True, enc=1, dec=1)
    folder = write_ctranslate2(tmp_path / "model", [pieces], variables, aliases)
    assert read_checkpoint(folder).source_vocabulary[:2] == (None, folder / "shared_vocabulary.json")
    assert Translator(folder).tokenize("A small dog") == ["A", "small", "dog"]
    (tmp_path / "bpe.model").write_text("#version: 0.2")
    message = refusal(lambda _: read_checkpoint(folder), tmp_path / "bpe.model")
    assert "subwords of subword-nmt are only read in packages of Argos, whose metadata.json names the lang" in message


def test_a_file_is_missing(folder):
    (folder / "shared_vocabulary.json").rename(folder / "source_vocabulary.json")
    assert "target_vocabulary.json is missing, or target_vocabulary.txt" in refusal(read_checkpoint, folder)
    (folder / "source_vocabulary.json").rename(folder / "source_1_vocabulary.json")
    assert "not supported: features of source words (source_1_vocabulary.json)" in refusal(read_checkpoint, folder)
    (folder / "source_1_vocabulary.json").unlink()
    assert "no vocabulary; expected shared_vocabulary.json, or source_vocabulary.json and" in refusal(
        read_checkpoint, folder
    )
    (folder / "model.bin").unlink()
    assert "model.bin is missing; expected the directory that CTranslate2's converter made" in refusal(
        read_checkpoint, folder
    )


def test_lists_of_pieces(folder):
    table = folder / "shared_vocabulary.json"
    pieces = json.loads(table.read_text("utf-8"))
    expected = read_checkpoint(folder)
    table.unlink()
    (folder / "shared_vocabulary.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    found = read_checkpoint(folder)
    assert found.config == expected.config and found.source_vocabulary.table == folder / "shared_vocabulary.txt"
    for side in ("source", "target"):
        (folder / f"{side}_vocabulary.json").write_text(json.dumps(pieces), "utf-8")
    assert read_checkpoint(folder).config.shared_vocabulary
    (folder / "shared_vocabulary.txt").unlink()
    assert not read_checkpoint(folder).config.shared_vocabulary
    pieces[2:4] = pieces[3:1:-1]
    (folder / "target_vocabulary.json").write_text(json.dumps(pieces), "utf-8")
    found = read_checkpoint(folder)  # the tables have the same rows in another order
    assert not found.config.shared_embedding
    rows = found.tensors["source_embedding"], found.tensors["target_embedding"]
    assert (rows[0][[2, 3]] == rows[1][[3, 2]]).all() and (rows[0][4:] == rows[1][4:]).all()


@pytest.mark.parametrize("kind", ["float32", "int8", "int16"])
def test_special_pieces_have_other_ids_in_the_source(tmp_path, kind):
    """As OpenNMT's models of two vocabularies, by whose rows of the source's table the expected ones are arranged."""
    words = list(words_of(TEXT))[2:]
    target = ["<blank>", "<s>", "</s>", *words, "<unk>"]
    expected = ["<blank>", "<s>", "</s>", *words[:-2], "!1", "!2", "<unk>"]
    variables, aliases = random_variables(
        source=len(expected), target=len(target), enc=1, dec=2, tied=False, seed=3, pre_norm=True
    )
    made = [("expected", expected)]
    made.append(("shorter", [*expected[:-3], "<unk>"]))
    made.append(("without", ["<unk>", "<blank>", *expected[3:-3]]))
    made.append(("longer", ["<unk>", *expected[:-1], "!3", "!4"]))
    texts = []
    table = variables["encoder/embeddings_0/weight"]
    for name, pieces in made:
        rows = [table[expected.index(piece)] if piece in expected else table[0] for piece in pieces]
        stored = stored_as(variables | {"encoder/embeddings_0/weight": np.array(rows)}, kind)
        folder = write_ctranslate2(tmp_path / name, [pieces, target], stored, aliases)
        texts.append([result.text for result in Translator(folder).translate([*TEXT, "unknown dogs"], beam_size=2)])
        assert quantize(["pack", str(folder), str(tmp_path / f"{name}.packed")]) == 0
        again = Translator(tmp_path / f"{name}.packed").translate([*TEXT, "unknown dogs"], beam_size=2)
        assert [result.text for result in again] == texts[-1]
    assert texts[1:] == texts[:1] * 3 and any(texts[0])
    change(tmp_path / "without", add_source_eos=True)
    assert "the vocabulary has no </s>" in refusal(read_checkpoint, tmp_path / "without")


def test_a_vocabulary_of_another_size(folder):
    table = folder / "shared_vocabulary.json"
    table.write_text(json.dumps([*json.loads(table.read_text("utf-8")), "more"]), "utf-8")
    message = refusal(lambda _: read_checkpoint(folder), folder / "model.bin")
    assert "encoder/embeddings_0/weight has shape [91, 32], expected [92, 32]" in message


SETTINGS = {
    "not supported: <s> before each source (add_source_bos)": {"add_source_bos": True},
    "not supported: AWQ weights, which are for GPUs (quantization_type)": {"quantization_type": 1},
    "not supported: another eos_token than </s> ('<end>')": {"eos_token": "<end>"},
    "not supported: another unk_token than <unk> ('?')": {"unk_token": "?"},
    "not supported: a first piece that each call chooses (decoder_start_token is null)": {"decoder_start_token": None},
    "decoder_start_token is '<x>', which the target vocabulary lacks": {"decoder_start_token": "<x>"},
    "add_source_eos is 1, expected true or false": {"add_source_eos": 1},
    "eos_token is None, expected a piece": {"eos_token": None},
    "decoder_start_token is 3, expected a piece or null": {"decoder_start_token": 3},
    "layer_norm_epsilon is '1e-5', expected a number or null": {"layer_norm_epsilon": "1e-5"},
    "layer_norm_epsilon is True, expected a number or null": {"layer_norm_epsilon": True},
    "layer_norm_epsilon is 2": {"layer_norm_epsilon": 2},
}


@pytest.mark.parametrize("message", SETTINGS)
def test_settings_that_are_not_supported(message, folder):
    change(folder, **SETTINGS[message])
    assert message in refusal(read_checkpoint, folder)


@pytest.mark.parametrize(
    ("fields", "source_end"),
    [
        ({}, False),  # as from OpenNMT
        ({"add_source_eos": True}, True),
        ({"decoder_start_token": "</s>"}, True),  # as of Hugging Face's models, whose tokenizers add </s>
    ],
)
def test_whether_sources_end_with_eos(fields, source_end, folder):
    change(folder, **fields)
    assert read_checkpoint(folder).config.source_end is source_end


def test_the_epsilon_of_norms(folder):
    assert read_checkpoint(folder).config.architecture.layer_norm_epsilon == 1e-5
    change(folder, layer_norm_epsilon=1e-6)
    assert read_checkpoint(folder).config.architecture.layer_norm_epsilon == 1e-6


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize(("eos", "start"), slow_after(1, [(False, "<s>"), (True, "<s>"), (False, "</s>")]))
def test_older_versions_are_the_same_model(version, eos, start, tmp_path):
    pieces = ["<unk>", "<blank>", "<s>", "</s>", *words_of(TEXT)][:60]
    pieces = list(dict.fromkeys(pieces))
    variables, aliases = random_variables(source=len(pieces), pre_norm=True, enc=1, dec=1, stored=0)
    config = {"add_source_eos": eos, "decoder_start_token": start}
    new = read_checkpoint(write_ctranslate2(tmp_path / "new", [pieces], variables, aliases, config=config))
    changed, revision = older(variables, version, eos, start)
    old = write_ctranslate2(tmp_path / "old", [pieces], changed, aliases, version, revision=revision)
    assert (old / "shared_vocabulary.txt").exists() and not (old / "config.json").exists()
    found = read_checkpoint(old)
    assert found.config == new.config and found.stored == new.stored == "float32"
    ours, theirs = float_tensors(found.tensors), float_tensors(new.tensors)
    assert ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"with_source_bos": np.int8(1)}, "not supported: <s> before each source (add_source_bos)"),
        ({"user_decoder_start_tokens": np.int8(1)}, "a first piece that each call chooses"),
        ({"eos_token": np.frombuffer(b"<end>", np.int8)}, "not supported: another eos_token than </s> ('<end>')"),
        ({"eos_token": np.float32(1)}, "eos_token is not the text of a piece"),
        ({"unk_token": np.zeros(257, np.int8)}, "unk_token is not the text of a piece"),
        ({"with_source_eos": np.zeros(2, np.int8)}, "with_source_eos has shape [2], expected one integer"),
    ],
)
def test_settings_of_older_versions(changes, message, tmp_path):
    pieces = ["<blank>", "<s>", *words_of(TEXT)]
    variables, aliases = random_variables(source=len(pieces), pre_norm=True, enc=1, dec=1)
    variables, revision = older(variables, 5)
    folder = write_ctranslate2(tmp_path / "m", [pieces], variables | changes, aliases, 5, revision=revision)
    assert message in refusal(lambda _: read_checkpoint(folder), folder / "model.bin")


def test_a_source_without_eos(folder):
    """A model of OpenNMT reads no </s>, whether the caller gives it or not."""
    translator = Translator(folder, compute_type="float32")
    pieces = translator.tokenize("A small dog runs.")
    options = {"max_decoding_length": 6, "return_attention": True, "return_scores": True}
    made, again = translator.translate_batch([pieces, [*pieces, "</s>"]], **options)
    assert (made.hypotheses, made.scores) == (again.hypotheses, again.scores)
    assert np.allclose(np.sum(made.attention[0], axis=1), 1, atol=1e-5)  # all of it on the pieces
    change(folder, add_source_eos=True)
    (other,) = Translator(folder, compute_type="float32").translate_batch([pieces], **options)
    assert other.scores != made.scores


def test_a_language_as_prefix(tmp_path):
    """M2M-100's way: pieces of languages before the source and as the first piece of the translation."""
    shape = FOLDER / "m2m"
    shutil.copy(shape / "sentencepiece.model", tmp_path)
    shutil.copytree(shape / "float32", tmp_path / "model")
    translator = Translator(tmp_path / "model", compute_type="float32")
    assert translator.config.source_end and translator.config.eos_id == 2
    source = ["__en__", *translator.tokenize("A small dog"), "</s>"]
    (made,) = translator.translate_batch([source], target_prefix=[["__de__"]], max_decoding_length=5)
    assert made.hypotheses[0][0] == "__de__"


def test_models_that_read_sources_in_different_ways_do_not_translate_together(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other")
    assert (
        Translator([folder, tmp_path / "other"]).translate("A dog.").text == Translator(folder).translate("A dog.").text
    )
    change(tmp_path / "other", add_source_eos=True)
    with pytest.raises(ModelFileError, match="only one of them reads sources with </s> at their end"):
        Translator([folder, tmp_path / "other"])
