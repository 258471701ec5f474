"""Arguments of the public calls: each wrong one is one clear TypeError or ValueError."""

from collections.abc import Iterable

from cpunmt.checks import same, shown
from cpunmt.config import ModelConfig
from cpunmt.vocabulary import Vocabulary

MOST_THREADS = 256


def expect(name: str, value, expected: list, reason: str):
    """Raise ValueError unless `value` is one of `expected`."""
    if not any(same(value, one) for one in expected):
        raise ValueError(f"{name} is {shown(value)}, expected {' or '.join(map(repr, expected))}: {reason}")


def text_list(texts: Iterable[str], caller: str) -> list[str]:
    """`texts` as a list; TypeError for anything but text in it."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{caller} takes text or a list of texts, not {type(texts).__name__}")
    texts = list(texts)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{caller} takes text or a list of texts, not {type(text).__name__}")
    return texts


def source_ids(pieces: list[str], vocabulary: Vocabulary, caller: str) -> list[int]:
    """Ids of a sentence given as pieces, with one </s> at the end, whether it was there or not."""
    if isinstance(pieces, str | bytes) or not isinstance(pieces, Iterable):
        raise TypeError(f"{caller} takes lists of pieces, not {type(pieces).__name__}; translate takes text")
    ids = vocabulary.ids(pieces)
    return ids if ids and ids[-1] == vocabulary.eos_id else [*ids, vocabulary.eos_id]


def target_ids(pieces: list[str], vocabulary: Vocabulary, name: str) -> list[int]:
    """Ids of target pieces. The last one may be </s>, and no other."""
    if isinstance(pieces, str | bytes) or not isinstance(pieces, Iterable):
        raise TypeError(f"{name} holds {type(pieces).__name__}, expected a list of pieces for each sentence")
    ids = vocabulary.ids(pieces)
    if vocabulary.eos_id in ids[:-1]:
        raise ValueError(f"{name} has </s> before its end; expected one at the end, or none")
    return ids


def text_ids(text: str, vocabulary: Vocabulary, name: str) -> list[int]:
    """Ids of a text, without </s>."""
    if not isinstance(text, str):
        raise TypeError(f"{name} holds {type(text).__name__}, expected text for each sentence")
    return vocabulary.encode(text)[:-1]


def prefix_ids(prefixes: list, count: int, encode, config: ModelConfig) -> list[list[int]] | None:
    """Ids of each of `count` prefixes, None being the empty one; or None if all are empty.

    Raises ValueError for another count, or if the model, of which `config` is, begins at the end of the sentence.
    """
    if len(prefixes) != count:
        raise ValueError(f"target_prefix has {len(prefixes)} items, expected one for each of the {count} sentences")
    found = [[] if prefix is None else encode(prefix) for prefix in prefixes]
    if not any(found):
        return None
    if config.right_to_left:
        raise ValueError(
            "target_prefix is given, but the model translates from right to left (right-left: true), so it cannot be "
            "told how a translation begins; expected none"
        )
    return found
