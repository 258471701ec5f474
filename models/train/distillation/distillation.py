"""Sequence-level interpolated distillation: takes the teacher's best translation nearest to the reference.

Kim and Rush 2016, https://aclanthology.org/D16-1139, section 4.2.3; nearness is BLEU of the sentence.
"""

import functools

from sacrebleu.metrics import BLEU

from models.train.network.ensemble import proposals, scores
from models.train.text.corpora import Example


@functools.cache
def _metric():
    return BLEU(effective_order=True)  # a short sentence has no 4-grams


def sentence_bleu(text: str, references: tuple[str, ...]) -> float:
    """Returns the BLEU of one sentence against one or more references."""
    return _metric().sentence_score(text, list(references)).score


def closest(texts: list[str], references: tuple[str, ...]) -> list[str]:
    """Returns the texts of the highest BLEU; without references, all."""
    if len(texts) < 2 or not references:
        return texts
    found = [sentence_bleu(text, references) for text in texts]
    return [text for text, bleu in zip(texts, found, strict=True) if bleu == max(found)]


def nearest(teachers, sources: list[str], references: list[tuple[str, ...]], beam_size: int) -> list[str | None]:
    """Returns for each source the proposed translation of the highest BLEU; None without proposals.

    Of equal ones, and without a reference, the most probable one by the teachers.
    """
    proposed = proposals(teachers, sources, beam_size)
    found = [closest(texts, wanted) for texts, wanted in zip(proposed, references, strict=True)]
    tied = [number for number, texts in enumerate(found) if len(texts) > 1]
    ranked = scores(teachers, [sources[number] for number in tied], [found[number] for number in tied])
    for number, values in zip(tied, ranked, strict=True):
        found[number] = [found[number][values.index(max(values))]]
    return [texts[0] if texts else None for texts in found]


def distil(teachers, examples: list[Example], beam_size: int) -> list[list[str]]:
    """Returns rows (source, nearest translation, first reference) of examples; without proposals the reference."""
    sources = [example.sources[0] for example in examples]
    best = nearest(teachers, sources, [example.targets for example in examples], beam_size)
    return [
        [source, text or example.targets[0], example.targets[0]]
        for source, text, example in zip(sources, best, examples, strict=True)
    ]
