"""From expected counts to a shortlist: smoothed probabilities, the best of each source piece, files, and coverage.

A pair that was seen once is mostly chance, so each count loses a part of itself, which is redistributed by the
frequency of the target pieces (absolute discounting; Ney, Essen and Kneser 1994):

    p(t | s) = (c(s, t) - d min(1, c(s, t)) + (D(s) + m) p(t)) / (c(s) + m)      D(s): the total loss of s
"""

import gzip
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cpunmt.files.input_files import plain_name, zstd_module
from cpunmt.files.tables import aligned
from cpunmt.text.shortlists.shortlist import Shortlist, most_probable
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from quantize.shortlist.corpus import Corpus

DISCOUNT = 0.1  # d: of every count, at most
PRIOR = 10.0  # m: pieces seen before the first


class Lexicon(NamedTuple):
    """The kept pairs, by source id and then by falling probability."""

    sources: np.ndarray  # (pairs,) int64
    targets: np.ndarray  # (pairs,) int32
    probabilities: np.ndarray  # (pairs,) float64


def smoothed(
    offsets: Any, targets: Any, counts: Any, frequencies: Any, discount: Any = DISCOUNT, prior: Any = PRIOR
) -> np.ndarray:
    """Returns p(t | s) of each pair as above: (pairs,) float64; `frequencies` (target pieces,) of any scale."""
    lengths = np.diff(offsets)
    sources = np.repeat(np.arange(lengths.size), lengths)
    given_up = discount * np.minimum(counts, 1)
    sums, discounts = (np.bincount(sources, values, lengths.size) for values in (counts, given_up))
    share = (frequencies / frequencies.sum())[targets]
    found: np.ndarray = (counts - given_up + (discounts + prior)[sources] * share) / (sums + prior)[sources]
    return found


def best_pairs(offsets: Any, targets: Any, probabilities: Any, best: int, threshold: float = 0.0) -> Lexicon:
    """Returns for each source piece the `best` most probable, of equals the higher id, above `threshold`: as Marian
    prunes.
    """
    sources = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    kept = most_probable(np.flatnonzero(probabilities > threshold), sources, targets, probabilities, best)
    return Lexicon(sources[kept], targets[kept], probabilities[kept])


def text_of(lexicon: Lexicon, source_vocabulary: AnyVocabulary, target_vocabulary: AnyVocabulary) -> bytes:
    """Returns Marian's text form: lines of "target source probability".

    Raises ValueError for a piece with white space, which that form cannot express.
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


def is_binary(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file of this name holds the binary form: lex.bin, lex.bin.gz, lex.bin.zst."""
    return plain_name(Path(path).name).endswith(".bin")


def file_content(path: str | os.PathLike[str], content: bytes) -> bytes:
    """Returns `content` packed if the name requires it, without the time of day."""
    name = Path(path).name
    if name.endswith(".zst"):
        return bytes(zstd_module().compress(content))
    return gzip.compress(content, mtime=0) if name.endswith(".gz") else content


class Coverage(NamedTuple):
    """The coverage of one shortlist on one held-out text."""

    pieces: float  # share of reference pieces among their sentence's candidates
    sentences: float  # share of sentence pairs with all of them
    candidates: float  # mean number for a sentence pair


def coverage(shortlist: Shortlist, corpus: Corpus, shared: bool, eos_id: int) -> Coverage:
    """Measures the coverage; candidates are those of `Shortlist.candidates`. `shared`: one vocabulary for both
    languages.
    """
    covered = whole = candidates = 0
    for k in range(corpus.pairs):
        source = corpus.source[corpus.source_ends[k] : corpus.source_ends[k + 1]]
        reference = corpus.target[corpus.target_ends[k] : corpus.target_ends[k + 1]]
        offered = shortlist.candidates(np.append(source, eos_id), shared)
        chosen = np.zeros(shortlist.vocab_size, bool)
        chosen[offered] = True
        found = np.count_nonzero(chosen[reference])
        covered += found
        whole += found == reference.size
        candidates += offered.size
    return Coverage(covered / corpus.target.size, whole / corpus.pairs, candidates / corpus.pairs)


def table(rows: list[tuple[str, str, Shortlist, Coverage]]) -> list[str]:
    """Returns one line for each (held-out text, name of the shortlist, shortlist, coverage), under a heading."""
    heading = ["held-out", "shortlist", "first", "best", "pieces %", "whole %", "candidates"]
    fields = []
    for text, name, shortlist, found in rows:
        shares = [f"{100 * share:.2f}" for share in (found.pieces, found.sentences)]
        fields.append([text, name, str(shortlist.first), str(shortlist.best), *shares, f"{found.candidates:.1f}"])
    return aligned(heading, fields, 2)
