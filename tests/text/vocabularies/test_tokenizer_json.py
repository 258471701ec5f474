"""tokenizer.json of transformers 5: the ids of its own library, and hostile files."""

import copy
import gzip
import json

import pytest

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies import tokenizer_json
from cpunmt.text.vocabularies.tokenizer_json import read_tokenizer_json
from cpunmt.text.vocabularies.vocabulary import load_processor, model_bytes
from tests.golden.tokenizer_json import RESULTS, SHAPES, sentences


@pytest.fixture(scope="module")
def told():
    return json.loads(gzip.decompress(RESULTS.read_bytes()))


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_are_cut_as_by_tokenizers(shape, told, tmp_path):
    """All 300, of unigrams and of merges; SentencePiece drops a blank at the end of a text, which tokenizers keeps."""
    path = tmp_path / "tokenizer.json"
    path.write_text(told[shape]["saved"], "utf-8")
    processor = load_processor(path)
    assert [processor.encode(text) for text in sentences()] == told[shape]["ids"]
    assert processor.id_to_piece(processor.eos_id()) == "</s>" and processor.is_control(processor.eos_id())
    assert processor.id_to_piece(processor.unk_id()) == "<unk>"
    assert processor.get_piece_size() == {"nllb": 129, "mbart": 129, "t5": 128}[shape]  # without the added ones
    assert load_processor(path.rename(tmp_path / "other.json")).encode("A dog") == processor.encode("A dog")
    (tmp_path / "model.spm").write_bytes(model_bytes(tmp_path / "other.json"))
    assert load_processor(tmp_path / "model.spm").encode("A dog") == processor.encode("A dog")


def model_of(fields, folder) -> bytes:
    (folder / "tokenizer.json").write_text(json.dumps(fields))
    return read_tokenizer_json(folder / "tokenizer.json").model


CHANGES = [
    (
        "mbart",
        ("model", "type"),
        "WordPiece",
        "not supported: a model of type 'WordPiece'; put the SentencePiece model",
    ),
    ("mbart", ("model",), [], "not supported: a model of type None"),
    ("mbart", ("model", "type"), {}, "not supported: a model of type {}"),
    ("mbart", ("model", "type"), ["Unigram"], r"not supported: a model of type \['Unigram'\]"),
    ("mbart", ("model", "byte_fallback"), True, "not supported: byte_fallback True"),
    ("nllb", ("model", "dropout"), 0.1, "not supported: dropout 0.1"),
    ("nllb", ("model", "end_of_word_suffix"), "</w>", "not supported: end_of_word_suffix '</w>'"),
    ("mbart", ("normalizer",), {"type": "Lowercase"}, "not supported: the normalizer 'Lowercase'"),
    ("mbart", ("normalizer",), 3, "not supported: the normalizer None"),
    ("mbart", ("normalizer",), {"type": "Replace", "pattern": {"String": "a"}}, "the normalizer 'Replace'"),
    ("t5", ("normalizer", "precompiled_charsmap"), "a", "precompiled_charsmap is damaged"),
    ("t5", ("normalizer", "precompiled_charsmap"), "\u00e9", "precompiled_charsmap is damaged"),
    ("mbart", ("pre_tokenizer",), {"type": "ByteLevel"}, "the pre-tokenizer 'ByteLevel', or its settings"),
    ("mbart", ("pre_tokenizer", "prepend_scheme"), "first", "the pre-tokenizer 'Metaspace', or its settings"),
    ("mbart", ("model", "vocab"), None, "vocab is not a list of pieces and their scores"),
    ("mbart", ("model", "vocab"), [["a", "b"]], "vocab is not a list of pieces and their scores"),
    ("mbart", ("model", "vocab"), [["a", 1e39]], "vocab is not a list of pieces"),
    ("mbart", ("model", "vocab"), {"a": 1}, "vocab is not a list of pieces"),
    ("mbart", ("model", "vocab"), [], "0 pieces of up to 0 characters, expected at most"),
    ("mbart", ("model", "vocab"), [["a" * 1025, 0]], "1 pieces of up to 1025 characters, expected at most .* of 1024"),
    ("nllb", ("model", "vocab"), {"a" * 65: 0}, "1 pieces of up to 65 characters, expected at most .* of 64"),
    ("nllb", ("model", "vocab"), ["a"], "vocab is not a table of pieces and ids from 0 on"),
    ("nllb", ("model", "vocab"), {"a": 1}, "vocab is not a table"),
    ("nllb", ("model", "vocab"), {}, "vocab is not a table"),
    ("nllb", ("model", "vocab"), {"a": 10**400}, "vocab is not a table"),
    ("nllb", ("model", "vocab"), {"a": "0"}, "vocab is not a table"),
    ("nllb", ("model", "merges"), [], "not supported: 0 merges that are not those of SentencePiece"),
    ("nllb", ("model", "merges"), None, "not supported: 0 merges"),
]


