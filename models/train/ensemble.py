"""Several teachers as one: the candidates of all, each scored by all."""

from typing import NamedTuple

from cpunmt import Translator


class Candidate(NamedTuple):
    """A translation that some teacher proposes."""

    text: str
    score: float  # mean over teachers of its log-probability per piece


def candidates(teachers: list[Translator], sources: list[str], beam_size: int) -> list[list[Candidate]]:
    """For each source the different texts among the teachers' n-best lists, the best first.

    With several teachers a text is scored with the pieces that it is split into, whichever it was found with. What was
    cut off by the length limit, and empty text, is no candidate.
    """
    options = {"beam_size": beam_size, "num_hypotheses": beam_size, "vocabulary": "full"}
    found = [{} for _ in sources]
    for teacher in teachers:
        for texts, result in zip(found, teacher.translate(sources, **options), strict=True):
            for hypothesis in result.hypotheses:
                if hypothesis.text and not hypothesis.truncated:
                    texts.setdefault(hypothesis.text, hypothesis.score if len(teachers) == 1 else None)
    if len(teachers) > 1:
        _score(teachers, sources, found)
    return [sorted((Candidate(*pair) for pair in texts.items()), key=lambda c: -c.score) for texts in found]


def _score(teachers, sources, found):
    """Fill in the mean score of every text."""
    places = [(number, text) for number, texts in enumerate(found) for text in texts]
    given, texts = [sources[number] for number, _ in places], [text for _, text in places]
    scores = [teacher.score(given, texts) for teacher in teachers] if places else []
    for (number, text), *results in zip(places, *scores, strict=True):
        found[number][text] = sum(result.log_prob / len(result.log_probs) for result in results) / len(results)
