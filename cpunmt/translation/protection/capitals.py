"""Sentences in CAPITALS, which many models have hardly seen: translated in small letters, then put in capitals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from cpunmt.translation.texts.aligned import Aligned, Layer, Span
from cpunmt.translation.texts.hypotheses import aligned_hypotheses, changed_result

LEAST_LETTERS = 6  # fewer are an abbreviation
_WORDS = re.compile(r"[^\W\d_]+")


def capitals_layer(below: Layer, language_end: Callable[[str], int] | None = None) -> Layer:
    """A layer that translates sentences in capitals through small letters.

    `language_end` tells where the sentence begins in a text that begins with the language to translate into.
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        firsts = [language_end(text) if language_end else 0 for text in texts]
        capitals = [is_in_capitals(text[first:]) for text, first in zip(texts, firsts, strict=True)]
        if not any(capitals):
            return below(texts, align)
        lowered = [
            text[:first] + sentence_case(text[first:]) if chosen else text
            for text, first, chosen in zip(texts, firsts, capitals, strict=True)
        ]
        found = below(lowered, align)
        return [
            _raised(text, aligned, align) if chosen else aligned
            for text, aligned, chosen in zip(texts, found, capitals, strict=True)
        ]

    return translate


def is_in_capitals(text: str) -> bool:
    """Whether `text` is in capitals, and is more than an abbreviation: two words with a few letters."""
    if not text.isupper():
        return False
    words = _WORDS.findall(text)
    return len(words) > 1 and sum(map(len, words)) >= LEAST_LETTERS


def sentence_case(text: str) -> str:
    """`text` in small letters but for the first, and "I" where it is a word; as long as it was."""
    small = "".join(low if len(low := character.lower()) == 1 else character for character in text)
    found = _WORDS.search(text)
    first = found.start() if found else 0
    small = _WORDS.sub(lambda word: "I" if word.group() == "i" else word.group(), small)
    return small[:first] + text[first : first + 1] + small[first + 1 :]


def _raised(source: str, below: Aligned, align: bool) -> Aligned:
    targets = [_in_capitals(aligned) for aligned in aligned_hypotheses(below)]
    found = below.found
    if found is not None:
        found = changed_result(found, source, below.source_spans, targets, align)
    text, spans = targets[0]
    return below._replace(source=source, target=text, target_spans=spans, found=found)


def _in_capitals(aligned: Aligned) -> tuple[str, list[Span]]:
    """The target in capitals, and where its pieces stand then: some letters become two."""
    raised = [character.upper() for character in aligned.target]
    places = [0, *accumulate(map(len, raised))]
    return "".join(raised), [(places[begin], places[end]) for begin, end in aligned.target_spans]
