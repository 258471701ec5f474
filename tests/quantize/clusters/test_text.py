"""Text in a model's form: the piece of a target language in front, lines spread over each file."""

import pytest

from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.clusters.text import Directed, read_texts
from tests.sample_models.huggingface_model import write_vocabulary
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.transformers import make_config
from tests.support.refusal import refusal

CONFIG = make_config(vocab_size=128)


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory):
    """Returns vocabularies of every kind that may have pieces of languages, with one such piece."""
    folder = tmp_path_factory.mktemp("languages")
    write_vocabulary(folder, train_vocabulary)
    plain = train_vocabulary(folder / "plain.spm", 128, user_defined_symbols=[">>de<<"])
    return {
        "pieces": (Vocabulary(plain), ">>de<<"),
        "table": (PieceVocabulary(folder / "source.spm", folder / "vocab.json", 96), ">>fra<<"),
    }


@pytest.mark.parametrize("kind", ["pieces", "table"])
def test_each_text_says_its_language_once(vocabularies, kind):
    vocabulary, piece = vocabularies[kind]
    texts = ["A small dog", f"{piece} A small dog", f"  {piece} A small dog", " \t", ""]
    first, *others = Directed(vocabulary, piece).encode_batch(texts)
    assert vocabulary.ids([piece])[0] in first[:2] and first == vocabulary.encode(f"{piece} A small dog")
    assert others == [vocabulary.encode(text) for text in texts[1:]] and others[-1] == [vocabulary.eos_id]
    assert Directed(vocabulary, "").encode_batch(texts) == vocabulary.encode_batch(texts)


@pytest.mark.parametrize("kind", ["pieces", "table"])
@pytest.mark.parametrize("piece", [">>xx<<", "<unk>", "</s>", "nonsense words"])
def test_a_piece_that_is_none(vocabularies, kind, piece):
    vocabulary, _ = vocabularies[kind]
    message = refusal(lambda path: Directed(vocabulary, piece), vocabulary.path)
    assert f"{piece!r} is not a piece that a text can begin with" in message


def test_lines_are_spread_over_each_text(vocabularies, tmp_path):
    vocabulary, _ = vocabularies["pieces"]
    for name, lines in (("long", TEXT * 3), ("short", TEXT[:2])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    found = read_texts([tmp_path / "long", tmp_path / "short"], Directed(vocabulary, ""), CONFIG, 4)
    assert found == vocabulary.encode_batch([*(TEXT * 3)[::6], *TEXT[:2]])
