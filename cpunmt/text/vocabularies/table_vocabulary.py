"""The common part of vocabularies whose ids come from a table (`piece_table`). Subclasses cut the text."""

import abc
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_spans import Span, target_spans
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.vocabulary import Ids, are_clean, clean

_EOS, _UNK = "</s>", "<unk>"
_OLD_NAMES = {_EOS: (0, "eos"), _UNK: (1, "UNK")}  # in tables of Marian's predecessors: their id, and their name


class TableVocabulary(abc.ABC):
    """The interface of `Vocabulary`, whose methods say what each returns; safe to share between threads.

    Attributes
    ----------
    size : int
        ids are 0 .. size - 1.
    eos_id, unk_id : int
        From the table: 0 and 1 in models trained with Marian.
    path : Path
        Of the table.
    mark : str
        The prefix of pieces at the beginning of a word; "" if every piece is a word.
    tag_ids : frozenset of int
        The pieces that name languages in a model of many.
    """

    mark: str
    tag_ids: frozenset[int] = frozenset()

    def __init__(
        self, table: str | os.PathLike[str], size: int | None = None, ids: Mapping[str, int] | None = None
    ) -> None:
        """Loads the `table`, or takes its content, `ids`.

        Ids from `size` on are skipped: the model does not have them. An id without a piece reads as empty text.

        Raises
        ------
        ModelFileError
            The file is missing or broken, or has no </s> or <unk>.
        """
        self.path = Path(table)
        found = read_table(table) if ids is None else ids
        self.eos_id, self.unk_id = special_ids(found, table)
        self._ids = dict(found)
        if size is not None and max(found.values(), default=-1) >= size:
            self._ids = {piece: id_ for piece, id_ in found.items() if id_ < size}
        self.size = max(self._ids.values(), default=-1) + 1
        self._pieces = [""] * self.size
        for piece, id_ in self._ids.items():
            self._pieces[id_] = piece
        if not are_clean(self._pieces):
            self._pieces = list(map(clean, self._pieces))
        if max(self.eos_id, self.unk_id) >= self.size:
            raise ModelFileError(
                f"{table}: {_EOS} has id {self.eos_id} and {_UNK} {self.unk_id}, but there are {self.size} pieces"
            )
        self._ids[_EOS] = self.eos_id

    def to_json(self) -> bytes:
        """Returns the table as `read_table` reads it: a list, which is read faster, if each id has one piece."""
        pieces = sorted(self._ids, key=self._ids.__getitem__)
        is_list = [self._ids[piece] for piece in pieces] == list(range(len(pieces)))
        return json.dumps(pieces if is_list else self._ids, indent=0).encode()

    @abc.abstractmethod
    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    @abc.abstractmethod
    def decode(self, ids: Ids) -> str: ...

    def pieces(self, ids: Ids) -> list[str]:
        ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < self.size:
            raise ValueError(f"ids: one is not in the vocabulary {self.path}, expected 0 to {self.size - 1}")
        return [self._pieces[id_] for id_ in ids]

    @abc.abstractmethod
    def surfaces(self, text: str) -> list[str]: ...

    @abc.abstractmethod
    def spans(self, text: str) -> list[Span]: ...

    def spans_in(self, text: str, pieces: Sequence[str]) -> list[Span]:
        return target_spans(pieces, text)

    def language_end(self, text: str) -> int:
        return 0

    @abc.abstractmethod
    def text_of(self, pieces: Sequence[str]) -> str: ...

    def ids(self, pieces: Iterable[str]) -> list[int]:
        return [self._ids.get(clean(piece), self.unk_id) for piece in pieces]


def special_ids(table: Mapping[str, int], path: str | os.PathLike[str]) -> tuple[int, int]:
    """Returns the ids of the end of sentence and of unknown pieces in a table. Raises ModelFileError if either is
    missing."""
    special = []
    for piece, (old_id, old_name) in _OLD_NAMES.items():
        piece_id = table.get(piece)
        if piece_id is None:
            names_at_old_id = {name for name, id_ in table.items() if id_ == old_id}
            if not names_at_old_id <= {"", old_name}:  # another piece has the id
                raise ModelFileError(f"{path}: the vocabulary has no {piece}; expected one made for Marian")
            piece_id = old_id
        special.append(piece_id)
    return special[0], special[1]
