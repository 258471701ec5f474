"""Vocabularies of OPUS-MT: SentencePiece for the pieces, a table for the ids. See also test_huggingface_golden."""

import json

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.huggingface_model import write_vocabulary
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

SIZE = 96  # without <pad>
any_text = st.text(st.characters(codec=None, exclude_categories=()))  # surrogates and NUL included


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("opus")
    write_vocabulary(path, train_vocabulary)
    return path


@pytest.fixture(scope="module")
def vocabulary(folder):
    return PieceVocabulary(folder / "source.spm", folder / "vocab.json", SIZE)


def test_it_has_all_that_a_vocabulary_has(vocabulary):
    wanted = {name for name in dir(Vocabulary) if name[0] != "_"} | {"size", "eos_id", "unk_id", "path"}
    assert wanted <= set(dir(vocabulary))
    assert (vocabulary.size, vocabulary.eos_id, vocabulary.unk_id) == (SIZE, 0, 1)
    assert vocabulary.path.name == "vocab.json" and vocabulary.languages == (">>fra<<",)


def test_ids_are_those_of_the_table(vocabulary, folder):
    table = json.loads((folder / "vocab.json").read_text())
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    seen = 0
    for line in TEXT:
        pieces = model.encode(line, out_type=str)
        assert vocabulary.encode(line) == [*(table.get(piece, 1) for piece in pieces), 0]
        seen += sum(piece in table for piece in pieces)
        assert vocabulary.ids(pieces) == vocabulary.encode(line)[:-1]
    assert seen > 200  # and not all unknown
    assert vocabulary.ids(["<pad>", "nothing", "\ud800"]) == [1, 1, 1]  # ids beyond the model are unknown


def test_text_comes_back(vocabulary, folder):
    for line in TEXT:
        ids = vocabulary.encode(line)
        if 1 not in ids:
            assert vocabulary.decode(ids) == vocabulary.decode(np.array([*ids, 5])) == line
    assert vocabulary.decode([]) == vocabulary.decode([0]) == vocabulary.decode([1, 1]) == ""
    assert vocabulary.pieces([0, 1, SIZE - 1]) == ["</s>", "<unk>", f"spare{SIZE - 1}"]


def test_languages(vocabulary, folder):
    fra = json.loads((folder / "vocab.json").read_text())[">>fra<<"]
    plain = vocabulary.encode("A small dog")
    for text in (">>fra<< A small dog", ">>fra<<A small dog", "  >>fra<<   A small dog"):
        assert vocabulary.encode(text) == [fra, *plain]
    assert vocabulary.encode_batch([">>fra<<", ">>fra<<  ", "", "  "]) == [[0]] * 4
    assert fra not in vocabulary.encode(">>deu<< A dog")
    assert fra not in vocabulary.encode("A dog >>fra<<")
    assert vocabulary.encode(">>deu<< A dog")[-1] == 0
    ends = {">>fra<< A": 8, "  >>fra<<  A": 11, "A >>fra<<": 0, ">>deu<< A": 0, ">>fra": 0, "": 0}
    assert {text: vocabulary.language_end(text) for text in ends} == ends


def test_pieces_that_resemble_languages(folder):
    found = made(folder, {"</s>": 0, "<unk>": 1, ">": 2, ">><<": 3, ">>b": 4, "c<<": 5})
    assert found.languages == (">><<",)
    assert [found.language_end(text) for text in (">><< a", ">>b a")] == [5, 0]


@given(any_text)
@settings(deadline=None, max_examples=300)
def test_any_text_has_ids(vocabulary, text):
    ids = vocabulary.encode(text)
    assert ids[-1] == 0 and 0 not in ids[:-1] and all(0 <= id_ < SIZE for id_ in ids)
    vocabulary.decode(ids)


@given(st.lists(st.integers(0, SIZE - 1), max_size=30))
@settings(deadline=None)
def test_any_ids_have_a_text(vocabulary, ids):
    text = vocabulary.decode(ids)
    assert text == text.strip() and "▁" not in text and "</s>" not in text and "<unk>" not in text
    assert vocabulary.decode(np.array(ids, np.int32)) == text


@pytest.mark.parametrize("wrong", [[-1], [SIZE], [2, SIZE]])
def test_ids_that_are_none(vocabulary, wrong):
    for call in (vocabulary.decode, vocabulary.pieces):
        with pytest.raises(ValueError, match=f"expected 0 to {SIZE - 1}"):
            call(wrong)
    with pytest.raises(TypeError):
        vocabulary.encode(b"bytes")


def made(folder, table, size=None):
    path = folder / "other.json"
    path.write_text(json.dumps(table))
    return PieceVocabulary(folder / "target.spm", path, size)


def test_ids_without_a_piece_and_strange_pieces(folder):
    found = made(folder, {"</s>": 0, "<unk>": 1, "▁a": 7, "\ud800": 5, "<pad>": 8}, 8)
    assert found.size == 8 and found.pieces([2, 5, 7]) == ["", "\ufffd", "▁a"]
    assert found.decode([2, 7, 5]) == "a\ufffd"
    assert made(folder, {"</s>": 2, "<unk>": 0}).eos_id == 2


def test_a_table_as_it_is_packed(folder):
    assert made(folder, {"<unk>": 1, "</s>": 0}).to_json() == b'[\n"</s>",\n"<unk>"\n]'
    for table in ({"</s>": 0, "<unk>": 1, "a": 3}, {"eos": 0, "UNK": 1}):  # an id has no piece, or two
        assert json.loads(made(folder, table).to_json()) == {**table, "</s>": 0}


def test_names_of_the_past(folder):
    """Nematus called </s> "eos" and <unk> "UNK", or omitted their ids."""
    for table in ({"eos": 0, "UNK": 1, "a": 2}, {"a": 2}, {"": 0, "UNK": 1, "a": 2}):
        found = made(folder, table)
        assert (found.eos_id, found.unk_id, found.size) == (0, 1, 3)


@pytest.mark.parametrize(
    ("table", "size", "told"),
    [
        ({"a": 0, "b": 1}, None, "the vocabulary has no </s>"),
        ({"</s>": 0, "a": 1}, None, "the vocabulary has no <unk>"),
        ({"</s>": 0, "<unk>": 5, "a": 1}, 3, "</s> has id 0 and <unk> 5, but there are 2 pieces"),
        ({"</s>": 0, "a": 1, "<unk>": 2}, 2, "</s> has id 0 and <unk> 2, but there are 2 pieces"),
        ({}, None, "there are 0 pieces"),
    ],
)
def test_tables_without_what_every_model_needs(folder, table, size, told):
    with pytest.raises(ModelFileError) as caught:
        made(folder, table, size)
    assert told in str(caught.value) and "other.json" in str(caught.value)


def test_broken_files_are_refused(folder, tmp_path):
    broken = tmp_path / "source.spm"
    broken.write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="not a SentencePiece model"):
        PieceVocabulary(broken, folder / "vocab.json")
    with pytest.raises(ModelFileError, match="vocabulary not found"):
        PieceVocabulary(folder / "source.spm", tmp_path / "vocab.json")
