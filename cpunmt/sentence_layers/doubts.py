"""Doubts: finds what is probably wrong with a translation, by comparing its text with the source's.

    truncated  the length limit cut it off
    loop       it repeats itself by its pieces, and the source does not by its words: see `results.repetition`
    echo       it has most words of the source, so it is probably not translated
    script     most of its letters are not of the target language's script
    length     it is more than twice as long as its source, or less than half as long
    numbers    it lacks a number of its source
    kept       it lacks a part of its source that all languages keep: an address, a placeholder

`truncated` and `loop` use what the search stored in the hypothesis; the others depend on the two texts and the
languages alone. The source is compared by words and signs, not by pieces: so whether it repeats itself does not depend
on a vocabulary, and repetition inside one of its words does not count. docs/benchmarks.md has the precision of each.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import islice

from cpunmt.options.protect_option import KINDS
from cpunmt.results.repetition import repeats
from cpunmt.results.results import DoubtName, Hypothesis
from cpunmt.sentence_layers.numbers import lost_numbers
from cpunmt.sentence_layers.protection.finding import Finder, text_left
from cpunmt.text.languages.codes import base_of, usual_script
from cpunmt.text.pairs import is_echo, lengths_fit, text_length
from cpunmt.text.scripts import LETTERS, UNSPACED, script_of_letter

_MOST_RATIO = 2.0  # of the lengths
_MOST_PARTS = 100
_LEAST_FOREIGN = 16  # length of foreign letters; fewer may be a name
_TWO_SCRIPTS = {"az", "bs", "kk", "ku", "mn", "sr", "tk", "uz"}  # languages with another script beside the usual one
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
_ALL_LETTERS = frozenset(" ".join(LETTERS.values()).split())
_NOT_LATIN = re.compile("[\u0370-\u1cff\u2d00-\ua71f\ua800-\uab2f\uab70-\ufaff\ufb13-\uffee\U00020000-\U0003ffff]")


def doubts(source: str, best: Hypothesis, language: str | None, are_kept: bool) -> tuple[DoubtName, ...]:
    """Returns the doubts about the translation of a sentence into `language`, in the order of `DOUBTS`.

    `are_kept`: no part that all languages keep can be missing.
    """
    target = best.text
    found: list[DoubtName] = []
    if best.truncated:
        found.append("truncated")
    if best.repeats and not repeats(_TOKEN.findall(source)):
        found.append("loop")
    if is_echo(source, target) and is_echo(_without_kept(source), _without_kept(target)):
        found.append("echo")
    if is_foreign(target, language):
        found.append("script")
    if not lengths_fit(source, target, _MOST_RATIO):
        found.append("length")
    if lost_numbers(source, target):
        found.append("numbers")
    if not (are_kept or keeps_parts(source, target)):
        found.append("kept")
    return tuple(found)


def is_foreign(text: str, language: str | None) -> bool:
    """Returns whether most letters of a text are of scripts in which the language is not written.

    False for a language whose script is unknown, and for a few foreign letters, which may be a name.
    """
    own = _letters_of(language)
    if not own or ("LATIN" in own and (text.isascii() or not _NOT_LATIN.search(text))):
        return False
    foreign, all_letters = [], 0
    for letter in text:
        if (script := _script(letter)) in _ALL_LETTERS:
            all_letters += 1
            if script not in own:
                foreign.append(letter)
    return 2 * len(foreign) > all_letters and text_length("".join(foreign)) >= _LEAST_FOREIGN


_script = lru_cache(1 << 14)(script_of_letter)


@cache
def _letters_of(language: str | None) -> frozenset[str]:
    """Returns the scripts of a language, as `script_of_letter` names them; empty if they are unknown."""
    if language is None or "+" in language or base_of(language) in _TWO_SCRIPTS:
        return frozenset()
    return frozenset(LETTERS.get(usual_script(language) or "", "").split())


def keeps_parts(source: str, target: str) -> bool:
    """Returns whether a translation has the parts of its source that all languages keep, as often as they occur.

    Only the first different ones are looked for, because a long text may have thousands.
    """
    if not (units := _finder().units(source)):  # most sentences
        return True
    parts = dict.fromkeys(source[unit.begin : unit.end] for unit in units)
    return all(target.count(part) >= source.count(part) for part in islice(parts, _MOST_PARTS))


def _without_kept(text: str) -> str:
    return text_left(text, _finder().units(text))


@cache
def _finder() -> Finder:
    return Finder([kind for kind in KINDS if kind != "unknown"])
