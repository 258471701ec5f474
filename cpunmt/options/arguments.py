"""Checks arguments of public calls: each error is one line that names the item."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Set
from itertools import islice, repeat

from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import number, same, shown

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Tokenize = Callable[[str], list[str]]
Detokenize = Callable[[list[str]], str]
MOST_THREADS = 256
MOST_MODELS = 64  # of an ensemble
MOST_WEIGHT = 1e6
_BYTES = bytes | bytearray | memoryview
_PIECES = "a list of pieces"


def expect(name: str, value: object, expected: list[object], reason: str) -> None:
    """Raises ValueError unless `value` is one of `expected`."""
    if not any(same(value, one) for one in expected):
        raise ValueError(f"{name} is {shown(value)}, expected {' or '.join(map(repr, expected))}: {reason}")


def in_order(items: object, what: str, takes: str) -> Iterator[object]:
    """Returns the items of an ordered iterable.

    Parameters
    ----------
    what : name of the argument for the message: "translate" or "target_prefix"
    takes : the expected type

    Raises TypeError with advice for text, bytes, mappings, sets, data frames and anything that is not iterable.
    """
    if isinstance(items, list):  # the usual type
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
    elif hasattr(kind, "columns") and hasattr(kind, "collect"):  # `kind`, because a lazy item computes its columns
        advice = ", which holds no rows yet: collect() it, and give one column"
    elif isinstance(items, Iterable) and not isinstance(items, str) and getattr(items, "shape", None) != ():
        return iter(items)
    raise TypeError(f"{what} takes {takes}, not {kind.__name__}{advice}")


def text_list(texts: object, caller: str, name: str = "text", most: int | None = None) -> list[str]:
    """Returns the first `most` of `texts` as a list; raises TypeError for the first item that is not text."""
    items = islice(in_order(texts, caller, "text or a list of texts"), most)
    return [plain_text(text, number, name) for number, text in enumerate(items)]


def weight_list(weights: object, count: int, item: str, expected: str) -> list[float]:
    """Returns `count` weights, of which only the ratios matter. `item`: what has a weight; `expected`: how many.

    Raises TypeError or ValueError, in one line, for weights that are not numbers, are less than 0, or all 0, and for
    another number of them.
    """
    items = list(islice(in_order(weights, "weights", f"a list with a number for each {item}"), count + 1))
    refuse_other_count("weights", len(items), count, expected)
    found = [number(f"weights[{place}]", weight, 0.0, MOST_WEIGHT) for place, weight in enumerate(items)]
    if found and not any(found):
        raise ValueError("weights are all 0, expected at least one that is not")
    return found


def language_list(name: str, languages: object, count: int) -> list[str]:
    """Returns the language of each of `count` texts, as the caller writes it.

    Raises TypeError for an item that is not text, ValueError for another number of them.
    """
    items = islice(in_order(languages, name, "a language, or a list with one for each text"), count + 1)
    found = [plain_text(language, number, name, "a language for each text") for number, language in enumerate(items)]
    refuse_other_count(name, len(found), count, f"one for each of the {count} texts")
    return found


def refuse_other_count(name: str, found: int, count: int, expected: str) -> None:
    """Raises ValueError unless `found` is `count`; the items of `name` were read up to one more."""
    if found != count:
        raise ValueError(f"{name} has {f'more than {count}' if found > count else found} items, expected {expected}")


def plain_text(text: object, number: int, name: str, expected: str = "str") -> str:
    """Returns a text as plain str, because a subclass, such as an Enum's, may print differently. Raises TypeError for
    others."""
    if not isinstance(text, str):
        raise wrong_item(name, number, text, expected)
    return str.__str__(text)


def wrong_item(name: str, number: int, item: object, expected: str) -> TypeError:
    """Makes the error for an unexpected item, counted from 0: `text 3 is None, expected str`."""
    said = shown(item) if item is None or isinstance(item, float | int) else type(item).__name__
    return TypeError(f"{name} {number} is {said}, expected {expected}; they are counted from 0")


def piece_list(pieces: object, number: int, name: str = "sentence", most: int | None = None) -> list[str]:
    """Returns a sentence's pieces as a list, reading at most `most` of them.

    `number`: of the sentence, for the message.
    """
    if isinstance(pieces, str):
        raise TypeError(f"{name} {number} is str, expected {_PIECES}; translate and score take text")
    if pieces is None or not isinstance(pieces, Iterable):
        raise wrong_item(name, number, pieces, _PIECES)
    what = f"{name} {number}"
    items = islice(in_order(pieces, what, _PIECES), most)
    return [plain_text(piece, place, f"{what}: piece") for place, piece in enumerate(items)]


def piece_lists(sentences: object, caller: str) -> list[list[str]]:
    """Checks sentences given as pieces."""
    takes = "a list of sentences, each a list of pieces"
    return [piece_list(pieces, number) for number, pieces in enumerate(in_order(sentences, caller, takes))]


def source_ids(pieces: list[str], vocabulary: AnyVocabulary) -> list[int]:
    """Returns the ids of a sentence given as pieces, with exactly one </s> at the end, or before the name of its
    language."""
    ids = vocabulary.ids(pieces)
    ended = ids and (ids[-1] == vocabulary.eos_id or (ids[-1] in vocabulary.tag_ids and vocabulary.eos_id in ids[:-1]))
    return ids if ended else [*ids, vocabulary.eos_id]


def target_ids(pieces: object, number: int, vocabulary: AnyVocabulary, name: str) -> list[int]:
    """Returns the ids of target pieces, item `number` of `name`. Only the last one may be </s>."""
    ids = vocabulary.ids(piece_list(pieces, number, name))
    if vocabulary.eos_id in ids[:-1]:
        raise ValueError(f"{name} {number} has </s> before its end; expected one at the end, or none")
    return ids


def ended_ids(pieces: object, number: int, vocabulary: AnyVocabulary, name: str = "target") -> list[int]:
    """Like `target_ids`, with exactly one </s> at the end."""
    ids = target_ids(pieces, number, vocabulary, name)
    return ids if ids[-1:] == [vocabulary.eos_id] else [*ids, vocabulary.eos_id]


def text_ids(text: object, number: int, vocabulary: AnyVocabulary, name: str) -> list[int]:
    """Returns the ids of a text, without </s>."""
    return vocabulary.encode(plain_text(text, number, name, "str or None"))[:-1]


IdsOf = Callable[[object, int, AnyVocabulary, str], list[int]]  # text_ids or target_ids


class Prefixes:
    """Converts the required beginnings of translations to ids; None is an empty beginning."""

    def __init__(self, ids_of: IdsOf, vocabulary: AnyVocabulary, config: ModelConfig):
        """Takes the target's `vocabulary`."""
        self._ids_of, self._vocabulary, self._config = ids_of, vocabulary, config

    def ids(self, prefix: object, number: int = 0) -> list[int]:
        """Returns the ids of the prefix of sentence `number`.

        Raises ValueError for a prefix if the model translates from right to left.
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
        """Returns the ids of each of `count` prefixes; one text applies to all. Raises ValueError for another count."""
        if prefixes is None:
            return [[]] * count
        if isinstance(prefixes, str) and self._ids_of is text_ids:
            return list(repeat(self.ids(prefixes), count))
        items = in_order(prefixes, "target_prefix", "a list with an item for each sentence")
        found = [self.ids(prefix, number) for number, prefix in enumerate(islice(items, count + 1))]
        refuse_other_count("target_prefix", len(found), count, f"one for each of the {count} sentences")
        return found
