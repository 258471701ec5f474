"""Moses' tokens of a text, and the text of tokens, by sacremoses: an optional library, loaded for models that need it.

Tokens are words and signs. Punctuation is normalized first, and eight signs are escaped: `&apos;` is an apostrophe.
"""

import os
import re
from collections.abc import Iterator, Sequence

from cpunmt.errors import ModelFileError
from cpunmt.process.first_use import LOCK
from cpunmt.text.vocabularies.piece_spans import Span

# sacremoses takes time by the square of a run of dots; a longer text is cut between words, or anywhere
_PART = re.compile(r"(?s).{1,4000}(?!\S)|.{1,4000}")
_SIGNS = {
    **{"&amp;": "&", "&#124;": "|", "&lt;": "<", "&gt;": ">", "&apos;": "'", "&quot;": '"', "&#91;": "[", "&#93;": "]"},
    **{"&bar;": "|", "&bra;": "[", "&ket;": "]"},  # of old versions of Moses
}
_CHARACTER = re.compile("|".join(map(re.escape, _SIGNS)) + "|(?s:.)")
# signs that normalization changes, and what stands for each
_NORMAL = str.maketrans(
    "\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u201a\u00b4`\u2013\u2014\u2026", 5 * '"' + 5 * "'" + "--."
)
_FAR = 16  # characters in which a sign is searched


class Moses:
    """Cuts texts of a language into tokens, and makes texts of tokens; safe to share between threads."""

    def __init__(self, language: str, path: str | os.PathLike[str]) -> None:
        """Takes the code of a language; the rules of an unknown one are those of English.

        Raises ModelFileError, which names the file `path`, if sacremoses is not installed.
        """
        try:
            with LOCK:
                from sacremoses.normalize import MosesPunctNormalizer
                from sacremoses.tokenize import MosesDetokenizer, MosesTokenizer
        except ImportError:
            raise ModelFileError(
                f"{path}: texts of this model are cut by sacremoses, which is not installed; run: "
                "pip install 'cpunmt[moses]'"
            ) from None
        self._normalizer = MosesPunctNormalizer(language)
        self._tokenizer, self._detokenizer = MosesTokenizer(language), MosesDetokenizer(language)

    def tokens(self, text: str) -> list[str]:
        """Returns the tokens of a text."""
        found: list[str] = []
        for part in _PART.findall(text):
            found += self._tokenizer.tokenize(self._normalizer.normalize(part))
        return found

    def text(self, tokens: Sequence[str]) -> str:
        """Returns the text of tokens."""
        try:
            return str(self._detokenizer.detokenize(tokens))
        except TypeError:  # of sacremoses 0.2.0, for one construction of Czech
            return " ".join("".join(sign for _, sign in _signs(token)) for token in tokens)


def character_spans(tokens: Sequence[str], text: str) -> list[list[Span]]:
    """Returns the span in `text` of each character of each token, all of them ascending.

    Neither cutting nor joining changes a letter or a digit, so these are counted. A sign is searched between them; the
    span of one that normalization has changed may be empty.
    """
    normal = text.translate(_NORMAL)
    letters = [place for place, character in enumerate(normal) if character.isalnum()]
    number = at = 0
    found: list[list[Span]] = []
    for token in tokens:
        spans: list[Span] = []
        for length, sign in _signs(token.translate(_NORMAL)):
            limit = letters[number] if number < len(letters) else len(text)
            if sign.isalnum():
                place = limit if limit < len(text) else -1
                number += 1
            else:
                place = normal.find(sign, at, min(limit, at + _FAR))
            span = (at, at) if place < 0 else (place, place + 1)
            at = span[1]
            spans += [span] * length
        found.append(spans)
    return found


def _signs(token: str) -> Iterator[tuple[int, str]]:
    """Yields each character of a token that has escapes, and its length there."""
    for found in _CHARACTER.finditer(token):
        yield len(found[0]), _SIGNS.get(found[0], found[0])
