"""Lexical shortlist: the target ids worth scoring for a source sentence.

Each source id has a list of target ids that it may become. The candidates of a sentence are the `first` most
frequent ids of the target vocabulary, the lists of its pieces, and, with a shared vocabulary, the pieces
themselves (names and numbers are copied).

Marian's binary file, little-endian:

    u64 magic | u64 checksum | u64 first | u64 best | u64 W | u64 L | W x u64 offsets | L x u32 target ids

`shortlist_text` reads the text form.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded, open_expanded
from cpunmt.kernels.records import CANDIDATES_MULTIPLE
from cpunmt.text.shortlists.shortlist_text import MAX_FILE as MAX_TEXT
from cpunmt.text.shortlists.shortlist_text import read_lexicon

if TYPE_CHECKING:
    from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

Name = str | os.PathLike[str]  # of a file
MAGIC = 0xF11A48D5013417F5
_HEADER = 48  # bytes
# Marian's table ends with the last piece that has a translation. Of two real files, one lacks a piece. In these, a
# fifth of the last hundred pieces have no translation, so some may be missing; another vocabulary's size differs by
# more.
_MISSING = 64  # one of this many pieces may be missing
_MAX_FILE = 64 << 20  # bytes; the largest known has 5 MB
_QUICKSAND = (1234567890).to_bytes(4, "little")


class ShortlistOptions(NamedTuple):
    """Path of a shortlist; `first` and `best` apply to a text shortlist, a binary one has its own."""

    path: Path
    first: int = 100
    best: int = 100

    def opened(self, source: AnyVocabulary, target: AnyVocabulary) -> Shortlist:
        """Reads the shortlist of these vocabularies. Raises ModelFileError as `Shortlist.load`."""
        return Shortlist.load(self.path, source, target, self.first, self.best)


class Shortlist:
    """Candidate lists as two flat arrays; `candidates` defines their meaning.

    Attributes
    ----------
    offsets : (source pieces + 1,) int64
        The list of source id s is `ids[offsets[s] : offsets[s + 1]]`.
    ids : (L,) int32
        Target ids, strictly ascending within a list. Read-only view of the mapped file when read from one.
    first : int
        Ids 0 .. first - 1 are always candidates; </s> must be among them.
    best : int
        Length limit with which the lists were made, for information only.
    vocab_size : int
        Of the target vocabulary.
    """

    is_default = True  # it is used unless a call asks for the whole vocabulary

    def __init__(
        self, offsets: np.ndarray, ids: np.ndarray, first: int, best: int, vocab_size: int, where: Name = "shortlist"
    ) -> None:
        """Stores the arrays without copying, after checking them.

        Raises
        ------
        ModelFileError
            Starting with `where`: the offsets fall, or do not end at the number of ids; a list is not
            strictly ascending; an id or `first` is beyond `vocab_size`.
        """
        self.offsets, self.ids = offsets, ids
        self.first, self.best, self.vocab_size = int(first), int(best), int(vocab_size)
        if not 1 <= self.first <= self.vocab_size:
            raise _broken(where, f"first is {first}, expected 1 to the vocabulary's {vocab_size}")
        if wrong := what_is_wrong(offsets, ids, self.vocab_size, "a source piece"):
            raise _broken(where, wrong)

    @classmethod
    def load(
        cls,
        path: Name,
        source_vocabulary: AnyVocabulary,
        target_vocabulary: AnyVocabulary,
        first: int = 100,
        best: int = 100,
    ) -> Shortlist:
        """Reads a shortlist of any form: binary or text (see `from_text`), plain or packed with gzip or zstd."""
        with open_expanded(path, "shortlist", MAX_TEXT) as file:
            start = file.read(8)
        if start == MAGIC.to_bytes(8, "little"):
            return cls.read(path, source_vocabulary.size, target_vocabulary.size)
        return cls.from_text(path, source_vocabulary, target_vocabulary, first, best)

    @classmethod
    def read(cls, path: Name, source_size: int, target_size: int, sha256: str | None = None) -> Shortlist:
        """Reads Marian's binary form, memory-mapped (a packed one is expanded in memory).

        Parameters
        ----------
        path : str or path-like
        source_size, target_size : int
            Number of pieces of the vocabularies.
        sha256 : str, optional
            Hexadecimal; compared with the file's hash, instead of checking its own checksum: 2 ms instead of 100,
            because that checksum is a chain of 400,000 steps.

        Raises
        ------
        ModelFileError
            The file is missing, truncated, altered, or made for another vocabulary.
        """
        content = np.asarray(expanded(path, "shortlist", _MAX_FILE))
        if content[:4].tobytes() == _QUICKSAND:
            raise _broken(path, "a 'quicksand' shortlist is not supported, expected Marian's binary form")
        header = content[:_HEADER].tobytes().ljust(_HEADER, b"\0")
        magic, checksum, first, best, words, total = np.frombuffer(header, "<u8").tolist()
        if magic != MAGIC:
            raise _broken(path, f"starts with {magic:#x}, expected a binary shortlist's magic {MAGIC:#x}")
        expected = _HEADER + 8 * words + 4 * total
        if content.size != expected:
            raise _broken(path, f"has {content.size} bytes, expected {expected} by its header: truncated?")
        lists = words - 1
        if not 0 <= source_size - lists <= max(1, source_size // _MISSING):
            raise _broken(path, f"made for {words - 1} source pieces, the vocabulary has {source_size}")
        if sha256 is not None:
            if hashlib.sha256(content.data).hexdigest() != sha256:
                raise _broken(path, f"SHA-256 is not the expected {sha256}")
        elif checksum_of(content[16:]) != checksum:
            raise _broken(path, f"its content does not have the checksum {checksum:#x} of its header")
        offsets = content[_HEADER : _HEADER + 8 * words].view("<i8")
        ids = content[_HEADER + 8 * words :].view("<i4")
        offsets = np.append(offsets, np.full(source_size - lists, total))  # missing lists are empty
        return cls(offsets, ids, first, best, target_size, path)

    @classmethod
    def from_text(
        cls,
        path: Name,
        source_vocabulary: AnyVocabulary,
        target_vocabulary: AnyVocabulary,
        first: int = 100,
        best: int = 100,
    ) -> Shortlist:
        """Reads Marian's text form, lines of "target source probability", plain or packed.

        Parameters
        ----------
        path : str or path-like
        source_vocabulary, target_vocabulary : Vocabulary
            Unknown pieces count as <unk>.
        first : int
            Number of target ids that are always candidates; at most the whole vocabulary.
        best : int
            Longest list: the most probable are kept, on a tie, the higher id. Pairs with probability zero are dropped.

        Raises
        ------
        ModelFileError
            The file is missing, truncated, or has another kind of line.
        ValueError
            `first` or `best` is below 1.
        """
        if first < 1 or best < 1:
            raise ValueError(f"first is {first} and best {best}, expected at least 1")
        targets, sources, probabilities = read_lexicon(path, source_vocabulary, target_vocabulary)
        _, last = np.unique((sources * target_vocabulary.size + targets)[::-1], return_index=True)
        kept = targets.size - 1 - last  # of a pair that occurs twice, the last counts
        kept = most_probable(kept[probabilities[kept] > 0], sources, targets, probabilities, best)
        sizes = source_vocabulary.size, target_vocabulary.size
        return cls.from_pairs(sources[kept], targets[kept], first, best, *sizes, path)

    @classmethod
    def from_pairs(
        cls,
        sources: np.ndarray,
        targets: np.ndarray,
        first: int,
        best: int,
        source_size: int,
        target_size: int,
        where: Name = "shortlist",
    ) -> Shortlist:
        """Makes a shortlist from distinct pairs of ids, (pairs,) each, in any order; cuts `first` to the vocabulary."""
        order = np.lexsort((targets, sources))
        offsets = np.searchsorted(sources[order], np.arange(source_size + 1)).astype(np.int64)
        first = min(first, target_size)
        return cls(offsets, targets[order].astype(np.int32), first, best, target_size, where)

    @classmethod
    def united(cls, shortlists: Sequence[Shortlist]) -> Shortlist | None:
        """Unites shortlists for the same vocabularies, or returns None for none."""
        if not shortlists:
            return None
        given = shortlists[0]
        if all(one.first == given.first and _same_lists(one, given) for one in shortlists[1:]):
            return given
        words, size = given.offsets.size - 1, given.vocab_size
        sources = [np.repeat(np.arange(words), np.diff(one.offsets)) for one in shortlists]
        pairs = np.unique(np.concatenate(sources) * size + np.concatenate([one.ids for one in shortlists]))
        first, best = (max(getattr(one, name) for one in shortlists) for name in ("first", "best"))
        return cls.from_pairs(pairs // size, pairs % size, first, best, words, size)

    def to_bytes(self) -> bytes:
        """Returns the shortlist in Marian's binary form."""
        sizes = np.array([self.first, self.best, self.offsets.size, self.ids.size], "<u8")
        body = sizes.tobytes() + self.offsets.astype("<u8").tobytes() + self.ids.astype("<u4").tobytes()
        checksum = checksum_of(np.frombuffer(body, np.uint8))
        return MAGIC.to_bytes(8, "little") + checksum.to_bytes(8, "little") + body

    def candidates(self, source_ids: Sequence[int] | np.ndarray, shared: bool) -> np.ndarray:
        """Returns the target ids worth scoring for one sentence.

        Parameters
        ----------
        source_ids : sequence of int
            Ids below the number of source pieces, </s> included or not (its list is empty in real files).
        shared : bool
            Whether source and target ids are the same: the source ids become candidates too.

        Returns
        -------
        candidates : (n,) int32
            Ascending. n is a multiple of 8, reached by adding the smallest ids not yet in, or vocab_size.
        """
        source_ids = np.asarray(source_ids, np.intp)
        starts = self.offsets[source_ids]
        lengths = self.offsets[source_ids + 1] - starts
        ends = lengths.cumsum()
        positions = (starts - ends + lengths).repeat(lengths)
        positions += np.arange(positions.size)
        chosen = np.zeros(self.vocab_size, bool)
        chosen[: self.first] = True
        chosen[self.ids[positions].astype(np.intp)] = True  # three times as fast as with int32
        if shared:
            chosen[source_ids] = True
        count = np.count_nonzero(chosen)
        missing = -count % CANDIDATES_MULTIPLE
        # Of the first count + missing ids at least `missing` are free, unless the vocabulary ends before.
        chosen[np.flatnonzero(~chosen[: count + missing])[:missing]] = True
        return np.flatnonzero(chosen).astype(np.int32)


