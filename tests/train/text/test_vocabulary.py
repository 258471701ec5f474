"""The vocabulary has Marian's ids, and loses nothing."""

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.text.vocabulary import texts_of, train_vocabulary


def test_ids_and_round_trip(tmp_path, toy):
    path = tmp_path / "v.spm"
    train_vocabulary(texts_of(toy.data.train), 60, path)
    vocabulary = Vocabulary(path)
    assert (vocabulary.eos_id, vocabulary.unk_id, vocabulary.size) == (0, 1, 60)
    for example in toy.data.train[0].examples[:20]:
        for text in (*example.sources, *example.targets):
            assert vocabulary.decode(vocabulary.encode(text)) == text
    assert [file.name for file in tmp_path.iterdir()] == ["v.spm"]


def test_names_of_target_languages_are_pieces(tmp_path, toy):
    train_vocabulary(texts_of(toy.data.train), 60, tmp_path / "v.spm", [">>de<<", ">>en<<"])
    vocabulary, (source, *_) = Vocabulary(tmp_path / "v.spm"), toy.data.train[0].examples[0].sources
    for name in (">>de<<", ">>en<<"):
        (id_,) = vocabulary.ids([name])
        assert id_ != vocabulary.unk_id and id_ in vocabulary.encode(f"{name} {source}")[:2]
