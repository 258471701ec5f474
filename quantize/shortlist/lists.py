"""From expected counts to a shortlist: smoothed probabilities, the best of each source piece, and the files.

A pair that was seen once is mostly chance, so each count gives up a part of itself, and what is given up is shared out
by how frequent the target pieces are (absolute discounting; Ney, Essen and Kneser 1994):

    p(t | s) = (c(s, t) - d min(1, c(s, t)) + (D(s) + m) p(t)) / (c(s) + m)      D(s): what s gives up in all
"""

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpunmt.files.input_files import plain_name, zstd_module
from cpunmt.text.shortlist import most_probable
from cpunmt.text.vocabulary import Vocabulary

DISCOUNT = 0.1  # d: of every count, at most
PRIOR = 10.0  # m: pieces seen before the first


class Lexicon(NamedTuple):
    """The pairs that are kept, by source id and then by falling probability."""

    sources: np.ndarray  # (pairs,) int64
    targets: np.ndarray  # (pairs,) int32
    probabilities: np.ndarray  # (pairs,) float64


def smoothed(offsets, targets, counts, frequencies, discount=DISCOUNT, prior=PRIOR) -> np.ndarray:
    """p(t | s) of each pair as above: (pairs,) float64; `frequencies` (target pieces,) are counts of any scale."""
    lengths = np.diff(offsets)
    sources = np.repeat(np.arange(lengths.size), lengths)
    given_up = discount * np.minimum(counts, 1)
    sums, discounts = (np.bincount(sources, values, lengths.size) for values in (counts, given_up))
    share = (frequencies / frequencies.sum())[targets]
    return (counts - given_up + (discounts + prior)[sources] * share) / (sums + prior)[sources]


def best_pairs(offsets, targets, probabilities, best: int, threshold: float = 0.0) -> Lexicon:
    """For each source piece the `best` most probable, of equals the higher id, above `threshold`: as Marian prunes."""
    sources = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    kept = most_probable(np.flatnonzero(probabilities > threshold), sources, targets, probabilities, best)
    return Lexicon(sources[kept], targets[kept], probabilities[kept])


def text_of(lexicon: Lexicon, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> bytes:
    """Marian's text form: lines of "target source probability".

    Raises ValueError for a piece that holds white space, which that form cannot express.
    """
    names = []
    for vocabulary, ids in ((target_vocabulary, lexicon.targets), (source_vocabulary, lexicon.sources)):
        pieces = vocabulary.pieces(range(vocabulary.size))
        for id_ in np.unique(ids).tolist():
            piece = pieces[id_].encode()
            if piece.split() != [piece]:
                raise ValueError(
                    f"{vocabulary.path}: piece {id_} is {pieces[id_]!r}, and a text shortlist is split at white space; "
                    "write a binary one, OUT.bin"
                )
        names.append(pieces)
    rows = zip(lexicon.targets.tolist(), lexicon.sources.tolist(), lexicon.probabilities.tolist(), strict=True)
    return "".join(f"{names[0][t]} {names[1][s]} {p:.6g}\n" for t, s, p in rows).encode()


def is_binary(path: str | os.PathLike) -> bool:
    """Whether a file of this name shall hold the binary form: lex.bin, lex.bin.gz, lex.bin.zst."""
    return plain_name(Path(path).name).endswith(".bin")


def file_content(path: str | os.PathLike, content: bytes) -> bytes:
    """`content` as a file of this name holds it: packed if the name says so, without the time of day."""
    name = Path(path).name
    if name.endswith(".zst"):
        return zstd_module().compress(content)
    return gzip.compress(content, mtime=0) if name.endswith(".gz") else content
