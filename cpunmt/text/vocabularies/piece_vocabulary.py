"""Text to ids and back for OPUS-MT: a SentencePiece model cuts text into pieces, and a table gives their ids."""

import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.text.vocabularies.piece_table import UNNAMED
from cpunmt.text.vocabularies.table_vocabulary import TableVocabulary
from cpunmt.text.vocabularies.vocabulary import (
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
from cpunmt.text.vocabularies.word_vocabulary import WordVocabulary

_SPECIAL = ("<s>", "<pad>", "<mask>")  # of models of many languages


class PieceVocabulary(TableVocabulary):
    """Vocabulary of OPUS-MT. A text may begin with its target language, `>>fra<<`: one piece, if the table has it.

    Attributes
    ----------
    languages : tuple of str
        The language pieces of the table, sorted.
    """

    mark = WORD

    def __init__(
        self,
        pieces: str | os.PathLike[str],
        table: str | os.PathLike[str],
        size: int | None = None,
        ids: Mapping[str, int] | None = None,
        tags: Collection[str] = (),
    ) -> None:
        """Loads the SentencePiece model `pieces` and the `table`. Errors: those of both.

        Parameters
        ----------
        ids : the content of the table, if it is known
        tags : pieces that name languages: with other special pieces they are left out of texts
        """
        super().__init__(table, size, ids)
        self.tag_ids = frozenset(self._ids[tag] for tag in tags if tag in self._ids)
        hidden = [*tags, *_SPECIAL, *self._unnamed()] if tags else []
        self._hidden = frozenset({self.unk_id, *(self._ids[piece] for piece in hidden if piece in self._ids)})
        self._hidden_pieces = frozenset(hidden)
        named = [piece for piece in self._pieces if piece[:2] == ">>" and piece[-2:] == "<<"]
        self.languages = tuple(sorted(named))
        self._pieces_path, self._processor = pieces, load_processor(pieces)

    def _unnamed(self) -> Iterator[str]:
        """Yields the pieces that stand for rows of the weights without a piece, as CTranslate2 calls them."""
        for form in (UNNAMED, "madeupword{:04d}"):
            for number in itertools.count():
                if (piece := form.format(number)) not in self._ids:
                    break
                yield piece

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
        return self._joined(self.pieces([id_ for id_ in before_end(ids, self.eos_id) if id_ not in self._hidden]))

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
        return self._joined([clean(piece) for piece in pieces if piece not in self._hidden_pieces])


AnyVocabulary = Vocabulary | PieceVocabulary | WordVocabulary
