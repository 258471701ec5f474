"""Translates sentences in CAPITALS, rare in training data, through small letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from cpunmt.alignment.aligned import Aligned, Layer, Span, aligned_hypotheses, changed_result
from cpunmt.text.scripts import LETTER

LEAST_LETTERS = 6  # with fewer it may be an abbreviation
_WORDS = re.compile(f"{LETTER}+")


def capitals_layer(below: Layer, language_end: Callable[[str], int] | None = None) -> Layer:
    """Returns a layer that translates sentences in capitals, and a looping word in capitals, through small letters.

    Other single words in capitals go to the model unchanged: headings, abbreviations. If small letters loop too, the
    word stays.

    `language_end` finds the end of the target language's name, `>>de<<`, at the beginning of a text.
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        firsts = [language_end(text) if language_end else 0 for text in texts]
        upper = {n: first for n, (text, first) in enumerate(zip(texts, firsts, strict=True)) if text[first:].isupper()}
        if not upper:
            return below(texts, align)
        lowered = {n: texts[n][:first] + sentence_case(texts[n][first:]) for n, first in upper.items()}
        chosen = {n for n, first in upper.items() if is_in_capitals(texts[n][first:])}
        found = below([lowered[n] if n in chosen else text for n, text in enumerate(texts)], align)
        for n in chosen:
            found[n] = _raised(texts[n], found[n], align)
        looping = [n for n, first in upper.items() if n not in chosen and _loops(texts[n][first:], found[n])]
        again = below([lowered[n] for n in looping], align) if looping else []
        for n, aligned in zip(looping, again, strict=True):
            made, own = _raised(texts[n], aligned, align), texts[n][firsts[n] :]
            found[n] = _left(own, made, align) if _loops(own, made) else made
        return found

    return translate


def is_in_capitals(text: str) -> bool:
    """Returns whether `text` is in capitals and longer than an abbreviation: two words with a few letters."""
    if not text.isupper():
        return False
    words = _WORDS.findall(text)
    return len(words) > 1 and sum(map(len, words)) >= LEAST_LETTERS


def sentence_case(text: str) -> str:
    """Returns `text` in small letters, apart from the first letter and the word "I"; its length stays."""
    small = "".join(low if len(low := character.lower()) == 1 else character for character in text)
    found = _WORDS.search(text)
    first = found.start() if found else 0
    small = _WORDS.sub(lambda word: "I" if word.group() == "i" else word.group(), small)
    return small[:first] + text[first : first + 1] + small[first + 1 :]


def _loops(source: str, aligned: Aligned) -> bool:
    """Returns whether a translation looks like a loop, or repeats the last letters of the source."""
    target = aligned.target
    if aligned.found is not None and aligned.found.repeats:
        return True
    size = len(source)
    return (
        len(target) > size
        and target.startswith(source)
        and any(target[size:] == target[size - period : -period] for period in range(1, size + 1))
    )


def _raised(source: str, below: Aligned, align: bool) -> Aligned:
    return _with_targets(source, below, [_in_capitals(aligned) for aligned in aligned_hypotheses(below)], align)


def _left(text: str, below: Aligned, align: bool) -> Aligned:
    """Returns `text` itself as the best translation."""
    targets = [(one.target, list(one.target_spans)) for one in aligned_hypotheses(below)]
    size = len(text)
    targets[0] = text, [(min(begin, size), min(end, size)) for begin, end in targets[0][1]]
    return _with_targets(below.source, below, targets, align)


def _with_targets(source: str, below: Aligned, targets: Sequence[tuple[str, list[Span]]], align: bool) -> Aligned:
    found, (text, spans) = changed_result(below.found, source, targets, align), targets[0]
    return below._replace(source=source, target=text, target_spans=spans, found=found)


def _in_capitals(aligned: Aligned) -> tuple[str, list[Span]]:
    """Returns the target in capitals, with the new spans of its pieces: some letters become two."""
    raised = [character.upper() for character in aligned.target]
    places = [0, *accumulate(map(len, raised))]
    return "".join(raised), [(places[begin], places[end]) for begin, end in aligned.target_spans]
