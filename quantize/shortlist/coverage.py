"""How many pieces of reference translations a shortlist offers, and how long its lists are."""

from typing import NamedTuple

import numpy as np

from cpunmt.files.tables import aligned
from cpunmt.text.shortlist import Shortlist
from quantize.shortlist.corpus import Corpus


class Coverage(NamedTuple):
    """The coverage of one shortlist on one held-out text."""

    pieces: float  # share of reference pieces that are among their sentence's candidates
    sentences: float  # share of sentence pairs of which all are
    candidates: float  # mean of a sentence pair


def coverage(shortlist: Shortlist, corpus: Corpus, shared: bool, eos_id: int) -> Coverage:
    """Measure it; candidates are those of `Shortlist.candidates`. `shared`: one vocabulary for both languages."""
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
    """One line for each (held-out text, name of the shortlist, shortlist, coverage), under a heading."""
    heading = ["held-out", "shortlist", "first", "best", "pieces %", "whole %", "candidates"]
    fields = []
    for text, name, shortlist, found in rows:
        shares = [f"{100 * share:.2f}" for share in (found.pieces, found.sentences)]
        fields.append([text, name, str(shortlist.first), str(shortlist.best), *shares, f"{found.candidates:.1f}"])
    return aligned(heading, fields, 2)
