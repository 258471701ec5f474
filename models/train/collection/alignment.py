"""Aligns the texts of two versions of a page: blocks, then sentences in each pair of blocks.

Blocks are aligned one to one, by the path with the highest sum of similarities (Needleman and Wunsch 1970). Sentences
are aligned one to one, one to two or two to one, by their lengths (after Gale and Church 1993).
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from cpunmt.text.sentences import sentence_spans

RATIO = 1.13  # characters of German for one of English
_SLACK = 12  # characters
_LEAST = 0.35  # similarity of two blocks that are aligned
_ANCHOR = re.compile(r"`[^`]+`|https?://\S+|\d+(?:[.,]\d+)*|\b[A-Za-z]+[A-Z_\d]\w*|\b[A-Z]{2,}\b")
_UNPAIRED, _MERGED = 1.5, 0.35  # costs of a sentence without a partner, and of two with one partner
_WORST = 0.75  # mean cost of a sentence in a pair of blocks of which any is taken
_MOST = 60  # sentences of a block


def aligned_blocks(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the pairs of corresponding blocks, in order."""
    if not source or not target:
        return []
    scores = similarities(source, target) - _LEAST
    best = np.zeros((len(source) + 1, len(target) + 1), np.float32)
    for i, row in enumerate(scores):
        best[i + 1, 1:] = np.maximum(best[i, 1:], best[i, :-1] + row)
        np.maximum.accumulate(best[i + 1], out=best[i + 1])
    i, j, pairs = len(source), len(target), []
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((source[i], target[j]))
    return pairs[::-1]


def similarities(source: Sequence[str], target: Sequence[str]) -> np.ndarray:
    """Returns float32 [sources, targets], at most 1: similar lengths, and the same code, numbers, names, addresses."""
    lengths = [np.array([len(text) for text in texts], np.float32) for texts in (source, target)]
    expected = np.log(RATIO * lengths[0] + _SLACK)
    scores = 1 - np.abs(expected[:, None] - np.log(lengths[1] + _SLACK)[None]) / math.log(2)
    anchors = [[frozenset(_ANCHOR.findall(text)) for text in texts] for texts in (source, target)]
    numbers = {anchor: i for i, anchor in enumerate(set().union(*anchors[0], *anchors[1]))}
    tables = [np.zeros((len(found), len(numbers)), np.float32) for found in anchors]
    for table, found in zip(tables, anchors, strict=True):
        for row, some in zip(table, found, strict=True):
            row[[numbers[anchor] for anchor in some]] = 1
    shared = tables[0] @ tables[1].T
    either = tables[0].sum(1)[:, None] + tables[1].sum(1)[None] - shared
    return np.where(either > 0, 0.6 * scores + 0.8 * shared / np.maximum(either, 1) - 0.3, 0.8 * scores)


def aligned_sentences(source: str, target: str, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Returns the pairs of corresponding sentences of two blocks; the blocks as they are if both are one sentence."""
    sides = [
        [text[begin:end].strip() for begin, end in sentence_spans(text, language)]
        for text, language in zip((source, target), languages, strict=True)
    ]
    n, m = map(len, sides)
    if not n or not m or max(n, m) > _MOST:
        return []
    if n == m == 1:
        return [(source, target)]
    best: dict[tuple[int, int], tuple[float, int, int]] = {(0, 0): (0.0, 0, 0)}
    for i in range(n + 1):
        for j in range(m + 1):
            tried = []
            for a, b in ((1, 1), (1, 2), (2, 1), (1, 0), (0, 1)):
                if (i - a, j - b) in best and i >= a and j >= b:
                    cost = best[i - a, j - b][0]
                    cost += _UNPAIRED if not a or not b else _cost(sides[0][i - a : i], sides[1][j - b : j])
                    tried.append((cost, a, b))
            if tried:
                best[i, j] = min(tried)
    if best[n, m][0] / max(n, m) > _WORST:
        return []
    i, j, pairs = n, m, []
    while i or j:
        _, a, b = best[i, j]
        if a and b:
            pairs.append((" ".join(sides[0][i - a : i]), " ".join(sides[1][j - b : j])))
        i, j = i - a, j - b
    return pairs[::-1]


def _cost(source: Sequence[str], target: Sequence[str]) -> float:
    ones, others = " ".join(source), " ".join(target)
    ratio = abs(math.log((RATIO * len(ones) + _SLACK) / (len(others) + _SLACK))) / math.log(2)
    anchors = set(_ANCHOR.findall(ones)), set(_ANCHOR.findall(others))
    either = anchors[0] | anchors[1]
    differs = 1 - len(anchors[0] & anchors[1]) / len(either) if either else 0.0
    return ratio + 0.5 * differs + _MERGED * (len(source) + len(target) > 2)
