"""Arguments of the public calls: each wrong one is one clear TypeError or ValueError, which names the item."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Set
from itertools import islice, repeat

from cpunmt.model.config import ModelConfig
from cpunmt.text.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import same, shown

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Tokenize = Callable[[str], list[str]]
Detokenize = Callable[[list[str]], str]
MOST_THREADS = 256
MOST_MODELS = 64  # of an ensemble
_BYTES = bytes | bytearray | memoryview
_PIECES = "a list of pieces"


def expect(name: str, value: object, expected: list[object], reason: str) -> None:
    """Raise ValueError unless `value` is one of `expected`."""
    if not any(same(value, one) for one in expected):
        raise ValueError(f"{name} is {shown(value)}, expected {' or '.join(map(repr, expected))}: {reason}")


def in_order(items: object, what: str, takes: str) -> Iterator[object]:
    """The items of an iterable that has an order, and whose items are what it holds.

    Parameters
    ----------
    what : what it is, for the message: "translate" or "target_prefix"
    takes : what is expected there

    Raises TypeError, which says what to give instead, for text, bytes, mappings, sets, data frames and what is no
    iterable.
    """
    if isinstance(items, list):  # most are
        return iter(items)
    advice, kind = "", type(items)
    if isinstance(items, _BYTES):
        advice = ": decode it, data.decode()"
    elif isinstance(items, Mapping):
        advice = ", whose items would be its keys: give list(d.values())"
    elif isinstance(items, Set) and not isinstance(items, KeysView):
        advice = ", which has no order: give sorted(s), or a list"
    elif hasattr(kind, "columns") and hasattr(kind, "shape"):
        advice = ", whose items would be its columns: give one of them, df['column']"
    elif hasattr(kind, "columns") and hasattr(kind, "collect"):  # of its type: one that is lazy computes its columns
        advice = ", which holds no rows yet: collect() it, and give one column"
    elif isinstance(items, Iterable) and not isinstance(items, str) and getattr(items, "shape", None) != ():
        return iter(items)
    raise TypeError(f"{what} takes {takes}, not {kind.__name__}{advice}")


def text_list(texts: object, caller: str, name: str = "text", most: int | None = None) -> list[str]:
    """`texts` as a list, of the first `most` of them; TypeError for the first one that is no text, see `plain_text`."""
    items = islice(in_order(texts, caller, "text or a list of texts"), most)
    return [plain_text(text, number, name) for number, text in enumerate(items)]


def plain_text(text: object, number: int, name: str, expected: str = "str") -> str:
    """The characters of a text: a subclass, such as an Enum's, may print as others. TypeError for what is no text."""
    if not isinstance(text, str):
        raise wrong_item(name, number, text, expected)
    return str.__str__(text)


def wrong_item(name: str, number: int, item: object, expected: str) -> TypeError:
    """What to raise of an item that is not as expected, counted from 0: `text 3 is None, expected str`."""
    said = shown(item) if item is None or isinstance(item, float | int) else type(item).__name__
    return TypeError(f"{name} {number} is {said}, expected {expected}; they are counted from 0")


def piece_list(pieces: object, number: int, name: str = "sentence", most: int | None = None) -> list[str]:
    """A sentence given as pieces, as a list of them, of which there may be more than `most` only in what is not read.

    `number`: which it is, for the message.
    """
    if isinstance(pieces, str):
        raise TypeError(f"{name} {number} is str, expected {_PIECES}; translate and score take text")
    if pieces is None or not isinstance(pieces, Iterable):
        raise wrong_item(name, number, pieces, _PIECES)
    what = f"{name} {number}"
    items = islice(in_order(pieces, what, _PIECES), most)
    return [plain_text(piece, place, f"{what}: piece") for place, piece in enumerate(items)]


def piece_lists(sentences: object, caller: str) -> list[list[str]]:
    """Sentences given as pieces."""
    takes = "a list of sentences, each a list of pieces"
    return [piece_list(pieces, number) for number, pieces in enumerate(in_order(sentences, caller, takes))]


def source_ids(pieces: list[str], vocabulary: AnyVocabulary) -> list[int]:
    """Ids of a sentence given as pieces, with one </s> at the end, whether it was there or not."""
    ids = vocabulary.ids(pieces)
    return ids if ids and ids[-1] == vocabulary.eos_id else [*ids, vocabulary.eos_id]


def target_ids(pieces: object, number: int, vocabulary: AnyVocabulary, name: str) -> list[int]:
    """Ids of target pieces, those of item `number` of `name`. The last one may be </s>, and no other."""
    ids = vocabulary.ids(piece_list(pieces, number, name))
    if vocabulary.eos_id in ids[:-1]:
        raise ValueError(f"{name} {number} has </s> before its end; expected one at the end, or none")
    return ids


def ended_ids(pieces: object, number: int, vocabulary: AnyVocabulary, name: str = "target") -> list[int]:
    """The same, with one </s> at the end, whether it was there or not."""
    ids = target_ids(pieces, number, vocabulary, name)
    return ids if ids[-1:] == [vocabulary.eos_id] else [*ids, vocabulary.eos_id]


def text_ids(text: object, number: int, vocabulary: AnyVocabulary, name: str) -> list[int]:
    """Ids of a text, without </s>."""
    return vocabulary.encode(plain_text(text, number, name, "str or None"))[:-1]


IdsOf = Callable[[object, int, AnyVocabulary, str], list[int]]  # text_ids or target_ids


class Prefixes:
    """How translations must begin -> ids; None is the empty beginning."""

    def __init__(self, ids_of: IdsOf, vocabulary: AnyVocabulary, config: ModelConfig):
        """`vocabulary`: the target's."""
        self._ids_of, self._vocabulary, self._config = ids_of, vocabulary, config

    def ids(self, prefix: object, number: int = 0) -> list[int]:
        """Ids of the prefix of sentence `number`.

        Raises ValueError if there are some, and the model begins at the end of the sentence.
        """
        if prefix is None:
            return []
        found = self._ids_of(prefix, number, self._vocabulary, "target_prefix")
        if found and self._config.right_to_left:
            raise ValueError(
                "target_prefix is given, but the model translates from right to left (right-left: true), so it cannot "
                "be told how a translation begins; expected none"
            )
        return found

    def of_all(self, prefixes: object, count: int) -> list[list[int]]:
        """Ids of each of `count` prefixes; one text is that of all. Raises ValueError for another count."""
        if prefixes is None:
            return [[]] * count
        if isinstance(prefixes, str) and self._ids_of is text_ids:
            return list(repeat(self.ids(prefixes), count))
        items = in_order(prefixes, "target_prefix", "a list with an item for each sentence")
        found = [self.ids(prefix, number) for number, prefix in enumerate(islice(items, count + 1))]
        if len(found) != count:
            has = f"more than {count}" if len(found) > count else len(found)
            raise ValueError(f"target_prefix has {has} items, expected one for each of the {count} sentences")
        return found