def what_is_wrong(offsets: np.ndarray, ids: np.ndarray, vocab_size: int, owner: str) -> str | None:
    """Returns what is wrong with lists of target ids, `ids[offsets[i] : offsets[i + 1]]` for each `owner`, or None."""
    ends = offsets[[0, -1]].tolist() if offsets.size else None
    if ends != [0, ids.size] or (offsets[1:] < offsets[:-1]).any():
        return f"offsets must rise from 0 to the number of ids, {ids.size}"
    if ids.size and not 0 <= ids.min() <= ids.max() < vocab_size:
        return f"target ids from {ids.min()} to {ids.max()}, expected 0 to {vocab_size - 1}"
    begins = np.zeros(ids.size + 1, bool)
    begins[offsets] = True
    ascending = ((ids[1:] > ids[:-1]) | begins[1:-1]).all()
    return None if ascending else f"the target ids of {owner} are not ascending"


def most_probable(
    chosen: np.ndarray, sources: np.ndarray, targets: np.ndarray, probabilities: np.ndarray, best: int
) -> np.ndarray:
    """Selects the indices of each source's `best` most probable chosen pairs; on a tie, the higher target.

    The result is ordered by source, and then by falling probability.
    """
    chosen = chosen[np.lexsort((-targets[chosen], -probabilities[chosen], sources[chosen]))]
    rank = np.arange(chosen.size) - np.searchsorted(sources[chosen], sources[chosen])
    kept: np.ndarray = chosen[rank < best]
    return kept


def checksum_of(content: np.ndarray) -> int:
    """Computes Marian's checksum of a shortlist.

    Parameters
    ----------
    content : (size,) uint8
        The file after the checksum field. The last of an odd number of 4-byte words is ignored.
    """
    words = np.frombuffer(content[: content.size // 8 * 8], "<u8")
    checksum = 0
    for start in range(0, words.size, 1 << 12):  # a list of all words would take five times the file's size
        for word in (words[start : start + (1 << 12)] + np.uint64(0x9E3779B9)).tolist():
            checksum ^= (word + (checksum << 6) + (checksum >> 2)) & 0xFFFFFFFFFFFFFFFF
    return checksum


def _same_lists(one: Shortlist, other: Shortlist) -> bool:
    return np.array_equal(one.offsets, other.offsets) and np.array_equal(one.ids, other.ids)


def _broken(where: Name, problem: str) -> ModelFileError:
    return ModelFileError(f"{where}: {problem}; fetch the shortlist again, or make one for this vocabulary")
