"""The vocabulary has Marian's ids, and loses nothing."""

import numpy as np

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.text.batches import encode
from models.train.text.vocabulary import sampled, texts_of, train_vocabulary


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


def test_other_segmentations_are_drawn_and_say_the_same(toy):
    text, vocabulary = "the dog sees the cat", Vocabulary(toy.vocabulary)
    (found,) = sampled(toy.vocabulary, [text], 30, seed=1)
    assert {vocabulary.decode(ids) for ids in found} == {text} and all(ids[-1] == vocabulary.eos_id for ids in found)
    assert vocabulary.encode(text) in found and len(set(map(tuple, found))) > 3
    assert sampled(toy.vocabulary, [text], 30, seed=1) == [found] and sampled(toy.vocabulary, [text], 30, seed=2) != [
        found
    ]


def test_an_epoch_takes_one_of_the_segmentations_of_a_source(toy):
    vocabulary, corpus = Vocabulary(toy.vocabulary), toy.data.train[0]._replace(segmentations=2)
    corpus = corpus._replace(examples=corpus.examples[:5])
    found = encode([corpus._replace(segmentations=0), corpus, corpus], vocabulary, vocabulary)
    counts = [len(example.sources) for example in corpus.examples]
    assert np.diff(found.source_bounds).tolist() == counts + 2 * [3 * count for count in counts]
    plain = [vocabulary.encode(text) for example in corpus.examples for text in example.sources]
    first = found.source_bounds[5]
    assert [found.sources[first + 3 * k].tolist() for k in range(sum(counts))] == plain
    texts = [vocabulary.decode(found.sources[first + k]) for k in range(3 * sum(counts))]
    assert texts == [vocabulary.decode(ids) for ids in plain for _ in range(3)]
    second = [found.sources[first + 3 * sum(counts) + k].tolist() for k in range(3 * sum(counts))]
    assert second[::3] == plain and second != [found.sources[first + k].tolist() for k in range(3 * sum(counts))]
