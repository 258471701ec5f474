"""Replaces bad copies of the source's numbers in a translation, by alignment."""

from __future__ import annotations

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
    writing,
)
from cpunmt.text.signs import digit_runs, has_digits

_NOTHING: list[int] = []
_WORDS = 12  # numbers up to this are often words


def number_layer(below: Layer) -> Layer:
    """Returns a layer that replaces bad copies of numbers.

    Two numbers agree if they may have the same value: "1,200" and "1.200", "12 million" and "12,000,000". A number of
    the target that agrees with none of the source is replaced by the number it is aligned with. Three conditions must
    hold: the target lacks that number, the replaced one looks like a bad copy of it (`quantities.resembles`), and all
    languages write it with the same digits (`quantities.writing`).
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
    if not has_digits(source):
        return True
    return not any(_unmatched(source, target))


def lost_numbers(source: str, target: str) -> list[Quantity]:
    """Finds the numbers of the source that the target should have, and lacks.

    Another language may write small numbers as words, and measures, times and codes with other digits: these are left
    out.
    """
    if not (runs := digit_runs(source)) or sorted(runs) == sorted(digit_runs(target)):
        return []
    missing, _ = _unmatched(source, target)
    return [number for number in missing if int(number.digits[:4]) > _WORDS and _is_plain(source, number)]


def _is_plain(text: str, number: Quantity) -> bool:
    written = writing(text, number)
    return written is not None and not any(written)


def is_doubtful(source: str, target: str) -> bool:
    """Returns whether the target lacks a number of the source, and has a surplus one that is written like it."""
    if not (runs := digit_runs(source)):  # most sentences: ten times faster
        return False
    others = digit_runs(target)
    if not others or sorted(runs) == sorted(others):
        return False
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

    Two numbers are paired if they have the same digits, else if they may say the same.
    """
    missing, surplus = quantities(source), quantities(target)
    for says in (_in_digits, _in_values):
        if missing and surplus:
            missing, surplus = _without_pairs(missing, surplus, says)
    return missing, surplus


def _in_digits(number: Quantity) -> Sequence[Hashable]:
    return ((number.digits, number.factors),)


def _in_values(number: Quantity) -> Sequence[Hashable]:
    return number.values


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
    """Finds the parts of the target that are replaced, ascending."""
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
    return sorted(edits)


def _copy(source: str, number: Quantity, target: str, wrong: Quantity) -> str | None:
    """Returns a number of the source as the target writes it, or None if it must not replace `wrong`."""
    written = writing(source, number) if _is_long(number) else None
    if written is None or written != writing(target, wrong) or not resembles(wrong.digits, number.digits):
        return None
    if set(number.factors).isdisjoint(wrong.factors):
        return None
    return rewritten(source[number.begin : number.end], target[wrong.begin : wrong.end])
