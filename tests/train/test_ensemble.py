"""Candidates of several teachers."""

import pytest

from models.train.ensemble import candidates

SOURCES = ["A man is riding a bicycle.", "The committee has not decided yet whether it wants to."]


def test_one_teacher_gives_its_own_list(student):
    found = candidates([student], SOURCES, 4)
    for source, some in zip(SOURCES, found, strict=True):
        hypotheses = student.translate(source, beam_size=4, num_hypotheses=4, vocabulary="full").hypotheses
        expected = {h.text: h.score for h in hypotheses if h.text and not h.truncated}
        assert expected and {c.text: c.score for c in some} == expected
        assert [c.score for c in some] == sorted((c.score for c in some), reverse=True)


def test_two_teachers_score_the_candidates_of_both(student, float_student):
    teachers = [student, float_student]
    alone = [candidates([teacher], SOURCES, 4) for teacher in teachers]
    both = candidates(teachers, SOURCES, 4)
    for number, source in enumerate(SOURCES):
        assert {c.text for c in both[number]} == {c.text for some in alone for c in some[number]}
        assert [c.score for c in both[number]] == sorted((c.score for c in both[number]), reverse=True)
        for text, score in both[number]:
            results = [teacher.score(source, text) for teacher in teachers]
            expected = sum(r.log_prob / len(r.log_probs) for r in results) / 2
            assert score == pytest.approx(expected, abs=1e-6)


def test_nothing_in_nothing_out(student):
    assert candidates([student], [], 4) == []
