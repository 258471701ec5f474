"""Text to ids and back; for any text or file, only the documented errors."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.t5_model import write_pieces
from tests.support.refusal import refusal
from tests.support.side_by_side import in_threads

any_text = st.text(st.characters(codec=None, exclude_categories=()))  # surrogates and NUL included


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "small.spm")


@pytest.fixture(scope="module")
def vocabulary(path):
    return Vocabulary(path)


@pytest.fixture(scope="module")
def marian_vocabulary(tmp_path_factory):
    """With Marian's normaliser."""
    path = tmp_path_factory.mktemp("vocabulary") / "nfkc.spm"
    return Vocabulary(train_vocabulary(path, normalization_rule_name="nmt_nfkc"))


def test_ids_are_those_of_the_model(vocabulary, path):
    assert (vocabulary.size, vocabulary.eos_id, vocabulary.unk_id) == (128, 0, 1)
    assert vocabulary.path == path
    assert vocabulary.pieces([0, 1]) == ["</s>", "<unk>"]


def test_encode_ends_with_eos_and_decode_gives_the_text_back(vocabulary):
    for line in TEXT:
        ids = vocabulary.encode(line)
        assert type(ids) is list
        assert ids[-1] == 0 and ids.count(0) == 1 and len(ids) > 2
        assert vocabulary.decode(ids) == vocabulary.decode(ids[:-1]) == line
        assert vocabulary.decode(np.array(ids, np.int32)) == line


def test_pieces_spell_the_text_and_ids_are_their_inverse(vocabulary):
    ids = vocabulary.encode(TEXT[0])
    pieces = vocabulary.pieces(ids)
    assert "".join(pieces) == "▁" + TEXT[0].replace(" ", "▁") + "</s>"
    assert vocabulary.ids(pieces) == ids
    assert vocabulary.ids(["Quark", "\ud800", ""]) == [1, 1, 1]


@pytest.mark.parametrize("text", ["", " ", "   ", "\t", "\n\r\n", "\u3000 \u00a0"])
def test_blank_text_is_only_eos(marian_vocabulary, text):
    assert marian_vocabulary.encode(text) == [0]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [(["Quark", "▁the"], "Quark the"), (["▁the", "Quark"], "theQuark"), (["▁Quark", "e"], "Quarke"), ([], "")],
)
def test_text_of_pieces(vocabulary, pieces, text):
    assert vocabulary.text_of(pieces) == text


def test_decode_stops_at_the_first_eos(vocabulary):
    ids = vocabulary.encode("the dog")
    assert vocabulary.decode(ids + vocabulary.encode("the boy")) == "the dog"
    assert vocabulary.decode([0]) == vocabulary.decode([]) == ""
    assert vocabulary.decode(np.zeros(0, np.int32)) == ""


def test_surrogates_count_as_replacement_characters(vocabulary):
    assert vocabulary.encode("dog \ud83d\udfff runs") == vocabulary.encode("dog \ufffd\ufffd runs")


def test_a_nul_is_an_unknown_character_in_its_place(vocabulary):
    assert vocabulary.decode(vocabulary.encode("dog\0runs")) == "dog ⁇ runs"


@given(any_text)
def test_any_text_gives_valid_ids_that_decode(vocabulary, text):
    ids = vocabulary.encode(text)
    assert ids[-1] == 0 and all(0 < id_ < vocabulary.size for id_ in ids[:-1])
    assert isinstance(vocabulary.decode(ids), str)


@given(st.lists(any_text))
def test_a_batch_is_each_text_alone(vocabulary, texts):
    assert vocabulary.encode_batch(texts) == [vocabulary.encode(text) for text in texts]


@given(st.lists(st.integers(0, 127)))
def test_any_ids_decode_to_what_precedes_eos(vocabulary, ids):
    before = ids[: ids.index(0)] if 0 in ids else ids
    assert vocabulary.decode(ids) == vocabulary.decode(before)


def test_a_line_of_a_megabyte(vocabulary):
    for text in ("the dog " * 125_000, "e" * 1_000_000):
        ids = vocabulary.encode(text)
        assert len(ids) > 100_000
        assert vocabulary.decode(ids) == text.strip()


@pytest.mark.parametrize("wrong", [-1, 128, 2**31 - 1])
def test_an_id_outside_is_a_value_error(vocabulary, wrong):
    for convert in (vocabulary.decode, vocabulary.pieces):
        with pytest.raises(ValueError, match="expected 0 to 127"):
            convert([5, wrong])


def test_text_that_is_no_string_is_a_type_error(vocabulary):
    for wrong in (b"dog", None, ["dog"]):
        with pytest.raises(TypeError, match="expected str"):
            vocabulary.encode(wrong)


def test_threads_share_a_vocabulary(vocabulary):
    expected = [vocabulary.encode(line) for line in TEXT]

    def run(_):
        return all(vocabulary.encode_batch(TEXT) == expected for _ in range(50))

    assert in_threads(4, run) == [True] * 4


