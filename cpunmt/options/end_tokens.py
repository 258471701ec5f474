"""The option `end_token`: other ends of a translation besides </s>, and their ids in a model's vocabulary."""

from __future__ import annotations

from itertools import islice

from cpunmt.options.arguments import in_order, plain_text
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import shown, whole
from cpunmt.values.spelling import hint

NAME = "end_token"
MOST = 1000  # pieces: each step compares the new piece with all
_TAKES = "a piece, or a list of pieces or of their ids"


class EndTokens(tuple[str | int, ...]):
    """Pieces, or ids of pieces. `ids` are those of a model, without </s>; None before a model is known."""

    ids: tuple[int, ...] | None = None


def end_tokens(value: object) -> EndTokens:
    """Returns the value of the option as a tuple.

    Raises TypeError for other types than pieces and ids, ValueError for an empty list and for more than 1,000.
    """
    if isinstance(value, EndTokens):
        return value
    items = [value] if isinstance(value, str) else list(islice(in_order(value, NAME, _TAKES), MOST + 1))
    if not 0 < len(items) <= MOST:
        said = f"more than {MOST}" if items else "no"
        raise ValueError(f"{NAME} has {said} pieces, expected 1 to {MOST}")
    return EndTokens(_item(item, number) for number, item in enumerate(items))


def _item(item: object, number: int) -> str | int:
    if isinstance(item, str) or item is None:
        return plain_text(item, number, NAME, "a piece or its id")
    return whole(f"{NAME} {number}", item, 0, 1 << 24)


def with_ids(tokens: object, vocabulary: AnyVocabulary) -> EndTokens:
    """Returns the option with its ids in the target vocabulary. Raises ValueError for an unknown piece."""
    made = EndTokens(end_tokens(tokens))
    ids = [_id(item, number, vocabulary) for number, item in enumerate(made)]
    made.ids = tuple(id_ for id_ in dict.fromkeys(ids) if id_ != vocabulary.eos_id)  # </s> always ends a translation
    return made


def _id(item: str | int, number: int, vocabulary: AnyVocabulary) -> int:
    if isinstance(item, int):
        if item >= vocabulary.size:
            raise ValueError(f"{NAME} {number} is {item}, expected an id below {vocabulary.size}, or a piece")
        return item
    (id_,) = vocabulary.ids([item])
    if id_ == vocabulary.unk_id and item not in vocabulary.pieces([id_]):
        word = f"{vocabulary.mark}{item}"  # the first piece of a word begins with the mark
        meant = hint(word) if item and vocabulary.ids([word]) != [vocabulary.unk_id] else ""
        raise ValueError(
            f"{NAME} {number} is {shown(item)}, expected a piece of the target vocabulary, as ▁Haus{meant}"
        )
    return id_
