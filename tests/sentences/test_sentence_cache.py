"""The cache of sentences: equal results, bounded size, and use by several threads."""

import copy
import pickle
import random

import pytest

from cpunmt import Translator
from cpunmt.sentences.sentence_cache import LONGEST, SentenceCache
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences
from tests.support.side_by_side import in_threads

MODEL = DIRECTORIES["int8"]


def test_the_least_recently_used_leaves():
    cache = SentenceCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == (1, None, 3, 2)


def test_only_what_is_missing_is_made_and_once():
    cache, asked = SentenceCache(10), []

    def make(numbers):
        asked.append(list(numbers))
        return [f"made {number}" for number in numbers]

    texts = ["a", "b", "a", "x" * (LONGEST + 1), "x" * LONGEST]
    assert cache.all_of(texts, texts, make) == ["made 0", "made 1", "made 0", "made 3", "made 4"]
    assert cache.all_of(["b", "c"], ["b", "c"], make) == ["made 1", "made 1"]
    assert cache.all_of(["c"], ["c"], make) == ["made 1"]
    assert asked == [[0, 1, 3, 4], [1]] and len(cache) == 4


def test_results_are_the_same_to_the_bit(student):
    cached = Translator(MODEL, sentence_cache=30)
    lines = sentences(40)
    generator = random.Random(1)
    for options in ({}, {"beam_size": 2, "num_hypotheses": 2}, {"return_alignments": True}, {"split": "none"}, {}):
        chosen = [generator.choice(lines) for _ in range(60)]
        expected = student.translate(chosen, **options)
        made = cached.translate(chosen, **options)
        assert made == expected and [m.sentences for m in made] == [e.sentences for e in expected]
        assert len(cached._cache) <= 30
    assert (
        cached.translate(lines[0], target_prefix="Das")
        == student.translate(lines[0], target_prefix="Das")
        != cached.translate(lines[0])
    )
    assert cached.translate(lines[0]) == student.translate(lines[0])


def test_a_sentence_that_is_kept_is_not_translated_again():
    cached = Translator(MODEL, sentence_cache=8)
    first = cached.translate("A dog. A cat.")
    cached.loaded.engine.translate, kept = None, cached.loaded.engine.translate  # would raise
    try:
        assert cached.translate(["A cat. A dog."])[0].text.split(". ")[0] + "." == first.text.split(". ")[1]
        with pytest.raises(TypeError):
            cached.translate("A man.")
    finally:
        cached.loaded.engine.translate = kept
    cached.load_model()
    assert len(cached._cache) == 0  # it may be another model by now


def test_threads_and_copies(student):
    cached = Translator(MODEL, sentence_cache=5)
    lines = sentences(30)
    expected = [result.text for result in student.translate(lines)]
    assert in_threads(8, lambda _: [cached.translate(line).text for line in lines]) == [expected] * 8
    for other in (copy.copy(cached), pickle.loads(pickle.dumps(cached))):
        assert len(other._cache) == 0 and other.translate("A dog.") == student.translate("A dog.")
    assert student._cache is None
    with pytest.raises(ValueError, match="^sentence_cache is -1, expected"):
        Translator(MODEL, sentence_cache=-1)