def test_files_that_are_no_vocabulary(tmp_path, path):
    assert "not found" in refusal(Vocabulary, tmp_path / "none.spm")
    assert "not a regular file" in refusal(Vocabulary, tmp_path)
    (tmp_path / "empty.spm").touch()
    assert "empty" in refusal(Vocabulary, tmp_path / "empty.spm")
    (tmp_path / "text.spm").write_text("</s>\n<unk>\nthe\n")
    assert "not a SentencePiece model" in refusal(Vocabulary, tmp_path / "text.spm")
    with open(tmp_path / "huge.spm", "wb") as file:
        file.truncate((64 << 20) + 1)  # sparse: does not need disk space
    assert "expected at most 67108864" in refusal(Vocabulary, tmp_path / "huge.spm")


def test_a_model_without_eos_is_refused(tmp_path):
    without = train_vocabulary(tmp_path / "without.spm", eos_id=-1, unk_id=0)
    assert "no </s>" in refusal(Vocabulary, without)


def test_other_ids_of_eos_and_unk_are_followed(tmp_path):
    other = Vocabulary(train_vocabulary(tmp_path / "other.spm", unk_id=0, eos_id=2, bos_id=1))
    assert (other.eos_id, other.unk_id) == (2, 0)
    assert other.encode("dog")[-1] == 2
    assert other.decode([*other.encode("dog"), 5]) == "dog"


def test_pieces_that_are_halves_of_a_character_are_refused_when_used(tmp_path, path, vocabulary):
    """Loading joins all pieces: adjacent halves pass, although single halves are not text."""
    letters = [piece if len(piece) == 1 and piece.isascii() else "" for piece in vocabulary.pieces(range(128))]
    first = next(id_ for id_ in range(127) if letters[id_] and letters[id_ + 1])
    content = path.read_bytes()
    for letter, half in ((letters[first], b"\xc3"), (letters[first + 1], b"\xbc")):
        content = content.replace(b"\x0a\x01" + letter.encode(), b"\x0a\x01" + half)  # field 1, one byte
    (tmp_path / "halves.spm").write_bytes(content)
    broken = Vocabulary(tmp_path / "halves.spm")
    assert broken.decode([first, first + 1]) == "\u00fc"
    for convert in (broken.decode, broken.pieces):
        with pytest.raises(ModelFileError, match=r"halves.spm: a piece is not UTF-8"):
            convert([first])


def test_a_damaged_normalizer_is_refused_when_it_makes_what_is_no_text(tmp_path):
    content = (DIRECTORIES["int8"] / "vocabulary.spm").read_bytes()
    assert content.count(b"\0001\xe2\x81\x842\0") == 1  # the bytes of two halves: 1, a bar, 2
    (tmp_path / "damaged.spm").write_bytes(content.replace(b"\0001\xe2\x81\x842\0", b"\0001\xe2\x81\xff2\0"))
    damaged = Vocabulary(tmp_path / "damaged.spm")
    assert damaged.surfaces("A dog.") == ["▁A", "▁dog", "."]
    with pytest.raises(ModelFileError, match="damaged.spm: a piece is not UTF-8"):
        damaged.surfaces("\u00bd")
    assert damaged.encode("\u00bd")[-1] == damaged.eos_id


def test_where_a_text_begins_after_the_name_of_its_target_language(tmp_path):
    named = Vocabulary(train_vocabulary(tmp_path / "named.spm", 128, user_defined_symbols=[">>de<<"]))
    for text, rest in ((">>de<< A man.", "A man."), ("  >>de<<A man.", "A man."), (">>de<<", ""), (">>de<< \n", "")):
        assert text[named.language_end(text) :] == rest
        assert named.ids([">>de<<"])[0] in named.encode(text)[:2]
    for text in ("A man.", "", ">>fr<< A man.", ">>", ">>de", "A >>de<< man.", ">><< A", "<<de>>"):
        assert named.language_end(text) == 0
    plain = Vocabulary(train_vocabulary(tmp_path / "plain.spm", 128))
    assert plain.language_end(">>de<< A man.") == plain.language_end("<2de> A man.") == 0


def test_where_a_text_begins_after_the_tag_of_its_target_language(tmp_path):
    """MADLAD's tags are pieces of the usual kind, which win because they cost nothing."""
    write_pieces(tmp_path / "tags.spm", pad_id=0, eos_id=1, unk_id=2)
    tagged = Vocabulary(tmp_path / "tags.spm")
    for text, rest in (("<2de> A man.", "A man."), ("  <2en>A man.", "A man."), ("<2de>", ""), ("<2de> \n", "")):
        assert text[tagged.language_end(text) :] == rest
        assert tagged.ids([text.strip()[:5]])[0] in tagged.encode(text)[:2]
    for text in ("A man.", "", "<2fr> A man.", "<2", "<2de", "A <2de> man.", "<2> A", "<b>A</b>", "< 2de>", "<2de >"):
        assert tagged.language_end(text) == 0
    (tmp_path / "table.json").write_text(json.dumps({p: i for i, p in enumerate(tagged.pieces(range(tagged.size)))}))
    pieces = PieceVocabulary(tmp_path / "tags.spm", tmp_path / "table.json")
    for text in ("<2de> A man.", "  <2en>A man.", "<2fr> A man.", "<2de", "A <2de> man."):
        assert pieces.language_end(text) == tagged.language_end(text)
        assert pieces.encode(text) == tagged.encode(text)
