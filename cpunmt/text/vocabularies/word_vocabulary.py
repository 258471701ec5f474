"""Text to ids and back for Marian's word vocabularies: words are separated by spaces.

As in Marian, words are neither cut nor joined. Subwords of subword-nmt (`play@@ ing`) count as words; the caller joins
them.
"""

import os
import re
from collections.abc import Mapping, Sequence

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.text.vocabularies.table_vocabulary import TableVocabulary
from cpunmt.text.vocabularies.vocabulary import WORD, Ids, before_end, clean

# Marian cuts at spaces alone. A line that it reads holds no line breaks, and its words hardly the other ones.
_GAP = re.compile("[ \t\n\v\f\r]+")
_TOKEN = re.compile("[^ \t\n\v\f\r]+")
_SUSPICIOUS = 0.1  # share of words with SentencePiece's mark that marks a table of its pieces


class WordVocabulary(TableVocabulary):
    """Vocabulary of words, with <unk> for all others."""

    mark = ""

    def __init__(
        self, table: str | os.PathLike[str], size: int | None = None, ids: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(table, size, ids)
        marked = [piece for piece in self._pieces if piece.startswith(WORD)]
        if len(marked) > _SUSPICIOUS * self.size:
            raise ModelFileError(
                f"{table}: a table of SentencePiece's pieces ({marked[0][:80]!r}), expected one of words; put "
                "source.spm and target.spm, the models that cut text into them, beside it and give the directory"
            )

    def encode(self, text: str) -> list[int]:
        # a text that contains </s> does not end there
        found = [self.unk_id if id_ == self.eos_id else id_ for id_ in self.ids(self.surfaces(text))]
        return [*found, self.eos_id]

    def decode(self, ids: Ids) -> str:
        return self.text_of(self.pieces(before_end(ids, self.eos_id)))

    def surfaces(self, text: str) -> list[str]:
        return [token for token in _GAP.split(clean(text)) if token and not token.isspace()]

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in _TOKEN.finditer(clean(text)) if not match[0].isspace()]

    def text_of(self, pieces: Sequence[str]) -> str:
        return " ".join(filter(None, map(clean, pieces)))
