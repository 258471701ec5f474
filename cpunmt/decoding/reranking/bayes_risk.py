"""Minimum Bayes risk: chooses the translation that is most like all other candidates (Kumar and Byrne 2004).

Sampled translations represent the possible references. The worth of a translation is its mean similarity to them
(Eikema and Aziz 2020). https://aclanthology.org/N04-1022, https://arxiv.org/abs/2005.10283
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

import numpy as np

from cpunmt.decoding.reranking.utilities import UTILITIES
from cpunmt.options.arguments import text_list, weight_list
from cpunmt.values.checks import choice

T = TypeVar("T")
MOST = 1024  # texts: all pairs are compared


def expected_utilities(
    hypotheses: Iterable[str], utility: Literal["chrf", "bleu"] = "chrf", weights: Iterable[float] | None = None
) -> list[float]:
    """Returns each translation's similarity to all of them, from 0 to 100: the highest has the least risk.

    This is the weighted mean of its utility, with each translation (itself included) as the reference. A repeated text
    counts each time. `Translator.translate(text, rerank="mbr-chrf", num_candidates=32, sampling_topk=0)` does it with
    samples of a model.

    Parameters
    ----------
    hypotheses : translations, at most 1,024
    utility : "chrf" or "bleu", of sentences: equal to sacrebleu's chrF2, and to its BLEU with the effective order and
        the tokenizer 13a
    weights : probability of each as a reference, not less than 0; None: equal weights

    Returns a number for each, in order. The same texts in the same order give the same bits on any machine. Raises
    TypeError or ValueError for a wrong argument.
    """
    texts = text_list(hypotheses, "expected_utilities", "hypothesis", MOST + 1)
    if len(texts) > MOST:
        raise ValueError(f"expected_utilities has more than {MOST} hypotheses; give at most {MOST}")
    table_of = UTILITIES[choice("utility", utility, UTILITIES)]
    count = len(texts)
    shares = [1.0] * count
    if weights is not None:
        shares = weight_list(weights, count, "hypothesis", f"one for each of the {count} hypotheses")
    different: dict[str, float] = {}
    for text, share in zip(texts, shares, strict=True):
        different[text] = different.get(text, 0.0) + share
    table = table_of(list(different))
    expected, total = np.zeros(len(different)), 0.0
    for column, share in enumerate(different.values()):  # one by one: the same order on any machine
        expected += table[:, column] * share
        total += share
    found = dict(zip(different, (expected / (total or 1.0)).tolist(), strict=True))
    return [found[text] for text in texts]


def reranked(candidates: Sequence[T], texts: Sequence[str], rerank: str, most: int) -> list[T]:
    """Returns the candidates of highest expected utility, best first; of equal ones, and of equal texts, only the
    first.

    Parameters
    ----------
    candidates : translations of a sentence
    texts : of each candidate
    rerank : the option
    most : how many to return
    """
    values = expected_utilities(texts, UTILITY_OF[rerank])
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    order = sorted(first.values(), key=lambda place: (-values[place], place))
    return [candidates[place] for place in order[:most]]


UTILITY_OF: dict[str, Literal["chrf", "bleu"]] = {"mbr-chrf": "chrf", "mbr-bleu": "bleu"}