@pytest.mark.parametrize(("shape", "place", "value", "expected"), CHANGES)
def test_other_tokenizers_are_refused(shape, place, value, expected, told, tmp_path):
    fields = json.loads(told[shape]["saved"])
    inner = fields
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(ModelFileError, match=f"^{tmp_path}/tokenizer.json: vocabulary: .*{expected}") as raised:
        model_of(fields, tmp_path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_older_words_of_the_same_settings(told, tmp_path):
    """Until April 2024 the mark of a word was asked for otherwise."""
    fields = json.loads(told["mbart"]["saved"])
    expected = model_of(fields, tmp_path)
    mark = {"type": "Metaspace", "replacement": "\u2581"}
    for older in (
        {},
        {"add_prefix_space": True, "str_rep": "\u2581"},
        {"add_prefix_space": True, "prepend_scheme": "always"},
    ):
        assert model_of(fields | {"pre_tokenizer": mark | older}, tmp_path) == expected
    for other in ({"add_prefix_space": False}, {"split": False}, {"replacement": "_"}, {"new": 1}):
        with pytest.raises(ModelFileError, match="the pre-tokenizer 'Metaspace', or its settings"):
            model_of(fields | {"pre_tokenizer": mark | other}, tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"x" * (65 << 20), None])
def test_broken_files(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelFileError, match=f"^{path}[^\n]*$"):
        read_tokenizer_json(path)


def test_the_last_file_is_kept_until_it_changes(told, tmp_path):
    fields = json.loads(told["mbart"]["saved"])
    first = model_of(fields, tmp_path)
    assert read_tokenizer_json(tmp_path / "tokenizer.json").model is first
    fields["model"]["vocab"][-1][1] = -1.5
    fields["model"]["vocab"][9][1] = -1.5
    assert model_of(fields, tmp_path) != first


def test_pieces_of_merges_have_few_characters_in_all(told, tmp_path, monkeypatch):
    """Each of their cuts is looked up."""
    fields = json.loads(told["nllb"]["saved"])
    count = sum(map(len, fields["model"]["vocab"]))
    monkeypatch.setattr(tokenizer_json, "_MOST_MERGED", count)
    model_of(fields, tmp_path)
    monkeypatch.setattr(tokenizer_json, "_MOST_MERGED", count - 1)
    with pytest.raises(ModelFileError, match=f"not supported: merges of pieces with {count} characters in all, over "):
        model_of({**fields, "more": 0}, tmp_path)  # not the last one, which is kept


def test_merges_are_those_of_sentencepiece(told, tmp_path):
    fields = json.loads(told["nllb"]["saved"])
    made = model_of(fields, tmp_path)
    old = copy.deepcopy(fields)
    old["model"]["merges"] = [" ".join(pair) for pair in fields["model"]["merges"]]  # as older versions write them
    assert model_of(old, tmp_path) == made
    for added in (3, [3], [{"content": 3, "special": True}], None):  # all pieces are of texts then
        assert len(model_of(fields | {"added_tokens": added}, tmp_path)) >= len(made) - 8
    merges = fields["model"]["merges"]
    for wrong in (merges[1:] + merges[:1], [*merges[:-1], ["a", "\u00e9\u00e9"]], merges[:-1], [*merges[:-1], [1, 2]]):
        fields["model"]["merges"] = wrong
        with pytest.raises(ModelFileError, match="merges that are not those of SentencePiece"):
            model_of(fields, tmp_path)
