"""Text to ids and back for models of Moses' tokens and subword-nmt's subwords: older packages of Argos.

A text is cut into tokens of its language (`moses`), tokens into subwords (`subword_codes`), and a table gives their
ids.
"""

import os
from collections.abc import Mapping, Sequence

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.moses import Moses, character_spans
from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.text.vocabularies.subword_codes import JOINT, SubwordCodes
from cpunmt.text.vocabularies.vocabulary import clean
from cpunmt.text.vocabularies.word_vocabulary import WordVocabulary


class SubwordVocabulary(WordVocabulary):
    """Vocabulary of subwords: `play@@ ing`. It differs from one of words in how it cuts and joins them."""

    def __init__(
        self,
        codes: str | os.PathLike[str],
        table: str | os.PathLike[str],
        size: int | None = None,
        ids: Mapping[str, int] | None = None,
        language: str = "en",
    ) -> None:
        """Loads the file of `codes` and the `table`. Raises ModelFileError: one is broken, or sacremoses is missing."""
        super().__init__(table, size, ids)
        if not any(piece.endswith(JOINT) for piece in self._pieces):
            raise ModelFileError(
                f"{table}: no piece ends with {JOINT}, expected the vocabulary that was made with the subword codes "
                f"{codes}"
            )
        self._codes, self._moses = SubwordCodes(codes), Moses(language, codes)

    def surfaces(self, text: str) -> list[str]:
        return [piece for token in self._moses.tokens(clean(text)) for piece in self._codes.cut(token)]

    def spans(self, text: str) -> list[Span]:
        return self.spans_in(clean(text), self.surfaces(text))

    def spans_in(self, text: str, pieces: Sequence[str]) -> list[Span]:
        tokens, places = [""], list[tuple[int, int, int]]()  # of each piece: token, begin and end in it
        for piece in pieces:
            is_joined = piece.endswith(JOINT) and len(places) < len(pieces) - 1
            piece = piece.removesuffix(JOINT) if is_joined else piece
            begin = len(tokens[-1])
            tokens[-1] += piece
            places.append((len(tokens) - 1, begin, begin + len(piece)))
            if not is_joined:
                tokens.append("")
        found, spans = list[Span](), character_spans(tokens, text)
        for token, begin, end in places:
            some = [span for span in spans[token][begin:end] if span[0] < span[1]]
            at = found[-1][1] if found else 0
            found.append((some[0][0], some[-1][1]) if some else (at, at))
        return found

    def text_of(self, pieces: Sequence[str]) -> str:
        return self._moses.text(" ".join(filter(None, map(clean, pieces))).replace(f"{JOINT} ", "").split(" "))
