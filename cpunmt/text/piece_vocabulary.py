"""Text to ids and back for OPUS-MT: a SentencePiece model cuts text into pieces, and a table gives their ids."""

import os
from collections.abc import Sequence

from cpunmt.text.piece_spans import Span
from cpunmt.text.table_vocabulary import TableVocabulary
from cpunmt.text.vocabulary import (
    WORD,
    Ids,
    Vocabulary,
    before_end,
    call_processor,
    clean,
    load_processor,
    located,
    name_end,
)
from cpunmt.text.word_vocabulary import WordVocabulary


class PieceVocabulary(TableVocabulary):
    """Vocabulary of OPUS-MT. A text may begin with its target language, `>>fra<<`: one piece, if the table has it.

    Attributes
    ----------
    languages : tuple of str
        The language pieces of the table, sorted.
    """

    mark = WORD

    def __init__(self, pieces: str | os.PathLike[str], table: str | os.PathLike[str], size: int | None = None) -> None:
        """Loads the SentencePiece model `pieces` and the `table`. Errors: those of both."""
        super().__init__(table, size)
        self.languages = tuple(sorted(piece for piece in self._pieces if piece[:2] == ">>" and piece[-2:] == "<<"))
        self._pieces_path, self._processor = pieces, load_processor(pieces)

    def encode(self, text: str) -> list[int]:
        language, rest = self._language(clean(text))
        found = self.ids(self._cut(rest))
        return [*self.ids(language), *found, self.eos_id] if found else [self.eos_id]

    def _language(self, text: str) -> tuple[list[str], str]:
        """Returns (first piece of `text` if it names a language, or nothing; the rest of it)."""
        start = text.lstrip()
        if start.startswith(">>") and (end := start.find("<<", 2)) != -1 and start[: end + 2] in self._ids:
            return [start[: end + 2]], start[end + 2 :]
        return [], text

    def _cut(self, text: str) -> list[str]:
        found: list[str] = call_processor(self._pieces_path, self._processor.encode, text, out_type=str)
        return found

    def _joined(self, pieces: Sequence[str]) -> str:
        text: str = call_processor(self._pieces_path, self._processor.decode_pieces, pieces)
        return text.replace(WORD, " ").strip()

    def decode(self, ids: Ids) -> str:
        return self._joined(self.pieces([id_ for id_ in before_end(ids, self.eos_id) if id_ != self.unk_id]))

    def surfaces(self, text: str) -> list[str]:
        language, rest = self._language(clean(text))
        return language + self._cut(rest)

    def spans(self, text: str) -> list[Span]:
        text = clean(text)
        language, rest = self._language(text)
        before = len(text) - len(rest)
        found = located(self._pieces_path, self._processor, rest, self._cut(rest))
        first = [(before - len(piece), before) for piece in language]
        return [*first, *[(begin + before, end + before) for begin, end in found]]

    def language_end(self, text: str) -> int:
        start = text.lstrip()
        if start.startswith("<2"):
            name = start[: name_end(start)]
            is_named = name in self._ids and name in self._cut(name)[:2]
            return len(text) - len(start[len(name) :].lstrip()) if is_named else 0
        if not self.languages or not start.startswith(">>"):
            return 0
        language, rest = self._language(text)
        return len(text) - len(rest.lstrip()) if language else 0

    def text_of(self, pieces: Sequence[str]) -> str:
        return self._joined([clean(piece) for piece in pieces])


AnyVocabulary = Vocabulary | PieceVocabulary | WordVocabulary
