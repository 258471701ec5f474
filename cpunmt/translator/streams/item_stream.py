"""Checks the items of a stream one by one; items before a wrong one keep their results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import NamedTuple

from cpunmt.decoding.call_settings import CHARS_PER_PIECE
from cpunmt.decoding.scoring import refuse_long
from cpunmt.model.config import ModelConfig
from cpunmt.options.arguments import (
    Prefixes,
    ended_ids,
    in_order,
    piece_list,
    plain_text,
    source_ids,
    target_ids,
    text_ids,
)
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

_NONE = object()
_KINDS = "an iterable of texts, or of lists of pieces"
_PREFIXES = "an iterable with an item for each sentence"
Uneven = Callable[[int, bool], Exception]  # see `paired`


class Item(NamedTuple):
    """A sentence as given, with its form for the engine."""

    source: str | list[str]  # a text, or its pieces
    ids: list[int] | None  # of its pieces; None for a text
    prefix: list[int]  # ids that its translation begins with

    @property
    def size(self) -> int:
        """Returns the approximate number of its pieces."""
        return len(self.source) // CHARS_PER_PIECE + 1 if self.ids is None else len(self.ids)


class Pair(NamedTuple):
    """The ids of a pair to score, with </s> on both sides."""

    source: list[int]
    target: list[int]


def checked_items(
    source: object,
    prefixes: object,
    vocabularies: tuple[AnyVocabulary, AnyVocabulary],
    config: ModelConfig,
    uneven: Uneven | None = None,
) -> Iterator[Item]:
    """Yields items from texts, or from lists of pieces if the first one is a list.

    Parameters
    ----------
    prefixes : None, an iterable with one per item, an endless itertools.repeat or, for texts, one text for all
    vocabularies : of source and target
    uneven : makes the error for different numbers of prefixes and items, see `paired`; None: a ValueError

    Raises TypeError for other arguments. Raises TypeError or ValueError for a wrong item or prefix when it comes.
    """
    if isinstance(source, str):
        raise TypeError("translate_iterable takes texts, not one text; use translate")
    if prefixes is not None and not isinstance(prefixes, str):
        prefixes = in_order(prefixes, "target_prefix", _PREFIXES)
    return _items(in_order(source, "translate_iterable", _KINDS), prefixes, vocabularies, config, uneven or _uneven)


def _items(
    source: Iterator[object],
    prefixes: Iterator[object] | str | None,
    vocabularies: tuple[AnyVocabulary, AnyVocabulary],
    config: ModelConfig,
    uneven: Uneven,
) -> Iterator[Item]:
    first = next(source, _NONE)
    source = source if first is _NONE else itertools.chain([first], source)
    is_text = isinstance(first, str)
    if isinstance(prefixes, str) and first is not _NONE and not is_text:
        prefixes = in_order(prefixes, "target_prefix", _PREFIXES)  # raises
    if prefixes is None or isinstance(prefixes, str):
        prefixes = itertools.repeat(prefixes)
    if isinstance(prefixes, itertools.repeat) and length_hint(prefixes, -1) == -1:  # endless
        pairs: Iterator[tuple[object, object]] = zip(source, prefixes, strict=False)
    else:
        pairs = paired(source, prefixes, uneven)
    ids_of = Prefixes(text_ids if is_text else target_ids, vocabularies[1], config)
    for number, (item, prefix) in enumerate(pairs):
        given: str | list[str]
        ids = None
        if is_text:
            given = plain_text(item, number, "text")
        else:
            given = piece_list(item, number)
            ids = source_ids(given, vocabularies[0])
        yield Item(given, ids, ids_of.ids(prefix, number))


def _uneven(number: int, source_ended: bool) -> ValueError:
    has = f"more than {number}" if source_ended else number
    return ValueError(f"target_prefix has {has} items, expected one for each sentence")


def texts_only(items: Iterator[Item], option: str) -> Iterator[Item]:
    """Returns the items. Raises ValueError if the first is pieces: the given option applies to texts only."""
    return _of_kind(
        items, True, f"{option} is given, but the items are lists of pieces, which it says nothing of; leave it out"
    )


def pieces_only(items: Iterator[Item]) -> Iterator[Item]:
    """Returns the items. Raises ValueError if the first is a text: `callback` is given, which takes pieces."""
    return _of_kind(
        items,
        False,
        "callback is given, and the items are texts; expected lists of pieces, or generate_text, which gives a "
        "translation as it is found",
    )


def _of_kind(items: Iterator[Item], is_text: bool, message: str) -> Iterator[Item]:
    for item in items:
        if (item.ids is None) != is_text:
            raise ValueError(message)
        yield item


def paired(sources: Iterator[object], targets: Iterator[object], uneven: Uneven) -> Iterator[tuple[object, object]]:
    """Yields source and target of each pair. Raises `uneven(pairs, source_ended)` if one side ends first."""
    for number, (source, target) in enumerate(itertools.zip_longest(sources, targets, fillvalue=_NONE)):
        if source is _NONE or target is _NONE:
            raise uneven(number, source is _NONE)
        yield source, target


def paired_arguments(source: object, target: object) -> Iterator[tuple[object, object]]:
    """Returns the pairs of two iterables. Raises TypeError for other arguments, ValueError if one side ends first."""
    for items in (source, target):
        if isinstance(items, str):
            raise TypeError("score_iterable takes texts, not one text; use score")

    def uneven(number: int, source_ended: bool) -> ValueError:
        names = ("sources", "targets") if source_ended else ("targets", "sources")
        return ValueError(f"there are {number} {names[0]} and more {names[1]}, expected as many of both")

    sources = in_order(source, "source of score_iterable", _KINDS)
    return paired(sources, in_order(target, "target of score_iterable", _KINDS), uneven)


def checked_pairs(
    pairs: Iterator[tuple[object, object]],
    vocabularies: tuple[AnyVocabulary, AnyVocabulary],
    named: Callable[[str], str],
) -> Iterator[Pair]:
    """Yields the ids of pairs of texts, or of lists of pieces if the first source is a list.

    `named` returns a source text as the model reads it, see `ModelOwner.named`.

    Raises TypeError or ValueError for a wrong pair, or one too long to be scored, when it comes.
    """
    is_text = None
    for number, (source, target) in enumerate(pairs):
        if is_text is None:
            is_text = isinstance(source, str)
        if is_text:
            texts = named(plain_text(source, number, "source")), plain_text(target, number, "target")
            ids = [vocabulary.encode(text) for vocabulary, text in zip(vocabularies, texts, strict=True)]
        else:
            pieces = piece_list(source, number, "source")
            ids = [source_ids(pieces, vocabularies[0]), ended_ids(target, number, vocabularies[1])]
        for name, found in zip(("source", "target"), ids, strict=True):
            refuse_long(name, number, found)
        yield Pair(*ids)
