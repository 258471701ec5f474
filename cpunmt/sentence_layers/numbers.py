"""Compares the numbers of a translation with the source's, and replaces bad copies of them by alignment."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from cpunmt.alignment.aligned import Aligned, Layer, aligned_hypotheses, changed_result
from cpunmt.alignment.edits import Edit, Edits, edited, moved_each, rebuilt
from cpunmt.alignment.projection import Projection
from cpunmt.sentence_layers.quantities import (
    LEAST_DIGITS,
    Quantity,
    Writing,
    quantities,
    resembles,
    rewritten,
    separated,
    writing,
)
from cpunmt.sentence_layers.small_digits import flattened
from cpunmt.text.signs import digit_runs, has_digits

_NOTHING: list[int] = []
_WORDS = 12  # numbers up to this are often words
_MARK = "[.,:'\u2019 \u00a0\u202f]"
_TWO_MARKS = re.compile(rf"\d{_MARK}\d+{_MARK}\d")  # with one, the same runs of digits may say the same


def number_layer(below: Layer) -> Layer:
    """Returns a layer that replaces bad copies of numbers.

    Two numbers agree if they may have the same value: "1,200" and "1.200", "12 million" and "12,000,000". A number of
    the target that agrees with none of the source is replaced by the number it is aligned with. Three conditions must
    hold: the target lacks that number, the replaced one looks like a bad copy of it (`quantities.resembles`), and all
    languages write it with the same digits (`quantities.writing`). Superscripts, subscripts and fractions that became
    ordinary digits are restored (`small_digits`).
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        found = below(texts, align)
        wrong = [number for number, aligned in enumerate(found) if _can_be_mended(aligned)]
        if not wrong:
            return found
        again = [found[number] for number in wrong] if align else below([texts[number] for number in wrong], True)
        for number, aligned in zip(wrong, again, strict=True):
            found[number] = _copied(aligned, align)
        return found

    return translate


def _can_be_mended(aligned: Aligned) -> bool:
    """Returns whether numbers may be replaced. A translation that is cut off or loops is not worth the time."""
    if not is_doubtful(aligned.source, aligned.target):
        return False
    return aligned.found is None or not (aligned.found.truncated or aligned.found.repeats)


def agree(source: str, target: str) -> bool:
    """Returns whether two texts have the same numbers."""
    return not any(_unmatched(source, target))


def lost_numbers(source: str, target: str) -> list[Quantity]:
    """Finds the numbers of the source that the target should have, and lacks; ascending.

    Another language may write small numbers as words, and measures, times and codes with other digits: these are left
    out. A small number counts if its digits are in the target with another value: 1.2 as 12. So does a number whose
    superscript, subscript or fraction became ordinary digits: 10² as 102.
    """
    lost = {number for number in _lost(source, target) if _is_plain(source, number)}
    if ends := {one.begin for one in flattened(source, target) if one.is_number}:
        lost.update(number for number in quantities(source) if number.end in ends)
    return sorted(lost)


def _lost(source: str, target: str) -> list[Quantity]:
    """Finds the numbers of the source that the target lacks, without small ones that may be words there."""
    missing, surplus = _unmatched(source, target)
    surplus_digits = set(map(_digits, surplus))
    return [number for number in missing if int(number.digits[:4]) > _WORDS or _digits(number) in surplus_digits]


def _is_plain(text: str, number: Quantity) -> bool:
    written = writing(text, number)
    return written is not None and not any(written)


def is_doubtful(source: str, target: str) -> bool:
    """Returns whether the target may have something to replace.

    Either it lacks a number of the source, and has a surplus one that is written like it, or small digits became
    ordinary ones. False for a source without ordinary digits: the translator asks no layer about it.
    """
    if not has_digits(source):
        return False
    if any(one.mends for one in flattened(source, target)):
        return True
    missing, surplus = _unmatched(source, target)
    return bool(missing and surplus) and not _writings(source, filter(_is_long, missing)).isdisjoint(
        _writings(target, surplus)
    )


def _is_long(number: Quantity) -> bool:
    return len(number.digits) >= LEAST_DIGITS


def _writings(text: str, numbers: Iterable[Quantity]) -> set[Writing]:
    return {written for number in numbers if (written := writing(text, number)) is not None}


