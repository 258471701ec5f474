"""Cuts words into the subwords of subword-nmt: byte pair encoding, learned as a list of merges.

A file of codes has a merge on each line, two symbols with a space between them, the most important one first. After the
line `#version: 0.2`, a word's last character carries its end (`g</w>`); without it, the end is a symbol of its own.
"""

import functools
import heapq
import os
import re
from collections.abc import Sequence

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded

JOINT = "@@"  # ends each subword but the last one of a word
_END = "</w>"
_MAX_FILE = 16 << 20  # bytes; 32,000 merges have less than one
_MAX_SYMBOL = 1024  # characters
_VERSION = re.compile(r"#version: *(0\.[12])(\.0+)*")
_KNOWN_WORDS, _KNOWN_LENGTH = 1 << 15, 64  # words that are kept, and the characters of the longest one


class SubwordCodes:
    """The merges of a file of codes; safe to share between threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Loads `path`. Raises ModelFileError: the file is missing, damaged, over 16 MiB or of another version."""
        self._ends_apart, self._ranks = _read(path)
        self._known = functools.lru_cache(_KNOWN_WORDS)(self._merged)

    def cut(self, word: str) -> list[str]:
        """Returns the subwords of a word, of which each but the last one ends with `JOINT`."""
        symbols = self._known(word) if len(word) <= _KNOWN_LENGTH else self._merged(word)
        return [*(symbol + JOINT for symbol in symbols[:-1]), *symbols[-1:]]

    def _merged(self, word: str) -> Sequence[str]:
        """Merges the characters of `word`, always the pair with the lowest rank, from left to right."""
        if not word:
            return []
        symbols = [*word, _END] if self._ends_apart else [*word[:-1], word[-1] + _END]
        count = len(symbols)
        before, after = list(range(-1, count - 1)), list(range(1, count + 1))  # the neighbours of each symbol
        pairs: list[tuple[int, int]] = []  # rank, place of the first symbol

        def found(place: int) -> int | None:
            """Returns the rank of the pair that begins at a symbol, if it is one."""
            behind = after[place]
            return self._ranks.get((symbols[place], symbols[behind])) if symbols[place] and behind < count else None

        for place in range(count):
            if (rank := found(place)) is not None:
                pairs.append((rank, place))
        heapq.heapify(pairs)
        while pairs:
            lowest, made = pairs[0][0], []
            while pairs and pairs[0][0] == lowest:  # all of one pair, before any that they make
                place = heapq.heappop(pairs)[1]
                if found(place) != lowest:
                    continue  # a neighbour has taken one of its symbols
                behind = after[place]
                symbols[place] += symbols[behind]
                symbols[behind] = ""
                after[place] = after[behind]
                if after[place] < count:
                    before[after[place]] = place
                made += [place, before[place]]
            for place in made:
                if place >= 0 and (rank := found(place)) is not None:
                    heapq.heappush(pairs, (rank, place))
        merged = [symbol for symbol in symbols if symbol]
        last = merged.pop().removesuffix(_END)
        return [*merged, last] if last else merged


def _read(path: str | os.PathLike[str]) -> tuple[bool, dict[tuple[str, str], int]]:
    """Returns whether the end of a word is a symbol of its own, and the rank of each pair."""
    try:
        text = expanded(path, "subword codes", _MAX_FILE).tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path}: subword codes: not UTF-8 ({error}); fetch it again") from None
    lines = text.removesuffix("\n").split("\n")
    ends_apart = True
    if lines[0].startswith("#version"):
        version = _VERSION.fullmatch(lines[0].rstrip("\r "))
        if version is None:
            raise ModelFileError(
                f"{path}: subword codes: the first line is {lines[0][:80]!r}, expected '#version: 0.2' or 0.1"
            )
        ends_apart = version[1] == "0.1"
        lines[0] = ""
    ranks: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, 1):
        if number == 1 and not line:
            continue
        first, gap, second = line.strip("\r ").partition(" ")
        if not first or not gap or not second or " " in second or len(line) > 2 * _MAX_SYMBOL:
            raise ModelFileError(
                f"{path}: subword codes: line {number} is {line[:80]!r}, expected two symbols with a space between "
                "them; fetch it again"
            )
        ranks.setdefault((first, second), number)
    if not ranks:
        raise ModelFileError(f"{path}: subword codes: no merges; fetch it again")
    return ends_apart, ranks
