"""Replaces parts of a text, and maps the pieces of the old text to the new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned, Span


class Edit(NamedTuple):
    """The replacement of `begin` to `end`, in code points, by `text`; an insertion if they are equal.

    `sources`: the source pieces of the new text, for an edit whose pieces `shared_out` divides.
    """

    begin: int
    end: int
    text: str
    sources: Sequence[int] = ()


class Edits(NamedTuple):
    """The changes of a text: `text` has the spans `new` in place of the old text's spans `old`."""

    text: str
    old: Sequence[Span]
    new: Sequence[Span]


def edited(text: str, edits: Iterable[Edit]) -> Edits:
    """Returns `text` with `edits`, which ascend and do not overlap."""
    parts: list[str] = []
    old: list[Span] = []
    new: list[Span] = []
    copied = length = 0
    for begin, end, inserted, _ in edits:
        parts += [text[copied:begin], inserted]
        length += begin - copied + len(inserted)
        old.append((begin, end))
        new.append((length - len(inserted), length))
        copied = end
    return Edits("".join([*parts, text[copied:]]), old, new)


class Moved(NamedTuple):
    """The pieces of a text after its edits.

    spans   new span of each piece; an edit forms one piece, together with the pieces that it touched
    pieces  for each old piece, the number of the new piece that contains it
    edits   for each edit, the number of the new piece that contains it
    """

    spans: list[Span]
    pieces: list[int]
    edits: list[int]


def moved(spans: Sequence[Span], old: Sequence[Span], new: Sequence[Span]) -> Moved:
    """Merges the pieces `spans` with the edits of their text from `old` to `new`; all ascend without overlaps."""
    begins = _moved_begins([begin for begin, _ in spans], old, new)
    ends = _moved_ends([end for _, end in spans], old, new)
    # (begin, whether it has characters, whether it is a piece, end, number): empty spans come first, then edits
    pieces = ((b, e > b, True, max(b, e), i) for i, (b, e) in enumerate(zip(begins, ends, strict=True)))
    items = sorted(chain(pieces, ((b, e > b, False, e, i) for i, (b, e) in enumerate(new))))
    moved = Moved([], [0] * len(spans), [0] * len(old))
    edit_within = False  # whether the last span contains an edit
    for begin, _, is_piece, end, number in items:
        if moved.spans and begin < moved.spans[-1][1] and (edit_within or not is_piece):
            moved.spans[-1] = moved.spans[-1][0], max(moved.spans[-1][1], end)
            edit_within = True
        else:
            moved.spans.append((begin, end))
            edit_within = not is_piece
        (moved.pieces if is_piece else moved.edits)[number] = len(moved.spans) - 1
    return moved


def _moved_begins(begins: Iterable[int], old: Sequence[Span], new: Sequence[Span]) -> list[int]:
    found: list[int] = []
    passed = 0  # number of edits that end before
    for begin in begins:
        while passed < len(old) and old[passed][1] <= begin:
            passed += 1
        if passed < len(old) and old[passed][0] < begin:
            found.append(new[passed][0])
        else:
            found.append(begin + (new[passed - 1][1] - old[passed - 1][1] if passed else 0))
    return found


def _moved_ends(ends: Iterable[int], old: Sequence[Span], new: Sequence[Span]) -> list[int]:
    found: list[int] = []
    begun = 0  # number of edits that begin before
    for end in ends:
        while begun < len(old) and old[begun][0] < end:
            begun += 1
        if not begun:
            found.append(end)
        else:
            found.append(new[begun - 1][1] + max(end - old[begun - 1][1], 0))
    return found


def moved_each(spans: Sequence[Span], old: Sequence[Span], new: Sequence[Span]) -> list[Span]:
    """Like `moved`, but returns one span per piece: the first piece of an edit gets all its characters."""
    begins = _moved_begins([begin for begin, _ in spans], old, new)
    ends = _moved_ends([end for _, end in spans], old, new)
    found: list[Span] = []
    last = 0
    for begin, end in zip(begins, ends, strict=True):
        begin = max(begin, last)
        last = max(begin, end)
        found.append((begin, last))
    return found


