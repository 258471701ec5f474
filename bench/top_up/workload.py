"""Sentences with the lengths of Table 1 of "Faster NMT Inference", in sub-words: news (Europarl), and subtitles."""

from typing import NamedTuple

import numpy as np

from bench.harness.texts import of_lengths
from cpunmt.text.vocabularies.vocabulary import Vocabulary

DRAWS = 100_000


class Lengths(NamedTuple):
    """The distribution of sub-words in a sentence."""

    mean: float
    deviation: float  # the standard one


LENGTHS = {"news": Lengths(26.3, 14.9), "subtitles": Lengths(9.4, 6.1)}


def drawn(lengths: Lengths, count: int) -> list[int]:
    """Returns numbers of pieces: `count` quantiles of a gamma distribution, one piece at least, in random order by a
    fixed seed.

    Quantiles instead of draws, so that a few sentences have the mean and deviation too.
    """
    generator = np.random.default_rng(1)
    shape, scale = (lengths.mean / lengths.deviation) ** 2, lengths.deviation**2 / lengths.mean
    many = np.sort(generator.gamma(shape, scale, DRAWS))
    quantiles = many[(np.arange(count) * 2 + 1) * DRAWS // (2 * count)]
    return generator.permutation(np.maximum(1, np.rint(quantiles).astype(int))).tolist()


def sources(vocabulary: Vocabulary, lines: list[str], lengths: Lengths, count: int) -> list[list[int]]:
    """Returns `count` sources, each with </s>, cut from the lines, which are joined for longer ones."""
    counts = drawn(lengths, count)
    encoded = vocabulary.encode_batch(of_lengths(lines, counts))  # a word has a piece at least
    return [[*ids[:-1][:number], ids[-1]] for ids, number in zip(encoded, counts, strict=True)]
