"""The share of a text's words whose first products are stored, in a vocabulary of words by frequency.

Devlin 2017, https://arxiv.org/abs/1705.01991, section 4.2, stores the first products of the most frequent words only,
which are over 95 % of the words of a text; so does `architectures.recurrent.first_maps`.
"""

import re
from collections import Counter

from cpunmt.architectures.recurrent.network import MOST_KNOWN

_WORD = re.compile(r"\w+|[^\w\s]")


def measure(lines: list[str], vocabulary: int, known: int = MOST_KNOWN) -> dict[str, float]:
    """Returns the number of words, of different ones, and the share of the `known` most frequent in the vocabulary's.

    Words are runs of letters and digits, and single signs.
    """
    counts = Counter(word for line in lines for word in _WORD.findall(line))
    in_vocabulary = [count for _, count in counts.most_common(vocabulary)]
    share = sum(in_vocabulary[:known]) / max(1, sum(in_vocabulary))
    return {"words": counts.total(), "different": len(counts), "known": min(known, vocabulary), "share": share}


def show(found: dict[str, float]) -> None:
    """Prints one line."""
    print(
        f"\n{found['known']:,} most frequent words: {found['share']:.1%} of {found['words']:,} words, of which "
        f"{found['different']:,} are different"
    )
