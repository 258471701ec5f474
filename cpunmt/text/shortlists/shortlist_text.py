"""The text form of a lexical shortlist: a table of translation probabilities.

One line "target source probability" for each pair of pieces, as Marian's recipes make it with fast_align and
extract_lex (`lex.s2t`, mostly packed).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import open_expanded

if TYPE_CHECKING:
    import os

    from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

MAX_FILE = 1 << 30  # bytes, of the file and of what it expands to
_MAX_LINES = 1 << 24  # 32,000 pieces with 100 translations each have 3.2 million
_MAX_LINE = 4096  # bytes


def read_lexicon(
    path: str | os.PathLike[str], source_vocabulary: AnyVocabulary, target_vocabulary: AnyVocabulary
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads the pairs of a text shortlist, in the order of the file; lines with NULL are skipped.

    Parameters
    ----------
    path : str or path-like
        Gzipped if it starts so.
    source_vocabulary, target_vocabulary : Vocabulary
        Unknown pieces become <unk>.

    Returns
    -------
    targets, sources : (pairs,) int64
    probabilities : (pairs,) float32

    Raises
    ------
    ModelFileError
        The file is missing, packed and damaged, has a line of another kind, or is of another vocabulary: more
        than half of its lines have an unknown piece.
    """
    targets, sources, probabilities = array("q"), array("q"), array("f")
    target_ids, source_ids = ids_by_piece(target_vocabulary), ids_by_piece(source_vocabulary)
    target_unk, source_unk = target_vocabulary.unk_id, source_vocabulary.unk_id
    number = unknown = 0
    try:
        with open_expanded(path, "shortlist", MAX_FILE) as file:
            while line := file.readline(_MAX_LINE):
                number += 1
                fields = line.split()  # at ASCII spaces only, as C++ does: a piece may hold others
                if not fields:
                    continue
                target, source, probability = fields
                if target == b"NULL" or source == b"NULL":
                    continue
                targets.append(target_ids.get(target, target_unk))
                sources.append(source_ids.get(source, source_unk))
                unknown += target not in target_ids or source not in source_ids
                probabilities.append(float(probability))
                if number > _MAX_LINES:
                    raise ValueError("too many lines")
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the shortlist: {error}; fetch it again") from None
    except (ValueError, OverflowError):  # not three fields, or the third is not a number
        raise ModelFileError(
            f"{path}: line {number} is {line[:60]!r}, expected 'target source probability' (at most "
            f"{_MAX_LINES} lines of {_MAX_LINE} bytes)"
        ) from None
    values = np.frombuffer(probabilities, np.float32)
    if not values.size or not (values >= 0).all() or np.isinf(values).any():
        raise ModelFileError(f"{path}: no pair, or a probability that is negative, infinite or NaN; make it anew")
    if 2 * unknown > values.size:
        raise ModelFileError(
            f"{path}: made for another vocabulary: {unknown} of {values.size} lines have pieces that "
            f"{source_vocabulary.path} and {target_vocabulary.path} lack; make it anew"
        )
    return np.frombuffer(targets, np.int64), np.frombuffer(sources, np.int64), values


def ids_by_piece(vocabulary: AnyVocabulary) -> dict[bytes, int]:
    """Maps the pieces of a vocabulary, in UTF-8, to their ids."""
    pieces = vocabulary.pieces(range(vocabulary.size))
    return {piece.encode(): id_ for id_, piece in enumerate(pieces)}
