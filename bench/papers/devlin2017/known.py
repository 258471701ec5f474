"""The share of a text's words whose first products are stored, in a vocabulary of words by frequency.

Devlin 2017, https://arxiv.org/abs/1705.01991, section 4.2, stores the first products of the most frequent words only,
which are over 95 % of the words of a text; so does `architectures.recurrent.first_maps`.
"""

import re
from collections import Counter

from cpunmt.architectures.recurrent.network import MOST_KNOWN

_WORD = re.compile(r"\w+|[^\w\s]")


def measure(lines: list[str], ranking: list[str], vocabulary: int, known: int = MOST_KNOWN) -> dict[str, float]:
    """Returns the numbers of words, of the vocabulary's words and of the `known` most frequent ones' in `lines`.

    The vocabulary has the most frequent words of `ranking`, which should be another text: of a short text's own words
    the most frequent ones are nearly all. Words are runs of letters and digits, and single signs.
    """
    ranked = [word for word, _ in _counts(ranking).most_common(vocabulary)]
    counts = _counts(lines)
    return {
        "words": counts.total(),
        "vocabulary": len(ranked),
        "in_vocabulary": sum(counts[word] for word in ranked),
        "known": min(known, len(ranked)),
        "of_known": sum(counts[word] for word in ranked[:known]),
    }


def _counts(lines):
    return Counter(word for line in lines for word in _WORD.findall(line))


def show(found: dict[str, float]) -> None:
    """Prints one line."""
    words, known = (max(1, found[name]) for name in ("words", "in_vocabulary"))
    print(
        f"\nthe {found['known']:,} most frequent of {found['vocabulary']:,} words are {found['of_known'] / words:.1%} "
        f"of {found['words']:,} words, {found['of_known'] / known:.1%} of those in the vocabulary"
    )
