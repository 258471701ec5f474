"""Sequence-level interpolated distillation: of the teacher's best translations the one nearest to the reference.

Kim and Rush 2016, https://aclanthology.org/D16-1139, section 4.2.3; nearness is BLEU of the sentence.
"""

import functools

from sacrebleu.metrics import BLEU

from models.train.corpora import Example
from models.train.ensemble import Candidate, candidates


@functools.cache
def _metric():
    return BLEU(effective_order=True)  # a short sentence has no 4-grams to find


def sentence_bleu(text: str, references: tuple[str, ...]) -> float:
    """BLEU of one sentence against one or more references."""
    return _metric().sentence_score(text, list(references)).score


def nearest(found: list[Candidate], references: tuple[str, ...]) -> str | None:
    """The candidate of the highest BLEU; of equal ones, and where there is no reference, the teachers' choice.

    None where there is no candidate.
    """
    if not found:
        return None
    if not references:
        return found[0].text
    return max(found, key=lambda candidate: sentence_bleu(candidate.text, references)).text


def distil(teachers, examples: list[Example], beam_size: int) -> list[list[str]]:
    """Rows (source, nearest translation, first reference) of examples; those without a candidate keep the reference."""
    sources = [example.sources[0] for example in examples]
    rows = []
    for example, found in zip(examples, candidates(teachers, sources, beam_size), strict=True):
        best = nearest(found, example.targets)
        rows.append([example.sources[0], best or example.targets[0], example.targets[0]])
    return rows
