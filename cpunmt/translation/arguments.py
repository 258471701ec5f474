"""Arguments of the public calls: each wrong one is one clear TypeError or ValueError."""

from collections.abc import Iterable

from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabulary import Vocabulary
from cpunmt.values.checks import same, shown

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
        check_text(text, caller)
    return texts


def check_text(text: str, caller: str):
    """Raise TypeError for anything but text."""
    if not isinstance(text, str):
        raise TypeError(f"{caller} takes text or a list of texts, not {type(text).__name__}")


def piece_list(pieces: Iterable[str], caller: str) -> list[str]:
    """A sentence given as pieces, as a list of them."""
    if isinstance(pieces, str | bytes) or not isinstance(pieces, Iterable):
        raise TypeError(f"{caller} takes lists of pieces, not {type(pieces).__name__}; translate takes text")
    return list(pieces)


def source_ids(pieces: list[str], vocabulary: Vocabulary) -> list[int]:
    """Ids of a sentence given as pieces, with one </s> at the end, whether it was there or not."""
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


def prefix_ids(prefixes: list, count: int, encode, config: ModelConfig) -> list[list[int]]:
    """`forced_ids` of each of `count` prefixes. Raises ValueError for another count."""
    if isinstance(prefixes, str | bytes) or not isinstance(prefixes, Iterable):
        raise TypeError(f"target_prefix is {type(prefixes).__name__}, expected a list with an item for each sentence")
    prefixes = list(prefixes)
    if len(prefixes) != count:
        raise ValueError(f"target_prefix has {len(prefixes)} items, expected one for each of the {count} sentences")
    return [forced_ids(prefix, encode, config) for prefix in prefixes]


def forced_ids(prefix, encode, config: ModelConfig) -> list[int]:
    """Ids of a prefix, None being the empty one.

    Raises ValueError if there are some, and the model, of which `config` is, begins at the end of the sentence.
    """
    found = [] if prefix is None else encode(prefix)
    if found and config.right_to_left:
        raise ValueError(
            "target_prefix is given, but the model translates from right to left (right-left: true), so it cannot be "
            "told how a translation begins; expected none"
        )
    return found
