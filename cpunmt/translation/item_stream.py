"""The items of a stream that is to be translated, checked one by one: one that is wrong is no fault of the others."""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabulary import Vocabulary
from cpunmt.translation.arguments import check_text, forced_ids, piece_list, source_ids, target_ids, text_ids

_CALLER = "translate_iterable"


class Item(NamedTuple):
    """A sentence as it was given, and what it is to the engine."""

    source: str | list[str]  # a text, or its pieces
    ids: list[int] | None  # of the pieces; None: it is a text
    prefix: list[int]  # ids that its translation begins with


def checked_items(
    source: Iterable, prefixes: Iterable | None, vocabularies: tuple[Vocabulary, Vocabulary], config: ModelConfig
) -> Iterator[Item]:
    """Items of texts or of lists of pieces, as the first of them is.

    Parameters
    ----------
    prefixes : None, one for each item or, for texts, one text for all
    vocabularies : of source and target

    Raises TypeError if something else is given, and TypeError or ValueError for the first item or prefix that is wrong,
    when its turn comes.
    """
    if prefixes is not None and not isinstance(prefixes, str):
        prefixes = iter(prefixes)
    return _checked(iter(source), prefixes, vocabularies, config)


def _checked(source, prefixes, vocabularies, config):
    is_text = forced = None
    for number, item in enumerate(source):
        if is_text is None:
            is_text = isinstance(item, str)
            for_all = prefixes is None or (is_text and isinstance(prefixes, str))
            forced = itertools.repeat(prefixes) if for_all else iter(prefixes)
            ids_of = text_ids if is_text else target_ids
        ids = None
        if is_text:
            check_text(item, _CALLER)
        else:
            item = piece_list(item, _CALLER)
            ids = source_ids(item, vocabularies[0])
        try:
            prefix = next(forced)
        except StopIteration:
            raise ValueError(f"target_prefix has {number} items, expected one for each sentence") from None
        encode = lambda prefix, ids_of=ids_of: ids_of(prefix, vocabularies[1], "target_prefix")  # noqa: E731
        yield Item(item, ids, forced_ids(prefix, encode, config))
