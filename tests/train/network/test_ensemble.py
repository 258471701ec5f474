"""Teachers' proposals, and their scores of texts."""

import pytest

from models.train.network.ensemble import proposals, scores

SOURCES = ["A man is riding a bicycle.", "The committee has not decided yet whether it wants to."]


def test_one_teacher_gives_its_own_list(student):
    for source, texts in zip(SOURCES, proposals([student], SOURCES, 4), strict=True):
        hypotheses = student.translate(source, beam_size=4, num_hypotheses=4, vocabulary="full").hypotheses
        assert texts == list(dict.fromkeys(h.text for h in hypotheses if h.text and not h.truncated)) != []


def test_two_teachers_give_the_texts_of_both(student, float_student):
    alone = [proposals([teacher], SOURCES, 4) for teacher in (student, float_student)]
    for texts, *each in zip(proposals([student, float_student], SOURCES, 4), *alone, strict=True):
        assert texts == list(dict.fromkeys(each[0] + each[1]))


def test_scores_are_means_per_piece(student, float_student):
    texts = [["Ein Mann fährt Rad.", "Ein Mann"], ["Der Ausschuss hat noch nicht entschieden."]]
    found = scores([student, float_student], SOURCES, texts)
    for source, some, values in zip(SOURCES, texts, found, strict=True):
        for text, value in zip(some, values, strict=True):
            results = [teacher.score(source, text) for teacher in (student, float_student)]
            assert value == pytest.approx(sum(r.log_prob / len(r.log_probs) for r in results) / 2, abs=1e-6)


def test_nothing_in_nothing_out(student):
    assert proposals([student], [], 4) == scores([student], [], []) == []
    assert scores([student], SOURCES, [[], []]) == [[], []]
