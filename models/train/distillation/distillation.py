"""Sequence-level interpolated distillation: takes the teacher's best translation nearest to the reference.

Kim and Rush 2016, https://aclanthology.org/D16-1139, section 4.2.3; nearness is BLEU of the sentence. Several teachers
are one ensemble, as in Kim et al. 2019, https://aclanthology.org/D19-5632, section 2.
"""

import functools

from sacrebleu.metrics import BLEU

from cpunmt import Translator
from models.train.text.corpora import Example


@functools.cache
def _metric():
    return BLEU(effective_order=True)  # a short sentence has no 4-grams


def sentence_bleu(text: str, references: tuple[str, ...]) -> float:
    """Returns the BLEU of one sentence against one or more references."""
    return _metric().sentence_score(text, list(references)).score


def proposals(teacher: Translator, sources: list[str], beam_size: int) -> list[list[str]]:
    """Returns for each source the different texts of the teacher's n-best list, the best first.

    Skips translations cut off by the length limit, and empty ones.
    """
    options = {"beam_size": beam_size, "num_hypotheses": beam_size, "vocabulary": "full", "split": "none"}
    found = [result.hypotheses for result in teacher.translate(sources, **options)]
    return [list(dict.fromkeys(h.text for h in some if h.text and not h.truncated)) for some in found]


def nearest(
    teacher: Translator, sources: list[str], references: list[tuple[str, ...]], beam_size: int
) -> list[str | None]:
    """Returns for each source the proposed translation of the highest BLEU; None without proposals.

    Of equal ones, and without a reference, the teacher's best one.
    """
    return [
        max(texts, key=lambda text: sentence_bleu(text, wanted) if wanted else 0.0, default=None)
        for texts, wanted in zip(proposals(teacher, sources, beam_size), references, strict=True)
    ]


def distil(teacher: Translator, examples: list[Example], beam_size: int) -> list[list[str]]:
    """Returns rows (source, nearest translation, first reference) of examples; without proposals the reference."""
    sources = [example.sources[0] for example in examples]
    best = nearest(teacher, sources, [example.targets for example in examples], beam_size)
    return [
        [source, text or example.targets[0], example.targets[0]]
        for source, text, example in zip(sources, best, examples, strict=True)
    ]
