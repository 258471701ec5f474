"""Result types: their fields, and CTranslate2's format."""

import dataclasses

import numpy as np
import pytest

from cpunmt.options.glossary.matching import Match
from cpunmt.options.options import Options
from cpunmt.results.glossary_use import GlossaryUse, use_of
from cpunmt.results.results import (
    Hypothesis,
    Result,
    TranslationResult,
    translation_result,
)

ATTENTION = np.array([[0.75, 0.25], [0.25, 0.5]], np.float32)
FIRST = Hypothesis("Ein Mann.", -0.5, -1.5, False, ("▁Ein", "▁Mann."), (-0.5, -0.5, -0.5), (ATTENTION,))
SECOND = Hypothesis("Mann", -1.0, -1.0, True, ("▁Mann",), (-1.0,), (ATTENTION[1:],))
RESULT = Result((FIRST, SECOND), ("▁A", "▁man."))


def test_a_result_has_what_its_best_hypothesis_has():
    for name in ("text", "score", "log_prob", "truncated", "pieces", "token_log_probs", "attention", "repeats"):
        assert getattr(RESULT, name) is getattr(FIRST, name)
    assert RESULT.alignments == FIRST.alignments == [(0, 0), (1, 1)]
    assert str(RESULT) == str(FIRST) == "Ein Mann."
    assert RESULT.hypotheses[1].truncated and not RESULT.truncated


def test_without_alignments_there_are_none():
    bare = Hypothesis("a", 0.0, 0.0, False, ("a",))
    assert bare.alignments is bare.attention is bare.token_log_probs is None
    assert Result((bare,)).alignments is Result((bare,)).source_pieces is None


def test_results_cannot_be_changed_and_are_equal_by_content():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RESULT.hypotheses = ()
    assert dataclasses.replace(RESULT, hypotheses=(FIRST,)) != RESULT
    assert Result((FIRST, SECOND), ("▁A", "▁man.")) == RESULT
    assert hash(dataclasses.replace(FIRST, attention_parts=None)) == hash(FIRST)


def test_the_shape_of_ctranslate2():
    plain = translation_result(RESULT, Options(beam_size=2, num_hypotheses=2))
    assert plain == TranslationResult([["▁Ein", "▁Mann."], ["▁Mann"]], [], [], [])
    full = translation_result(RESULT, Options(beam_size=2, return_scores=True, return_alignments=True))
    assert full.scores == [-0.5, -1.0]
    assert full.attention == [[[0.75, 0.25], [0.25, 0.5]], [[0.25, 0.5]]]
    assert len(full) == 2
    assert full[0] == {"tokens": ["▁Ein", "▁Mann."], "score": -0.5, "attention": full.attention[0]}
    assert plain[1] == {"tokens": ["▁Mann"]}
    assert [hypothesis["tokens"] for hypothesis in plain] == plain.hypotheses
    with pytest.raises(IndexError):
        plain[2]


def test_there_are_always_as_many_as_were_asked_for():
    wanted = Options(beam_size=4, num_hypotheses=4, return_scores=True, return_alignments=True)
    padded = translation_result(RESULT, wanted)
    assert padded.hypotheses == [["▁Ein", "▁Mann."], *[["▁Mann"]] * 3]
    assert padded.scores == [-0.5, -1.0, -1.0, -1.0] and len(padded.attention) == 4


def test_the_use_of_a_glossary():
    terms = [("a", "b"), ("c", "d"), ("e", "f"), ("a", "b")]
    matches = [Match(0, 1, term, term[1]) for term in terms]
    used = use_of(matches, ["applied", "conflict", "applied", "already"])
    assert used == GlossaryUse((terms[0], terms[2]), (terms[3],), (), (terms[1],))
    after = GlossaryUse((terms[3],), not_found=(terms[1],))
    assert used + after == GlossaryUse((terms[0], terms[2], terms[3]), (terms[3],), (terms[1],), (terms[1],))
    assert used.to_dict() == {
        "applied": [["a", "b"], ["e", "f"]],
        "already": [["a", "b"]],
        "not_found": [],
        "conflict": [["c", "d"]],
    }


@pytest.mark.parametrize("fate", ["applied", "already", "not_found", "conflict"])
def test_a_term_of_any_fate_counts_as_use(fate):
    assert GlossaryUse(**{fate: (("a", "b"),)}) and not GlossaryUse()
