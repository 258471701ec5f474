"""CTranslate2's vocabulary map: the target pieces worth scoring for the n-grams of a source.

A line "source pieces<TAB>target pieces", with one space between two pieces, lists what an n-gram of the source may
become. The candidates of a sentence are the target pieces of all its n-grams, those of a line without source pieces,
<s>, </s> and <unk>. Of two lines with the same n-gram the last counts. A target piece that the vocabulary lacks is
<unk>. A line is never used if one of its source pieces is </s> or missing from the source vocabulary.

Source: `src/vocabulary_map.cc` in https://github.com/OpenNMT/CTranslate2.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import open_expanded
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.shortlists.shortlist_text import ids_by_piece

if TYPE_CHECKING:
    from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

NAME = "vmap.txt"
_MAX_FILE = 1 << 30  # bytes, of the file and of what it expands to
_MAX_LINES = 1 << 21
_MAX_LINE = 1 << 22  # bytes; the 256,000 pieces of a large vocabulary have 2.5 MB
_MAX_LENGTH = 64  # pieces of an n-gram: phrase tables have up to 7
_MAX_TARGETS = 1 << 26  # of all lines: 256 MB
_ITEM = array("i").itemsize


class VocabularyMap:
    """The target pieces of n-grams. Unlike a `Shortlist`, it is used only where a call asks for it.

    Attributes
    ----------
    always : the ids that are always candidates
    rules : the ids of an n-gram as the bytes of int32s -> those of its target pieces, in the same form
    """

    is_default = False

    def __init__(self, always: Sequence[int], rules: dict[bytes, bytes]) -> None:
        self.always, self.rules = np.unique(np.asarray(always, np.int32)), rules
        self._lengths = sorted({len(key) for key in rules})

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        source_vocabulary: AnyVocabulary,
        target_vocabulary: AnyVocabulary,
        always: Sequence[int] = (),
    ) -> VocabularyMap:
        """Reads a file, plain or packed with gzip or zstd. `always`: ids that are candidates besides the file's.

        Raises ModelFileError for a file that is missing or damaged, or has another kind of line.
        """
        sources, targets = ids_by_piece(source_vocabulary), ids_by_piece(target_vocabulary)
        unknown, ends = target_vocabulary.unk_id, {source_vocabulary.unk_id, source_vocabulary.eos_id}
        common, rules, number, count = b"", dict[bytes, bytes](), 0, 0
        try:
            with open_expanded(path, "vocabulary map", _MAX_FILE) as file:
                while line := file.readline(_MAX_LINE):
                    number += 1
                    key, tab, rest = line.rstrip(b"\r\n").partition(b"\t")
                    pieces = key.split(b" ") if key else []
                    is_cut = len(line) == _MAX_LINE and not line.endswith(b"\n")
                    if not tab or b"\t" in rest or is_cut or len(pieces) > _MAX_LENGTH or number > _MAX_LINES:
                        raise ValueError("not a rule")
                    found = {targets.get(piece, unknown) for piece in rest.split(b" ")} if rest else set()
                    values, count = array("i", sorted(found)), count + len(found)
                    if count > _MAX_TARGETS:
                        raise ValueError("too many")
                    ids = [sources.get(piece, -1) for piece in pieces]
                    if not ids:
                        common = values.tobytes()
                    elif -1 not in ids and ends.isdisjoint(ids):
                        rules[array("i", ids).tobytes()] = values.tobytes()
        except OSError as error:
            raise ModelFileError(f"{path}: cannot read the vocabulary map: {error}; fetch it again") from None
        except ValueError:
            raise ModelFileError(
                f"{path}: line {number} is {line[:60]!r}, expected 'source pieces<TAB>target pieces' (at most "
                f"{_MAX_LINES} lines of less than {_MAX_LINE} bytes, {_MAX_LENGTH} source pieces of a line, and "
                f"{_MAX_TARGETS} target pieces of all); make it anew, or move it away: it is used only on request"
            ) from None
        first = *always, unknown, target_vocabulary.eos_id, targets.get(b"<s>", unknown)
        return cls([*first, *np.frombuffer(common, np.int32)], rules)

    def to_text(self, source_vocabulary: AnyVocabulary, target_vocabulary: AnyVocabulary) -> bytes:
        """Returns the content of a file for these vocabularies."""

        def pieces(vocabulary: AnyVocabulary, ids: np.ndarray) -> bytes:
            return " ".join(vocabulary.pieces(ids.tolist())).encode()

        rules = {b"": self.always.tobytes(), **self.rules}
        sides = source_vocabulary, target_vocabulary
        lines = (
            b"\t".join(pieces(side, np.frombuffer(ids, np.int32)) for side, ids in zip(sides, rule, strict=True))
            for rule in rules.items()
        )
        return b"".join(line + b"\n" for line in lines)

    def candidates(self, source_ids: Sequence[int]) -> np.ndarray:
        """Returns the target ids worth scoring for one sentence, ascending int32."""
        source = array("i", source_ids).tobytes()
        keys = {  # a sentence may repeat one, and its targets may be many
            source[first : first + length]
            for length in self._lengths
            for first in range(0, len(source) - length + 1, _ITEM)
        }
        targets = [self.rules.get(key, b"") for key in keys]
        return np.unique(np.frombuffer(b"".join([self.always.tobytes(), *targets]), np.int32))


AnyShortlist = Shortlist | VocabularyMap


class MapFile(NamedTuple):
    """A file with a vocabulary map, and the ids that are always candidates."""

    path: Path
    always: tuple[int, ...] = ()

    def opened(self, source: AnyVocabulary, target: AnyVocabulary) -> VocabularyMap:
        """Returns the map of these vocabularies. Raises ModelFileError as `VocabularyMap.read`."""
        return VocabularyMap.read(self.path, source, target, self.always)
