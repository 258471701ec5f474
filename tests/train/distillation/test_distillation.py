"""The translation that is nearest to the reference."""

from models.train.distillation.distillation import closest, distil, nearest, sentence_bleu
from models.train.network.ensemble import proposals, scores
from models.train.text.corpora import Example

TEXTS = ["Ein Hund läuft.", "Ein kleiner Hund rennt schnell.", "x"]
SOURCE = "A man is riding a bicycle."


def test_closest():
    assert closest(TEXTS, ("Ein kleiner Hund rennt.",)) == TEXTS[1:2]
    assert closest(TEXTS, ("Ganz etwas anderes", "Ein Hund läuft.")) == TEXTS[:1]
    assert closest(TEXTS, ("völlig",)) == closest(TEXTS, ()) == TEXTS
    assert closest([], ("a",)) == []


def test_bleu_of_short_sentences_is_not_zero():
    assert 99.9 < sentence_bleu("Ja.", ("Ja.",)) <= 100.1
    assert sentence_bleu("Nein.", ("Ja.",)) < 60


def test_nearest_of_equal_ones_is_the_likeliest(student, float_student):
    teachers, wanted = [student, float_student], ("Ein Mann fährt ein Fahrrad.",)
    (texts,) = proposals(teachers, [SOURCE], 4)
    by_bleu, unlike, free = nearest(teachers, [SOURCE] * 3, [wanted, ("völlig",), ()], 4)
    assert sentence_bleu(by_bleu, wanted) == max(sentence_bleu(text, wanted) for text in texts)
    (values,) = scores(teachers, [SOURCE], [texts])
    assert unlike == free == texts[values.index(max(values))]


def test_nothing_is_nearest_to_nothing(student):
    assert nearest([student], ["", SOURCE], [("a",), ("a",)], 1)[0] is None


def test_rows(student):
    examples = [Example((SOURCE,), ("Ein Mann fährt Fahrrad.", "Ein Mann fährt ein Fahrrad.")), Example(("",), ("Ja",))]
    (source, best, reference), empty = distil([student], examples, beam_size=4)
    assert (source, reference) == (SOURCE, "Ein Mann fährt Fahrrad.")
    (texts,) = proposals([student], [SOURCE], 4)
    assert sentence_bleu(best, examples[0].targets) == max(sentence_bleu(text, examples[0].targets) for text in texts)
    assert empty == ["", "Ja", "Ja"]
