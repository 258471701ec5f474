"""Dual conditional cross-entropy: its formula, on scores that `Translator.score` gives."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.corpora.cross_entropy import Scoring, dual_score
from cpunmt.corpora.inputs.rows import Rows
from cpunmt.corpora.job import Filters, Job
from cpunmt.decoding.scoring import LONGEST
from tests.sample_models.many_languages_model import write_model
from tests.sample_models.real_model import GERMAN, SHIPPED

ENTROPIES = st.floats(0, 50)
PAIRS = [
    ("A man is riding a bicycle.", "Ein Mann fährt Fahrrad."),
    ("A man is riding a bicycle.", "Zwei Katzen."),
    ("", "Ein Mann."),
    ("Two dogs.", ""),
    ("", ""),
    ("A man is riding a bicycle.", "Ein Mann fährt Fahrrad."),
    ("a " * 5000, "ein " * 5000),
    (None, "Ein Mann."),
]


@pytest.fixture(scope="module")
def models():
    return Translator(SHIPPED), Translator(GERMAN)


@given(ENTROPIES, ENTROPIES)
def test_a_score_is_that_of_the_paper(forward, backward):
    score = dual_score(forward, backward)
    assert score == pytest.approx(math.exp(-abs(forward - backward) - 0.5 * (forward + backward)), rel=1e-5)
    assert 0 <= score <= 1 and score == dual_score(backward, forward)
    assert score <= dual_score(min(forward, backward), min(forward, backward))  # agreement counts


def test_what_is_impossible_has_the_least_score():
    assert dual_score(math.inf, 1.0) == dual_score(math.inf, math.inf) == dual_score(1.0, math.nan) == 0.0
    assert dual_score(0.0, 0.0) == 1.0
    assert dual_score(0.0, 2.0) == 0.0497871  # six digits of exp(-3)


def scored(models, job, pairs=PAIRS):
    done = []
    made = Scoring(*models, job).made(Rows(*zip(*pairs, strict=True)), done.append)
    return made, done


def test_pairs_are_scored_by_both_models(models):
    made, done = scored(models, Job(target="target"))
    scores = made.columns["score"]
    forward, backward = models
    for (source, target), score in zip(PAIRS[:2], scores, strict=False):
        there, back = forward.score(source, target), backward.score(target, source)
        entropies = [-sum(one.log_probs) / len(one.log_probs) for one in (there, back)]
        assert score == pytest.approx(dual_score(*entropies), rel=1e-5)
    assert scores[0] > 0.5 > 0.01 > scores[1] and scores[2:5] == [0, 0, 0]
    assert scores[5] == scores[0] and scores[6] == 0 and scores[7] is None
    assert made.flags is None and made.distinct == 6 and done == [1.0]
    edge = Filters(min_score=scores[1], max_length_ratio=1.5)
    sizes = [(2, 3), (3, 2), (3, 1)]
    flags = [Scoring(*models, Job(target="target", filters=edge))._flags(scores[1], *size) for size in sizes]
    assert flags == [(), (), ("ratio",)]
    alone = [scored(models, Job(target="target"), [pair])[0].columns["score"][0] for pair in PAIRS[:2]]
    assert alone == scores[:2]


def test_the_name_of_a_language_counts_among_the_pieces():
    """A source that is too long only with its name cannot be scored, and has no error."""
    path, job = SHIPPED.parent / "ende-deen", Job(target="target")
    models = Translator(path, source_lang="en", target_lang="de"), Translator(path, source_lang="de", target_lang="en")
    plain, pair = Translator(path), PAIRS[0]
    long = "a " * 4095
    sizes = [len(plain.source_vocabulary.encode(text)) for text in (long, f">>de<< {long}")]
    assert sizes[0] <= LONGEST < sizes[1]
    assert scored(models, job, [(long, "Ein Mann.")])[0].columns["score"] == [0]
    (score,) = scored(models, job, [pair])[0].columns["score"]
    there = plain.score(f">>de<< {pair[0]}", pair[1])
    back = plain.score(f">>en<< {pair[1]}", pair[0])
    assert score == dual_score(*[-one.log_prob / len(one.tokens) for one in (there, back)])


def test_models_that_do_not_know_their_languages_are_refused_before_a_pair(tmp_path):
    write_model(tmp_path / "m2m", "m2m", 5)
    known = Translator(tmp_path / "m2m", source_lang="en", target_lang="de")
    with pytest.raises(ValueError, match="^source_lang and target_lang not given"):
        Scoring(known, Translator(tmp_path / "m2m"), Job(target="target"))
