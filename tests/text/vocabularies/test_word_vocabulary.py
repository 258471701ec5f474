"""Word vocabularies: a table, and text cut at spaces."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_spans import target_spans
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from cpunmt.text.vocabularies.word_vocabulary import WordVocabulary

TABLE = """\
</s>: 0
<unk>: 1
the: 2
"yes": 3
play@@: 4
ing: 5
'null': 6
"\\u00fcber": 7
.: 8
1e3: 9
\u2581: 11
"""
any_text = st.text(st.characters(codec=None, exclude_categories=()))  # surrogates and NUL included


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "vocab.yml"
    path.write_text(TABLE, "utf-8")
    return WordVocabulary(path)


def test_it_has_all_that_a_vocabulary_has(vocabulary):
    assert {name for name in dir(Vocabulary) if name[0] != "_"} | {"size", "path"} <= set(dir(vocabulary))
    assert (vocabulary.size, vocabulary.eos_id, vocabulary.unk_id, vocabulary.mark) == (12, 0, 1, "")


def test_words_are_what_stands_between_spaces(vocabulary):
    """Subwords count as words, and are not joined, as in Marian."""
    text = "  the play@@ ing  yes  null \u00fcber\t1e3\nother ."
    assert vocabulary.encode(text) == [2, 4, 5, 3, 6, 7, 9, 1, 8, 0]
    assert vocabulary.surfaces(text)[:3] == ["the", "play@@", "ing"] and vocabulary.surfaces(text)[-2] == "other"
    assert [text[begin:end] for begin, end in vocabulary.spans(text)] == vocabulary.surfaces(text)
    assert vocabulary.encode("the\u00a0yes") == [1, 0] != vocabulary.encode("the yes")
    assert vocabulary.encode("the </s> yes <unk>") == [2, 1, 3, 1, 0]  # </s> within a text does not end it
    assert vocabulary.encode_batch(["", " ", "\n", "\u3000 \u00a0", "the"]) == [[0]] * 4 + [[2, 0]]


def test_text_is_words_with_spaces_between_them(vocabulary):
    assert vocabulary.decode([2, 4, 5, 8, 0, 3]) == vocabulary.decode(np.array([2, 4, 5, 8])) == "the play@@ ing ."
    assert vocabulary.decode([2, 10, 1, 3]) == "the <unk> yes" and vocabulary.decode([]) == vocabulary.decode([0]) == ""
    assert vocabulary.text_of(["the", "Wombat", "", "\ud800"]) == "the Wombat \ufffd"
    pieces = vocabulary.pieces([2, 1, 1, 8])
    assert target_spans(pieces, vocabulary.text_of(pieces)) == [(0, 3), (4, 9), (10, 15), (16, 17)]
    for wrong in ([12], [-1]):
        with pytest.raises(ValueError, match="expected 0 to 11"):
            vocabulary.pieces(wrong)


@given(any_text)
@settings(deadline=None, max_examples=300)
def test_any_text_has_ids_and_spans(vocabulary, text):
    ids, surfaces = vocabulary.encode(text), vocabulary.surfaces(text)
    expected = [
        vocabulary.unk_id if surface == "</s>" else id_
        for surface, id_ in zip(surfaces, vocabulary.ids(surfaces), strict=True)
    ]
    assert ids[-1] == 0 and 0 not in ids[:-1] and ids[:-1] == expected and max(ids) < 12
    spans = vocabulary.spans(text)
    assert len(spans) == len(surfaces) and not any(surface.isspace() for surface in surfaces)
    assert spans == sorted(spans) and all(0 <= begin < end <= len(text) for begin, end in spans)


def test_it_is_written_as_it_was_read(vocabulary, tmp_path):
    (tmp_path / "vocabulary.json").write_bytes(vocabulary.to_json())
    assert read_table(tmp_path / "vocabulary.json") == read_table(vocabulary.path)
    assert WordVocabulary(vocabulary.path, 8).size == 8  # ids beyond the model are dropped


def test_pieces_of_sentencepiece_are_no_words(tmp_path):
    """Text would be cut wrongly, and translated into nonsense silently."""
    table = {"</s>": 0, "<unk>": 1, "\u2581the": 2, "\u2581yes": 3, "ing": 4}
    (tmp_path / "vocab.json").write_text(json.dumps(table))
    with pytest.raises(ModelFileError, match="a table of SentencePiece's pieces .*; put source.spm"):
        WordVocabulary(tmp_path / "vocab.json")


def test_eighty_thousand_words(tmp_path):
    path = tmp_path / "vocab.yml"
    path.write_text("</s>: 0\n<unk>: 1\n" + "".join(f"word{i}: {i}\n" for i in range(2, 80_000)))
    vocabulary = WordVocabulary(path, 80_000)
    assert vocabulary.size == 80_000 and vocabulary.encode("word79999 word80000") == [79_999, 1, 0]