def rebuilt(below: Aligned, source: Edits, target: Edits, pairs: Sequence[tuple[int, int]]) -> Aligned:
    """Returns `below` with its source and target edited, and their pieces and links moved.

    `pairs` are (edit of the source, edit of the target), ascending in the target. Each pair is linked only to each
    other; both have the same text, apart from spaces around it.
    """
    sources, targets = moved(below.source_spans, *source[1:]), moved(below.target_spans, *target[1:])
    for text, found in ((source.text, sources), (target.text, targets)):
        for number in found.edits:
            found.spans[number] = _without_spaces(text, found.spans[number])
    kept = [
        (_without_spaces(source.text, source.new[s]), _without_spaces(target.text, target.new[t])) for s, t in pairs
    ]
    known: dict[int, set[int]] = {}
    for s, t in pairs:
        known.setdefault(targets.edits[t], set()).add(sources.edits[s])
    links = {(sources.pieces[s], targets.pieces[t]) for s, t in below.links}
    links = {(s, t) for s, t in links if t not in known} | {(s, t) for t, all_s in known.items() for s in all_s}
    ordered = sorted(links, key=lambda link: link[::-1])
    return Aligned(source.text, target.text, sources.spans, targets.spans, ordered, kept=kept)


def _without_spaces(text: str, span: Span) -> Span:
    part = text[slice(*span)]
    begin = span[0] + len(part) - len(part.lstrip())
    return begin, max(begin, span[1] - (len(part) - len(part.rstrip())))


def shared_out(aligned: Aligned, edits: Sequence[Edit]) -> Aligned:
    """Returns `aligned` with edits of its target, which ascend.

    Pieces, links and the engine's result stay; only the spans of the pieces change. The words of an edit are divided
    among the replaced pieces that come from its `sources`; the other pieces get empty spans.
    """
    if not edits:
        return aligned
    linked: dict[int, list[int]] = {}
    for source, piece in aligned.links:
        linked.setdefault(piece, []).append(source)
    made, old = edited(aligned.target, edits), aligned.target_spans
    spans: list[Span] = []
    number = moved_by = 0  # the next piece; the shift of the text before it
    for place, (edit, (begin, end)) in enumerate(zip(edits, made.new, strict=True)):
        while number < len(old) and old[number][1] <= edit.begin:
            spans.append((old[number][0] + moved_by, old[number][1] + moved_by))
            number += 1
        first = number
        while number < len(old) and old[number][0] < edit.end:
            number += 1
        spans += _divided(edit, begin, old[first:number], [linked.get(piece, ()) for piece in range(first, number)])
        if spans and number > first and old[number - 1][1] > edit.end:  # it continues behind the replaced part
            start = spans[-1][0] if spans[-1][1] == end and spans[-1][0] < end else end
            rest = next((other.begin for other in edits[place:] if edit.end <= other.begin < old[number - 1][1]), None)
            last = min(old[number - 1][1], len(aligned.target) if rest is None else rest)
            spans[-1] = start, end + last - edit.end
        moved_by = end - edit.end
    spans += [(begin + moved_by, end + moved_by) for begin, end in old[number:]]
    return aligned._replace(target=made.text, target_spans=spans)


def _divided(edit: Edit, place: int, old: Sequence[Span], linked: Sequence[Sequence[int]]) -> list[Span]:
    """Returns new spans for the pieces that an edit at `place` replaces. Old spans may begin before the edit."""
    sources = set(edit.sources)
    chosen = [number for number, found in enumerate(linked) if not sources.isdisjoint(found)]
    words = _words(edit.text, place)
    groups: dict[int, Span] = {}
    for rank, number in enumerate(chosen[: len(words)]):
        count = min(len(chosen), len(words))
        first, last = rank * len(words) // count, (rank + 1) * len(words) // count - 1
        groups[number] = words[first][0], words[last][1]
    spans: list[Span] = []
    at = place
    for number, (begin, _) in enumerate(old):
        before = max(0, edit.begin - begin)
        first, at = groups.get(number, (at, at))
        spans.append((place - before if before else first, at))
    return spans


def _words(text: str, place: int) -> list[Span]:
    found = []
    for word in text.split(" "):
        found.append((place, place + len(word)))
        place += len(word) + 1
    return found