def _unmatched(source: str, target: str) -> tuple[list[Quantity], list[Quantity]]:
    """Finds the numbers of the source that the target lacks, and those of the target that the source lacks, ascending.

    Two numbers are paired if they may say the same; among these, first those with the same digits. If both texts have
    the same runs of digits, only the separators inside a number are compared: "1,2" may be a list, and "1, 2" there.
    Both are empty if the source has no digits.
    """
    if not (runs := digit_runs(source)):  # most sentences: ten times faster
        return [], []
    are_alike = sorted(runs) == sorted(digit_runs(target))
    if are_alike and not _TWO_MARKS.search(source):
        return [], []
    missing, surplus = quantities(source), quantities(target)
    for says in (_digits_and_meanings, _meanings):
        if missing and surplus:
            missing, surplus = _without_pairs(missing, surplus, says)
    if are_alike:
        moved = set(map(_digits, missing)) & set(map(_digits, surplus))
        missing = [number for number in missing if _digits(number) in moved]
        surplus = [number for number in surplus if _digits(number) in moved]
    return missing, surplus


def _digits(number: Quantity) -> Hashable:
    """Returns what stays equal if only separators move."""
    return number.digits.lstrip("0"), number.factors


def _digits_and_meanings(number: Quantity) -> Sequence[Hashable]:
    return [(number.digits, meaning) for meaning in number.meanings]


def _meanings(number: Quantity) -> Sequence[Hashable]:
    return number.meanings


def _without_pairs(
    ones: Sequence[Quantity], others: Sequence[Quantity], says: Callable[[Quantity], Sequence[Hashable]]
) -> tuple[list[Quantity], list[Quantity]]:
    """Removes each number and the first one on the other side that says the same; a number is in one pair at most."""
    places: dict[Hashable, list[int]] = {}
    for place in range(len(others) - 1, -1, -1):
        for said in says(others[place]):
            places.setdefault(said, []).append(place)
    paired: set[int] = set()
    left = []
    for one in ones:
        for said in says(one):
            free = places.get(said, _NOTHING)
            while free and free[-1] in paired:
                free.pop()
            if free:
                paired.add(free.pop())
                break
        else:
            left.append(one)
    return left, [other for place, other in enumerate(others) if place not in paired]


def _copied(below: Aligned, align: bool) -> Aligned:
    made = [(aligned, edited(aligned.target, _edits(aligned))) for aligned in aligned_hypotheses(below)]
    targets = [(edits.text, moved_each(aligned.target_spans, edits.old, edits.new)) for aligned, edits in made]
    found = changed_result(below.found, below.source, targets, align)
    best = made[0][1]
    if not align:
        return Aligned(below.source, best.text, found=found)
    return rebuilt(below, Edits(below.source, [], []), best, [])._replace(found=found)


def _edits(aligned: Aligned) -> list[Edit]:
    """Finds the parts of the target that are replaced, ascending and without overlaps."""
    small = [edit for one in flattened(aligned.source, aligned.target) for edit in one.mends]
    taken = {place for edit in small for place in range(edit.begin, edit.end)}
    return sorted([*small, *(copy for copy in _copies(aligned) if taken.isdisjoint(range(copy.begin, copy.end)))])


def _copies(aligned: Aligned) -> list[Edit]:
    """Finds the bad copies of numbers that are replaced."""
    missing, surplus = _unmatched(aligned.source, aligned.target)
    projection = Projection(aligned)
    begins = [number.begin for number in surplus]
    touched: list[list[Quantity]] = []
    for number in missing:
        found: list[Quantity] = []
        if (place := projection.target_range(number.begin, number.end)) is not None:
            first = max(bisect_right(begins, place[0]) - 1, 0)
            found = [one for one in surplus[first : first + 3] if one.begin < place[1] and one.end > place[0]]
        touched.append(found)
    several = Counter(one.begin for some in touched for one in some)
    edits = []
    for number, some in zip(missing, touched, strict=True):
        if len(some) == 1 and several[some[0].begin] == 1:
            text = _copy(aligned.source, number, aligned.target, some[0])
            if text is not None:
                edits.append(Edit(some[0].begin, some[0].end, text))
    return edits


def _copy(source: str, number: Quantity, target: str, wrong: Quantity) -> str | None:
    """Returns a number of the source as the target writes it, or None if it must not replace `wrong`."""
    written = writing(source, number) if _is_long(number) else None
    if written is None or written != writing(target, wrong) or not resembles(wrong.digits, number.digits):
        return None
    if set(number.factors).isdisjoint(wrong.factors):
        return None
    write = separated if wrong.digits == number.digits else rewritten
    return write(number.written, wrong.written)
