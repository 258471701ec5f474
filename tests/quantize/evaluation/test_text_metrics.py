"""BLEU, chrF and their bootstrap: sacrebleu's own numbers."""

import sys

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from cpunmt.errors import CpunmtError
from quantize.evaluation.text_metrics import (
    SEED,
    bootstrap,
    by_rank,
    compare_bleu,
    compare_chrf,
    load_metrics,
    segment_statistics,
)

WORDS = ["a", "small", "dog", "runs", "across", "the", "green", "field", "and", "barks", "at", "old", "farmers"]


def texts(seed, count=60, noise=0.0):
    """Returns random sentences; with noise, some words are replaced."""
    generator, other = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    drawn = [generator.choice(WORDS, generator.integers(1, 15)).tolist() for _ in range(count)]
    return [" ".join(w if other.random() >= noise else "cat" for w in sentence) for sentence in drawn]


REFERENCES = [[text] if n % 3 else [text, text + " today"] for n, text in enumerate(texts(1))]
OURS, THEIRS = texts(1, noise=0.3), texts(1, noise=0.25)
RANKED = [[found[0] for found in REFERENCES], [found[1] if len(found) > 1 else None for found in REFERENCES]]


def test_references_by_rank():
    assert by_rank(REFERENCES) == RANKED
    assert by_rank([["a"], ["b"]]) == [["a", "b"]]


def test_scores_are_those_of_sacrebleu():
    metrics = load_metrics("de")
    for compare, metric in ((lambda *a: compare_bleu(metrics.bleu, *a, 0), BLEU()), (None, CHRF())):
        compare = compare or (lambda *a: compare_chrf(metrics.chrf, *a))
        found = compare(OURS, THEIRS, REFERENCES)
        expected = [metric.corpus_score(made, RANKED).score for made in (OURS, THEIRS)]
        assert [found["model"], found["baseline"]] == expected and expected[0] < expected[1]
        assert found["difference"] == expected[0] - expected[1]
        assert found["signature"] == str(metric.get_signature()) and "nrefs:var" in found["signature"]


def test_the_bootstrap_is_sacrebleus(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    named = [("Baseline: b", THEIRS), ("m", OURS)]
    _, found = PairedTest(named, {"BLEU": BLEU()}, RANKED, "bs", 200)()
    bleu = BLEU()
    scores = bootstrap(bleu, [segment_statistics(bleu, made, REFERENCES) for made in (THEIRS, OURS)], 200)
    assert SEED == 12345
    for ours, theirs in zip(scores, found["BLEU"], strict=True):
        ordered = np.sort(ours)  # theirs are of counts in float32, whose quotients have 24 bits
        assert ours.mean() == pytest.approx(theirs.mean, abs=1e-4)
        assert (ordered[194] - ordered[5]) / 2 == pytest.approx(theirs.ci, abs=1e-4)


def test_the_interval_is_that_of_the_difference():
    metrics = load_metrics()
    low, high = compare_bleu(metrics.bleu, OURS, THEIRS, REFERENCES, 500)["interval"]
    difference = compare_bleu(metrics.bleu, OURS, THEIRS, REFERENCES, 0)["difference"]
    assert low < difference < high < low + 30
    assert compare_bleu(metrics.bleu, OURS, OURS, REFERENCES, 50)["interval"] == [0, 0]
    assert compare_bleu(metrics.bleu, OURS, THEIRS, REFERENCES, 0)["interval"] is None


def test_translations_without_a_word_score_nothing():
    found = compare_bleu(load_metrics().bleu, [""] * len(OURS), OURS, REFERENCES, 20)
    assert found["model"] == 0 and found["difference"] == found["model"] - found["baseline"] < 0
    assert found["interval"][1] < 0


def test_chinese_is_cut_as_chinese():
    assert "tok:zh" in compare_bleu(load_metrics("zh").bleu, ["狗"], ["狗"], [["狗"]], 0)["signature"]


def test_a_language_whose_tokenizer_is_missing_is_named(monkeypatch):
    for name in ("MeCab", "ipadic", "sacrebleu.tokenizers.tokenizer_ja_mecab"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CpunmtError, match="sacrebleu has no tokenizer for the target language 'ja': "):
        load_metrics("ja")


def test_without_sacrebleu_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(CpunmtError, match=r"pip install 'cpunmt\[report\]'"):
        load_metrics()
