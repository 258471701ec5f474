# ruff: noqa: RUF002 - the fraction slash
"""Superscripts, subscripts and fractions of the source that became ordinary digits in a translation.

Many vocabularies replace such characters before the model sees them (NFKC): 10² becomes 102, 1½ becomes 11⁄2.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from cpunmt.alignment.edits import Edit
from cpunmt.text.scripts import LETTER
from cpunmt.text.signs import without

_ASCII = bytes(range(128))
_SMALL = "[¹²³⁰⁴-⁹₀-₉¼-¾⅐-⅞↉]"
_SIGNS = re.compile(f"[⁺⁻₊₋]?{_SMALL}+[⁺⁻₊₋]?")
_MARK = "[.,'\u2019 \u00a0\u202f]"  # between the digits of a number
_BASE = re.compile(rf"(?:\d+(?:{_MARK}\d+)*|(?:(?!{_SMALL}){LETTER})+)$")
_RUN = 40  # characters that are read before the signs
_MOST = 100  # a long text may have thousands
_VARIANTS = {"\u2044": "[\u2044/]", "\u2212": "[-\u2212\u2013]"}  # NFKC's fraction slash and minus


class Flattened(NamedTuple):
    """Small digits of the source that became ordinary digits.

    begin      where they stand in the source, in code points
    is_number  whether they follow the digits of a number, which has therefore another value now
    mends      edits of the translation that restore them; empty if it is not clear where
    """

    begin: int
    is_number: bool
    mends: list[Edit]


def flattened(source: str, target: str) -> list[Flattened]:
    """Finds small digits of the source that became ordinary digits in the target.

    Equal ones are found once, and only the first 100 different ones.
    """
    if source.isascii() or not _SIGNS.search(without(source, _ASCII)):  # most sentences: ten times faster
        return []
    first: dict[tuple[str, str], int] = {}  # base and signs -> place of the first such signs
    for signs in _SIGNS.finditer(source):
        base = _BASE.search(source, max(0, signs.start() - _RUN), signs.start())
        if base or "\u2044" in unicodedata.normalize("NFKC", signs[0]):  # a fraction may stand alone
            first.setdefault((base[0] if base else "", signs[0]), signs.start())
    found = []
    for (before, small), begin in islice(first.items(), _MOST):
        mends = list(_mends(before, small, target))
        of_source = sum(1 for _ in _mends(before, small, source))  # 102 beside 10²
        if len(mends) > of_source:
            found.append(Flattened(begin, before[-1:].isdecimal(), [] if of_source else mends))
    return found


def _mends(base: str, signs: str, text: str) -> Iterator[Edit]:
    """Yields edits that write `signs` again in each place of `text` where they stand as ordinary digits.

    A number may have other separators there: 2.5² is found as 2,52.
    """
    if base[-1:].isdecimal():
        before = r"(?<!\d)(?<!\d[.,])" + f"{_MARK}?".join(filter(str.isdecimal, base))
    else:
        before = (f"(?<!{LETTER})" if base else r"(?<!\d)") + re.escape(base)
    small = "".join(_VARIANTS.get(sign, re.escape(sign)) for sign in unicodedata.normalize("NFKC", signs))
    for match in re.finditer(rf"{before}({small})(?![.,]?\d)", text):
        yield Edit(*match.span(1), signs)
