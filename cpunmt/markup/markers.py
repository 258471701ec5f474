"""Elements that are no words: footnote marks, pilcrows, the figures of formulas. No model is asked about them."""

from __future__ import annotations

import re

from cpunmt.markup.document import END, HOLD, POINT, START, TEXT, Item
from cpunmt.markup.entities import decoded
from cpunmt.text.scripts import LETTER

MARK = "sup"  # the name of a point that was an element
_MOST = 8  # items of an element that may be one
_WORD = 40  # characters of a word that is looked at

_LETTER = re.compile(LETTER)
_NOTE = re.compile(r"\s*\[[\d\s,*\u2013-]+\]\s*")
_SYMBOLS = re.compile(r"[^\w.,;:!?\u2026'\"()\u2018-\u201f\u3001\u3002\uff01\uff1f\u2013\u2014-]+")
_WITHIN = re.compile(r"[@#$%&=+~/\\{}`]")  # signs that belong to the word around or behind them
_TAIL = re.compile(r"[\w.]*\w\Z")
_HEAD = re.compile(rf"\w{{1,{_WORD}}}")


def without_markers(html: str, items: list[Item], partners: dict[int, int]) -> list[Item]:
    """The items, with each such element as one that is not translated.

    A footnote's mark is a point behind its word. In a word, as the figure of H<sub>2</sub>O, it is held with the word.
    """
    made: list[Item] = []
    rest = list(items)
    place = 0
    while place < len(rest):
        item = rest[place]
        last = partners.get(place, -1) if item[0] == START else -1
        if not place < last <= place + _MOST or not _is_marker(html, rest, place, last):
            if item[0] != TEXT or item[1] < item[2]:
                made.append(item)
            place += 1
            continue
        begin, end = item[1], rest[last][2]
        tail = _tail(html, made, begin)
        after = rest[last + 1] if last + 1 < len(rest) else item
        head = _head(html, after)
        if tail < begin and (item[3] == "sub" or (head and item[3] == "sup")):
            if head:
                end = head.end()
                rest[last + 1] = (TEXT, end, after[2], "")
            _cut(made, tail)
            made.append((HOLD, tail, end, ""))
        else:
            made.append((POINT, begin, end, MARK))
        place = last + 1
    return made


def _is_marker(html: str, all_items: list[Item], first: int, last: int) -> bool:
    items = all_items[first : last + 1]
    names = {name for kind, _, _, name in items if kind == START}
    if any(kind == HOLD for kind, _, _, _ in items):
        return False
    text = decoded("".join([html[begin:end] for kind, begin, end, _ in items if kind == TEXT]), {})
    if not text.strip() or _LETTER.search(text):
        return False
    if "sup" in names or "sub" in names:
        return True
    if _SYMBOLS.fullmatch(text):
        after = [item for item in all_items[last + 1 : last + _MOST] if item[0] not in (START, END)][:1]
        return not (_WITHIN.search(text) and after and _head(html, after[0]))
    return "a" in names and _NOTE.fullmatch(text) is not None


def _head(html: str, item: Item) -> re.Match[str] | None:
    """Matches the word at the beginning of an item."""
    return _HEAD.match(html, item[1], item[2]) if item[0] == TEXT else None


def _tail(html: str, made: list[Item], end: int) -> int:
    """Where the word begins that ends at `end`, with what is held before it; `end`: there is none."""
    begin = end
    for kind, first, last, _ in reversed(made[-2:]):
        if last != begin or kind not in (TEXT, HOLD):
            break
        if kind == HOLD:
            return first
        low = max(first, last - _WORD)
        found = _TAIL.search(html[low:last])
        if found is None:
            break
        begin = low + found.start()
        if first < begin:
            break
    return begin


def _cut(made: list[Item], begin: int) -> None:
    """Takes away what the items have from `begin` on."""
    while made and made[-1][1] >= begin:
        made.pop()
    if made and made[-1][2] > begin:
        kind, first, _, name = made[-1]
        made[-1] = kind, first, begin, name
