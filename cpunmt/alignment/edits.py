"""Parts of a text that are replaced, and where the pieces of the one text stand in the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned, Span


class Edit(NamedTuple):
    """`begin` to `end` of a text, in code points, become `text`; if they are equal it is put in."""

    begin: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> tuple[str, list[Span]]:
    """`text` with `edits`, which are ascending and do not overlap, and where the text of each stands in it."""
    parts: list[str] = []
    spans: list[Span] = []
    copied = length = 0
    for begin, end, new in edits:
        parts += [text[copied:begin], new]
        length += begin - copied + len(new)
        spans.append((length - len(new), length))
        copied = end
    return "".join([*parts, text[copied:]]), spans


class Moved(NamedTuple):
    """The pieces of a text after its edits.

    spans   where they stand now: an edit is one piece, together with the pieces that it touched
    pieces  which of them each old piece is in
    edits   which of them each edit is in
    """

    spans: list[Span]
    pieces: list[int]
    edits: list[int]


def moved(spans: Sequence[Span], old: Sequence[Span], new: Sequence[Span]) -> Moved:
    """The pieces `spans` of a text in which `old` became `new`, each ascending and without overlaps."""
    begins = _moved_begins([begin for begin, _ in spans], old, new)
    ends = _moved_ends([end for _, end in spans], old, new)
    # (begin, whether it has characters, whether it is a piece, end, number): what is empty comes first, then edits
    pieces = ((b, e > b, True, max(b, e), i) for i, (b, e) in enumerate(zip(begins, ends, strict=True)))
    items = sorted(chain(pieces, ((b, e > b, False, e, i) for i, (b, e) in enumerate(new))))
    moved = Moved([], [0] * len(spans), [0] * len(old))
    edit_within = False  # the last of the spans has one
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
    passed = 0  # edits that end before
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
    begun = 0  # edits that begin before
    for end in ends:
        while begun < len(old) and old[begun][0] < end:
            begun += 1
        if not begun:
            found.append(end)
        else:
            found.append(new[begun - 1][1] + max(end - old[begun - 1][1], 0))
    return found


def moved_each(spans: Sequence[Span], old: Sequence[Span], new: Sequence[Span]) -> list[Span]:
    """As `moved`, but one span for each piece: of those within an edit the first has all its characters."""
    begins = _moved_begins([begin for begin, _ in spans], old, new)
    ends = _moved_ends([end for _, end in spans], old, new)
    found: list[Span] = []
    last = 0
    for begin, end in zip(begins, ends, strict=True):
        begin = max(begin, last)
        last = max(begin, end)
        found.append((begin, last))
    return found


class Edits(NamedTuple):
    """What became of a text: `old` are spans of it as it was, `new` those that are there instead."""

    text: str
    old: Sequence[Span]
    new: Sequence[Span]


def rebuilt(below: Aligned, source: Edits, target: Edits, pairs: Sequence[tuple[int, int]]) -> Aligned:
    """`below` with its source and its target edited, and their pieces and links moved.

    `pairs` are (edit of the source, edit of the target), ascending in the target. The two are linked to each other
    only, and have the same text but for spaces around it.
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
