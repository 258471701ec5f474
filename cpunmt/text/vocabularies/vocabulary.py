"""Text to ids and back: a SentencePiece model, as Marian uses it.

Needs sentencepiece 0.2.1 or newer: older ones crash the process on some broken models.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import sentencepiece

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded, plain_name
from cpunmt.process.first_use import LOCK
from cpunmt.process.native_calls import native
from cpunmt.text.vocabularies.piece_spans import Span, source_spans, target_spans

MAX_VOCABULARY = 64 << 20  # bytes; a model of 32,000 pieces has less than one
WORD = "\u2581"  # SentencePiece's mark at the beginning of a word
Ids = Sequence[int] | np.ndarray[Any, np.dtype[Any]]  # or one-dimensional integer array
_TAG = re.compile("<2[A-Za-z][A-Za-z_]{0,15}>")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Vocabulary:
    """The pieces of one SentencePiece model; safe to share between threads.

    Attributes
    ----------
    size : int
        Number of pieces; ids are 0 .. size - 1.
    eos_id, unk_id : int
        From the model: 0 and 1 in models trained for Marian.
    path : Path
    mark : str
        The prefix of pieces at the beginning of a word.
    tag_ids : frozenset of int
        The pieces that name languages in a model of many.
    """

    mark = WORD
    tag_ids: frozenset[int] = frozenset()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Loads `path`.

        Raises
        ------
        ModelFileError
            The file is missing, broken or over 64 MiB, or the model has no </s> or <unk>.
        """
        self.path = Path(path)
        self._known: dict[int, str] = {}  # id -> piece, of ids used so far: SentencePiece takes ten times as long
        self._processor = load_processor(path, add_eos=True)
        self.size = self._processor.get_piece_size()
        self.eos_id = self._processor.eos_id()
        self.unk_id = self._processor.unk_id()
        if not 0 <= self.unk_id < self.size:
            raise ModelFileError(f"{path}: the SentencePiece model has no <unk>; train it with unk_id=1")
        if not 0 <= self.eos_id < self.size or not self._processor.is_control(self.eos_id):
            raise ModelFileError(f"{path}: the SentencePiece model has no </s>; train it with eos_id=0")

    def encode(self, text: str) -> list[int]:
        """Returns the ids of `text`, a list that ends with `eos_id`, which is alone for empty and blank text.

        Line breaks count as spaces. Lone surrogates are read as U+FFFD.
        """
        with native:
            found: list[int] = self._processor.encode(clean(text))
        return found

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Returns the ids of each of `texts`: a list of lists."""
        # SentencePiece's own batch call starts threads, which do not survive a fork, and saves 2 us a text.
        return [self.encode(text) for text in texts]

    def decode(self, ids: Ids) -> str:
        """Returns the text of `ids` (list or integer array) up to the first `eos_id`, if there is one.

        Raises
        ------
        ValueError
            An id is not in the vocabulary.
        ModelFileError
            The vocabulary's pieces are not UTF-8.
        """
        try:
            return cast(str, call_processor(self.path, self._processor.decode, before_end(ids, self.eos_id)))
        except IndexError:
            raise self._no_such_id() from None

    def pieces(self, ids: Ids) -> list[str]:
        """Returns the piece of each id, `</s>` included: a list of strings. Errors as in `decode`."""
        ids = ids.tolist() if isinstance(ids, np.ndarray) else ids
        try:
            return [self._known.get(id_) or self._piece(id_) for id_ in ids]
        except IndexError:
            raise self._no_such_id() from None

    def _piece(self, id_: int) -> str:
        return self._known.setdefault(id_, cast(str, call_processor(self.path, self._processor.id_to_piece, id_)))

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """Returns the id of each piece; `unk_id` for an unknown one. Does not add </s>."""
        with native:
            return [self._processor.piece_to_id(clean(piece)) for piece in pieces]

    def surfaces(self, text: str) -> list[str]:
        """Returns the pieces of `text`, without </s>; an unknown one as it is spelled in the text."""
        found: list[str] = call_processor(self.path, self._processor.encode, clean(text), out_type=str)
        return found[:-1]

    def spans(self, text: str) -> list[Span]:
        """Returns the span of each of `surfaces(text)` in `text`, in code points, ascending."""
        return located(self.path, self._processor, clean(text), self.surfaces(text))

    def spans_in(self, text: str, pieces: Sequence[str]) -> list[Span]:
        """Returns the span of each of `pieces` in `text`, which is theirs."""
        return target_spans(pieces, text)

    def language_end(self, text: str) -> int:
        """Returns the beginning of the text after the name of its target language, `>>fra<<` or MADLAD's `<2fr>`; 0
        without a name.

        A name is a piece that texts are never cut inside.
        """
        start = text.lstrip()
        if (end := name_end(start)) == 0:
            return 0
        name, rest = start[:end], start[end:].lstrip()
        (id_,) = self.ids([name])
        return len(text) - len(rest) if id_ != self.unk_id and id_ in self.encode(name)[:2] else 0

    def text_of(self, pieces: Sequence[str]) -> str:
        """Returns the text of pieces, known or unknown."""
        unknown = [id_ == self.unk_id for id_ in self.ids(pieces)]
        # SentencePiece takes an unknown piece for text without a mark
        spaced = [clean(p).replace(WORD, " ") if u else p for p, u in zip(pieces, unknown, strict=True)]
        text: str = call_processor(self.path, self._processor.decode, spaced)
        return text.removeprefix(" ") if unknown[:1] == [True] else text

    def _no_such_id(self) -> ValueError:
        return ValueError(f"ids: one is not in the vocabulary {self.path}, expected 0 to {self.size - 1}")


def name_end(text: str) -> int:
    """Returns the end of the name of a language that a text begins with, in the form `>>fra<<` or `<2fr>`; 0 without
    one."""
    if text.startswith(">>"):
        return text.find("<<", 2) + 2 if "<<" in text[2:] else 0
    found = _TAG.match(text) if text.startswith("<2") else None
    return found.end() if found else 0


def load_processor(path: str | os.PathLike[str], **options: Any) -> Any:
    """Loads the SentencePiece model in a file, plain or packed, or in a tokenizer.json; errors as of `Vocabulary`."""
    content = model_bytes(path)
    processor = sentencepiece.SentencePieceProcessor(**options)
    try:
        with native:
            processor.LoadFromSerializedProto(content)
            processor.decode(list(range(processor.get_piece_size())))  # finds pieces that are not UTF-8, 1 ms for 8,000
    except (RuntimeError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"{path}: not a SentencePiece model, or a broken one ({error}); fetch or pack the model again"
        ) from None
    return processor


def model_bytes(path: str | os.PathLike[str]) -> bytes:
    """Returns the serialized model of a file that `load_processor` takes; not checked. Raises ModelFileError."""
    if not plain_name(os.fspath(path)).endswith(".json"):
        return expanded(path, "vocabulary", MAX_VOCABULARY).tobytes()
    with LOCK:  # few models need it
        from cpunmt.text.vocabularies.tokenizer_json import read_tokenizer_json
    return read_tokenizer_json(path).model


def call_processor(
    path: str | os.PathLike[str], method: Callable[..., Any], *arguments: object, **options: object
) -> Any:
    """Calls a method of the SentencePiece model in the file `path`.

    Raises ModelFileError if a piece is not UTF-8, which may show only now.
    """
    try:
        with native:
            return method(*arguments, **options)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path}: a piece is not UTF-8 ({error}); fetch or pack the model again") from None


def located(path: str | os.PathLike[str], processor: Any, text: str, pieces: Sequence[str]) -> list[Span]:
    """Returns the spans in `text` of the `pieces` into which a SentencePiece model cuts it."""
    normalized, origins = call_processor(path, processor.normalize, text, with_offsets=True)
    return source_spans(text, pieces, normalized, origins)


def before_end(ids: Ids, eos_id: int) -> list[int]:
    """Returns `ids` (list or integer array) up to the first `eos_id`, if there is one."""
    ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    return ids[: ids.index(eos_id)] if eos_id in ids else ids


def are_clean(texts: Iterable[str]) -> bool:
    """Returns whether `clean` would leave all texts as they are; much faster for many."""
    return _SURROGATES.search("".join(texts)) is None


def clean(text: str) -> str:
    """Returns `text` as plain str, without lone surrogates, which SentencePiece refuses."""
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}, expected str")
    text = str.__str__(text)  # a subclass may print differently
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
