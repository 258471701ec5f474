"""Vocabularies whose ids a table gives (`piece_table`): what all of them have. How a text is cut, each kind says."""

import abc
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.text.piece_spans import Span
from cpunmt.text.piece_table import read_table
from cpunmt.text.vocabulary import Ids, clean

_EOS, _UNK = "</s>", "<unk>"
_OLD_NAMES = {_EOS: (0, "eos"), _UNK: (1, "UNK")}  # in tables of Marian's predecessors: their id, and their name


class TableVocabulary(abc.ABC):
    """The interface of `Vocabulary`; safe to share between threads.

    Attributes
    ----------
    size : int
        ids are 0 .. size - 1.
    eos_id, unk_id : int
        As the table says: 0 and 1 in models trained with Marian.
    path : Path
        Of the table.
    mark : str
        What a piece begins with where a word begins; "" if every piece is a word.
    """

    mark: str

    def __init__(self, table: str | os.PathLike[str], size: int | None = None) -> None:
        """Load the `table`.

        Ids from `size` on are left out: the model does not have them. An id without a piece reads as empty text.

        Raises
        ------
        ModelFileError
            The file is missing or broken, or has no </s> or <unk>.
        """
        self.path = Path(table)
        found = read_table(table)
        self.eos_id, self.unk_id = special_ids(found, table)
        self._ids = {piece: id_ for piece, id_ in found.items() if size is None or id_ < size}
        self.size = max(self._ids.values(), default=-1) + 1
        self._pieces = [""] * self.size
        for piece, id_ in self._ids.items():
            self._pieces[id_] = clean(piece)
        if max(self.eos_id, self.unk_id) >= self.size:
            raise ModelFileError(
                f"{table}: {_EOS} has id {self.eos_id} and {_UNK} {self.unk_id}, but there are {self.size} pieces"
            )
        self._ids[_EOS] = self.eos_id

    def to_json(self) -> bytes:
        """The table, as `read_table` reads it."""
        return json.dumps(self._ids, indent=0).encode()

    @abc.abstractmethod
    def encode(self, text: str) -> list[int]:
        """Ids of `text`, a list that ends with `eos_id`, and is nothing else for empty and blank text.

        Line breaks count as spaces. Lone surrogates are read as U+FFFD.
        """

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Ids of each of `texts`: a list of lists."""
        return [self.encode(text) for text in texts]

    @abc.abstractmethod
    def decode(self, ids: Ids) -> str:
        """Text of `ids` (list or integer array) up to the first `eos_id`.

        Raises ValueError if an id is not in the vocabulary.
        """

    def pieces(self, ids: Ids) -> list[str]:
        """The piece of each id, `</s>` included: a list of strings. Errors as in `decode`."""
        ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < self.size:
            raise ValueError(f"ids: one is not in the vocabulary {self.path}, expected 0 to {self.size - 1}")
        return [self._pieces[id_] for id_ in ids]

    @abc.abstractmethod
    def surfaces(self, text: str) -> list[str]:
        """The pieces of `text`, without </s>; an unknown one as it stands in the text."""

    @abc.abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Where each of `surfaces(text)` stands in `text`: begin and end in code points, ascending."""

    def language_end(self, text: str) -> int:
        """Where the text begins after the name of the language to translate into; 0 if it names none."""
        return 0

    @abc.abstractmethod
    def text_of(self, pieces: Sequence[str]) -> str:
        """The text of pieces, whether the vocabulary has them or not."""

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """The id of each piece; `unk_id` for what is no piece. No </s> is added."""
        return [self._ids.get(clean(piece), self.unk_id) for piece in pieces]


def special_ids(table, path) -> tuple[int, int]:
    """Ids of the end of sentence and of unknown pieces in a table. Raises ModelFileError if it has none."""
    named = {id_: piece for piece, id_ in table.items()}
    found = []
    for piece, (old, name) in _OLD_NAMES.items():
        id_ = table.get(piece, old if named.get(old, name) in ("", name) else None)
        if id_ is None:
            raise ModelFileError(f"{path}: the vocabulary has no {piece}; expected one made for Marian")
        found.append(id_)
    return tuple(found)
