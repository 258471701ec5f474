"""The candidate that is nearest to the reference."""

from models.train.corpora import Example
from models.train.distillation import distil, nearest, sentence_bleu
from models.train.ensemble import Candidate

FOUND = [Candidate("Ein Hund läuft.", -0.1), Candidate("Ein kleiner Hund rennt schnell.", -0.5), Candidate("x", -0.2)]


def test_nearest():
    assert nearest(FOUND, ("Ein kleiner Hund rennt.",)) == "Ein kleiner Hund rennt schnell."
    assert nearest(FOUND, ("Ganz etwas anderes", "Ein Hund läuft.")) == "Ein Hund läuft."
    assert nearest(FOUND, ("völlig",)) == "Ein Hund läuft."  # equal: the teacher's choice
    assert nearest(FOUND, ()) == "Ein Hund läuft."
    assert nearest([], ("a",)) is None


def test_bleu_of_short_sentences_is_not_zero():
    assert 99.9 < sentence_bleu("Ja.", ("Ja.",)) <= 100.1
    assert sentence_bleu("Nein.", ("Ja.",)) < 60


def test_rows(student):
    examples = [Example(("A man is riding a bicycle.",), ("Ein Mann fährt Fahrrad.", "Ein Mann fährt ein Fahrrad."))]
    ((source, best, reference),) = distil([student], examples, beam_size=4)
    assert (source, reference) == (examples[0].sources[0], examples[0].targets[0])
    texts = [h.text for h in student.translate(source, beam_size=4, num_hypotheses=4, vocabulary="full").hypotheses]
    assert best in texts
    assert sentence_bleu(best, examples[0].targets) == max(sentence_bleu(text, examples[0].targets) for text in texts)
