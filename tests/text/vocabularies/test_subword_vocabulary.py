"""Vocabularies of Moses' tokens and subword-nmt's subwords."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.moses import Moses, character_spans
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.subword_vocabulary import SubwordVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.golden.argos_subwords import SIGNS, pieces_of, read_results

any_text = st.text(st.characters(codec=None, exclude_categories=()))  # surrogates and NUL included
marked_text = st.text(st.sampled_from("ab1. ,'\"&|<[]@-\u2019\u201c\u201d\u2026\u00ab\u00a0\u2014()!\u0301\x1f\u72ac"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, codes = tmp_path_factory.mktemp("subwords"), read_results()["codes"]
    (folder / "bpe.model").write_text(codes, "utf-8")
    (folder / "vocab.json").write_text(json.dumps(pieces_of(codes)))
    return folder


@pytest.fixture(scope="module")
def vocabulary(folder):
    return SubwordVocabulary(folder / "bpe.model", folder / "vocab.json")


def test_it_has_all_that_a_vocabulary_has(vocabulary):
    assert {name for name in dir(Vocabulary) if name[0] != "_"} | {"size", "path"} <= set(dir(vocabulary))
    assert (vocabulary.eos_id, vocabulary.unk_id, vocabulary.mark, vocabulary.language_end(">>de<< a")) == (3, 0, "", 0)


def test_tokens_are_escaped_and_cut(vocabulary):
    text = "The dog's here, isn\u2019t it? </s> <unk> q"
    surfaces = vocabulary.surfaces(text)
    joined = "".join(f"{piece} " for piece in surfaces).replace("@@ ", "")
    assert joined == "The dog &apos;s here , isn &apos;t it ? &lt; / s &gt; &lt; unk &gt; q "
    ids = vocabulary.encode(text)
    assert ids == [*vocabulary.ids(surfaces), 3] and 3 not in ids[:-1] and ids[-2] == 0  # q is unknown
    assert vocabulary.encode_batch(["", " \u00a0\n", "the"]) == [[3], [3], [*vocabulary.ids(["the"]), 3]]


def test_pieces_are_joined_to_a_text(vocabulary):
    assert vocabulary.text_of(["T@@", "he", "dog", "&apos;s", "", "\ud800", "here@@"]) == "The dog's \ufffd here@@"
    assert vocabulary.text_of(["a", "@-@", "b", "&amp;lt;", "@@"]) == "a-b &lt; @@"
    ids = vocabulary.ids(["the", "do@@", "."])
    assert vocabulary.decode([*ids, 3, 5]) == vocabulary.text_of(vocabulary.pieces(ids))
    assert vocabulary.decode([]) == vocabulary.text_of([]) == ""


def shown(vocabulary, text) -> list[str]:
    return [text[begin:end] for begin, end in vocabulary.spans(text)]


def test_spans_of_sources(vocabulary):
    for text in SIGNS[1:4]:
        letters = ["".join(filter(str.isalnum, span)) for span in shown(vocabulary, text)]
        assert "".join(letters) == "".join(filter(str.isalnum, text))
    expected = "\u201e|Q|u|ot|ed|,|\u00ab||t|w|ic|e|\u00bb|and||on|ce||\u2026|||is|n|\u2019t|it|?"
    assert "|".join(shown(vocabulary, SIGNS[0])) == expected  # '' becomes one sign, and \u2026 three
    assert shown(vocabulary, "a|b&[c]") == [*"a||||||b&&&[[[[[c]]]]]"]  # &#124; is six pieces


def test_spans_of_targets(vocabulary):
    pieces = ["T@@", "he", "&quot;", "do@@", "g", "&apos;s", "&quot;", "@-@", "@@", "", "<unk>", "e@@"]
    text = vocabulary.text_of(pieces)
    assert text == 'The "dog\'s "-<unk> e@@'
    found = [text[begin:end] for begin, end in vocabulary.spans_in(text, pieces)]
    assert found == ["T", "he", '"', "do", "g", "'s", '"', "-", "", "", "<unk>", "e@@"]


@pytest.mark.parametrize("texts", [any_text, marked_text])
@pytest.mark.parametrize("side", ["source", "target"])
def test_any_text_has_ids_and_spans(vocabulary, texts, side):
    @given(texts)
    @settings(deadline=None, max_examples=100)
    def check(text):
        pieces = vocabulary.surfaces(text)
        ids = vocabulary.encode(text)
        assert ids[-1] == 3 and 3 not in ids[:-1] and ids[:-1] == vocabulary.ids(pieces)
        if side == "target":
            text = vocabulary.text_of(pieces)
        spans = vocabulary.spans(text) if side == "source" else vocabulary.spans_in(text, pieces)
        assert len(spans) == len(pieces) and spans == sorted(spans)
        assert all(0 <= begin <= end <= len(text) for begin, end in spans)
        letters = "".join(filter(str.isalnum, "".join(text[begin:end] for begin, end in spans)))
        assert letters == "".join(filter(str.isalnum, text))

    check()


def test_spans_of_characters_by_hand():
    assert character_spans(["a", "&amp;b", ""], "a &b") == [[(0, 1)], [(2, 3)] * 5 + [(3, 4)], []]
    assert character_spans(["...", "x"], "\u2026 x") == [[(0, 1), (1, 1), (1, 1)], [(2, 3)]]
    assert character_spans(["abc"], "a") == [[(0, 1), (1, 1), (1, 1)]]  # a text that is not theirs
    assert character_spans(["!", "?"], "?" * 17 + "!") == [[(0, 0)], [(0, 1)]]  # too far
    assert character_spans(["!"], "?" * 15 + "!") == [[(15, 16)]]


def test_it_is_written_as_it_was_read(vocabulary, folder, tmp_path):
    (tmp_path / "vocabulary.json").write_bytes(vocabulary.to_json())
    assert read_table(tmp_path / "vocabulary.json") == read_table(folder / "vocab.json")
    assert SubwordVocabulary(folder / "bpe.model", folder / "vocab.json", 60).size == 60


def test_a_table_without_subwords_is_refused(folder, tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps(["<unk>", "</s>", "the"]))
    with pytest.raises(ModelFileError, match="vocab.json: no piece ends with @@, expected the voc.*bpe.model"):
        SubwordVocabulary(folder / "bpe.model", tmp_path / "vocab.json")


def test_without_sacremoses_the_error_says_how_to_install_it(folder, monkeypatch):
    for name in ("sacremoses", "sacremoses.normalize", "sacremoses.tokenize"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModelFileError, match=r"bpe.model: .* is not installed; run: pip install 'cpunmt\[moses\]'$"):
        SubwordVocabulary(folder / "bpe.model", folder / "vocab.json")


def test_languages_have_rules_of_their_own():
    french, czech, unknown = (Moses(code, "here") for code in ("fr", "cs", "xx"))
    assert french.tokens("l'homme") == ["l&apos;", "homme"] and unknown.tokens("l'homme") == ["l", "&apos;", "homme"]
    assert french.text(["l&apos;", "homme", "?"]) == "l'homme ?"
    assert czech.text(["je", "-", "li"]) == "je - li"
    assert czech.text(["je&apos;", "-", "li"]) == "je' - li"  # sacremoses 0.2.0 raises TypeError


def test_long_texts_are_cut_between_words():
    """sacremoses takes time by the square of a run of dots."""
    moses, words = Moses("de", "here"), "word " * 2000
    assert moses.tokens(words) == words.split()
    assert moses.tokens("a" * 9000) == ["a" * 4000, "a" * 4000, "a" * 1000]  # for want of a blank
    assert moses.tokens("." * 9000) == ["." * 4000, "." * 4000, "." * 1000]
