"""The option `suppress_sequences`: sequences that translations must not contain, and their ids in a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from cpunmt.options.arguments import in_order, piece_list, plain_text
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import shown

NAME = "suppress_sequences"
MOST = 10_000  # sequences,
LONGEST = 100  # pieces of a sequence: each is compared with the translation at every step
_TAKES = "a list of texts and of lists of pieces"


class Suppressed(tuple[str | tuple[str, ...], ...]):
    """Sequences, each a text or a tuple of pieces. `ids` are those of a model; None before a model is known."""

    ids: tuple[tuple[int, ...], ...] | None = None


def suppressed(value: object) -> Suppressed:
    """Returns the value of the option as a tuple; commas separate texts within text.

    Raises TypeError for other types than lists of texts and of pieces, ValueError for more than 10,000 sequences, and
    for a sequence that is empty or has more than 100 pieces.
    """
    if isinstance(value, Suppressed):
        return value
    if isinstance(value, str):
        value = [text.strip() for text in value.split(",")]
    items = list(islice(in_order(value, NAME, _TAKES), MOST + 1))
    if len(items) > MOST:
        raise ValueError(f"{NAME} has more than {MOST} sequences; give at most {MOST}")
    found = [
        plain_text(item, number, NAME) if isinstance(item, str) else tuple(piece_list(item, number, NAME, LONGEST + 1))
        for number, item in enumerate(items)
    ]
    for number, item in enumerate(found):
        if not isinstance(item, str) and len(item) > LONGEST:  # an iterable may be endless
            raise ValueError(f"{NAME} {number} has more than {LONGEST} pieces; give at most {LONGEST}")
        if not (item.strip() if isinstance(item, str) else item):
            raise ValueError(f"{NAME} {number} is empty, expected text or pieces; they are counted from 0")
    return Suppressed(found)


def with_ids(sequences: object, vocabulary: AnyVocabulary, with_unknown: bool) -> Suppressed:
    """Returns the option, or None, with its ids in the target vocabulary; `with_unknown`: <unk> is among them.

    Raises ValueError for pieces and characters outside the vocabulary, and for </s>.
    """
    made = Suppressed(suppressed(() if sequences is None else sequences))
    ids = [_ids(item, number, vocabulary) for number, item in enumerate(made)]
    made.ids = tuple([*ids, (vocabulary.unk_id,)] if with_unknown else ids)
    return made


def _ids(item: str | Iterable[str], number: int, vocabulary: AnyVocabulary) -> tuple[int, ...]:
    if isinstance(item, str):
        ids, pieces = vocabulary.encode(item)[:-1], [item]
    else:
        pieces = list(item)
        ids = vocabulary.ids(pieces)
    if not ids:
        raise ValueError(
            f"{NAME} {number} is {shown(item)}, of which the target vocabulary leaves nothing; expected other text"
        )
    if vocabulary.eos_id in ids:
        raise ValueError(f"{NAME} {number} has </s>, with which every translation ends; expected other pieces")
    if vocabulary.unk_id in ids:
        missing = pieces[ids.index(vocabulary.unk_id)] if len(pieces) == len(ids) else pieces[0]
        if missing not in vocabulary.pieces([vocabulary.unk_id]):
            raise ValueError(
                f"{NAME} {number} has {shown(missing)}, which the target vocabulary has no piece for; expected what a "
                "translation can say"
            )
    if len(ids) > LONGEST:
        raise ValueError(f"{NAME} {number} has {len(ids)} pieces, expected at most {LONGEST}")
    return tuple(ids)
