"""The translation that is nearest to the reference."""

import pytest

from cpunmt import Translator
from models.train.distillation.distillation import distil, nearest, proposals, sentence_bleu
from models.train.text.corpora import Example
from tests.papers.definitions import ludicrously_fast as paper
from tests.sample_models.real_model import DIRECTORIES, GERMAN

SOURCES = ["A man is riding a bicycle.", "The committee has not decided yet whether it wants to."]


@pytest.fixture(scope="module")
def teacher():
    """An ensemble of two."""
    return Translator([DIRECTORIES["int8"], DIRECTORIES["float32"]])


def test_bleu_of_short_sentences_is_not_zero():
    assert 99.9 < sentence_bleu("Ja.", ("Ja.",)) <= 100.1
    assert sentence_bleu("Nein.", ("Ja.",)) < 60


def test_proposals_are_the_ensembles_best(teacher):
    for source, texts in zip(SOURCES, proposals(teacher, SOURCES, 8), strict=True):
        hypotheses = teacher.translate(source, beam_size=8, num_hypotheses=8, vocabulary="full").hypotheses
        assert texts == list(dict.fromkeys(h.text for h in hypotheses if h.text and not h.truncated)) != []
    assert proposals(teacher, [], 4) == []


def test_the_nearest_is_the_papers(teacher):
    wanted = ["Ein Mann fährt ein Fahrrad.", "Das Komitee hat noch nicht entschieden, ob es will."]
    found = nearest(teacher, SOURCES, [(text,) for text in wanted], 8)
    for text, texts, reference in zip(found, proposals(teacher, SOURCES, 8), wanted, strict=True):
        assert text == paper.interpolated(texts, reference, lambda a, b: sentence_bleu(a, (b,))) != texts[0]


def test_of_equal_ones_the_best_is_taken(teacher):
    texts = proposals(teacher, SOURCES, 4)
    assert nearest(teacher, SOURCES, [("völlig",), ()], 4) == [some[0] for some in texts]


def test_nothing_is_nearest_to_nothing(student):
    assert nearest(student, ["", SOURCES[0]], [("a",), ("a",)], 1)[0] is None


def test_rows(student):
    examples = [
        Example((SOURCES[0],), ("Ein Mann fährt Fahrrad.", "Ein Mann fährt ein Fahrrad.")),
        Example(("",), ("Ja",)),
    ]
    (source, best, reference), empty = distil(student, examples, beam_size=4)
    assert (source, reference) == (SOURCES[0], "Ein Mann fährt Fahrrad.")
    (texts,) = proposals(student, [SOURCES[0]], 4)
    assert sentence_bleu(best, examples[0].targets) == max(sentence_bleu(text, examples[0].targets) for text in texts)
    assert empty == ["", "Ja", "Ja"]


def test_the_joined_sets_of_dual_learning_are_the_papers(teacher):
    back = Translator(GERMAN)
    pairs = list(zip(SOURCES, ["Ein Herr fährt.", "Das Komitee hat es noch nicht entschieden."], strict=True))

    def chosen(translator):
        return lambda text, wanted: paper.interpolated(
            proposals(translator, [text], 8)[0], wanted, lambda a, b: sentence_bleu(a, (b,))
        )

    targets = distil(teacher, [Example((source,), (target,)) for source, target in pairs], 8)
    sources = distil(back, [Example((target,), (source,)) for source, target in pairs], 8)
    ours = [*pairs, *((source, best) for source, best, _ in targets), *((best, target) for target, best, _ in sources)]
    assert ours == paper.dual_sets(pairs, chosen(teacher), chosen(back))
    assert len(set(ours)) == 6
