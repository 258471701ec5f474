"""Sentences with the lengths of the paper's Table 1: news, and subtitles."""

from typing import NamedTuple

import numpy as np

from bench.harness.texts import of_lengths

DRAWS = 100_000


class Lengths(NamedTuple):
    """The distribution of words in a sentence."""

    mean: float
    deviation: float  # the standard one


LENGTHS = {"news": Lengths(26.3, 14.9), "subtitles": Lengths(9.4, 6.1)}


def drawn(lengths: Lengths, count: int) -> list[int]:
    """Returns numbers of words: `count` quantiles of a gamma distribution, one word at least, in random order by a
    fixed seed.

    Quantiles instead of draws, so that a few sentences have the mean and deviation too.
    """
    generator = np.random.default_rng(1)
    shape, scale = (lengths.mean / lengths.deviation) ** 2, lengths.deviation**2 / lengths.mean
    many = np.sort(generator.gamma(shape, scale, DRAWS))
    quantiles = many[(np.arange(count) * 2 + 1) * DRAWS // (2 * count)]
    return generator.permutation(np.maximum(1, np.rint(quantiles).astype(int))).tolist()


def sentences(lines: list[str], lengths: Lengths, count: int) -> list[str]:
    """Returns `count` sentences, cut from the lines, which are joined for longer ones."""
    return of_lengths(lines, drawn(lengths, count))
