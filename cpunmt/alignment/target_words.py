"""Splits a translation into words, and finds the words that come from a part of the source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.projection import Projection
from cpunmt.options.glossary.words import capitalised, is_spaced, is_word, tokens

ENDING = 2  # letters after a term that count as its ending: "Bahnhofs", "Hunden"
SHORTEST = 4  # letters of the shortest term that may have an ending
_JOINTS = ("", "-", "'", "\u2019", "/", "&", "\u2010", "\u2011")  # allowed between the words of a term


class Target:
    """The target of an `Aligned`, as words."""

    def __init__(self, aligned: Aligned) -> None:
        self._text = aligned.target
        self.projection = Projection(aligned)
        self._tokens = tokens(self._text)
        self._words = [(begin, end) for token, begin, end in self._tokens if is_word(token)]
        self._word_ends = [end for _, end in self._words]

    @property
    def first(self) -> int:
        """The beginning of the first word; -1 without words."""
        return self._words[0][0] if self._words else -1

    def of_source(self, begin: int, end: int) -> Span | None:
        """Returns the span of the words that come from a part of the source; None without any.

        At least half of a word's letters must come from there. Of several runs of such words, returns the one with most
        letters; on a tie, the first. Without such a word, returns the word with most letters from there.
        """
        shares = self._shares(begin, end)
        if not shares:
            return None
        full = [n for n in sorted(shares) if 2 * shares[n] >= self._words[n][1] - self._words[n][0]]
        if not full:
            return self._words[max(sorted(shares), key=shares.__getitem__)]
        runs: list[list[int]] = []
        for number in full:
            if runs and runs[-1][-1] == number - 1 and self._joined(number - 1):
                runs[-1].append(number)
            else:
                runs.append([number])
        best = max(runs, key=lambda run: sum(shares[number] for number in run))
        return self._words[best[0]][0], self._words[best[-1]][1]

    def _joined(self, number: int) -> bool:
        """Returns whether a word and the next one may belong to one term."""
        return self._text[self._words[number][1] : self._words[number + 1][0]].strip() in _JOINTS

    def _shares(self, begin: int, end: int) -> dict[int, int]:
        """Returns word -> number of its characters that come from a part of the source, if not zero."""
        found: dict[int, int] = {}
        for first, last in self.projection.target_spans(begin, end):
            number = bisect_left(self._word_ends, first + 1)
            while number < len(self._words) and self._words[number][0] < last:
                share = min(last, self._words[number][1]) - max(first, self._words[number][0])
                found[number] = found.get(number, 0) + share
                number += 1
        return {number: share for number, share in found.items() if share > 0}

    def places(self, terms: Iterable[str]) -> dict[str, list[Span]]:
        """Maps each term to its places as whole words, ascending; a sentence's first word may have a capital.

        The place of a long term includes an ending of small letters. Takes time linear in the text, for any number of
        terms.
        """
        root: dict[str, Any] = {}  # token -> node of the next tokens; "" -> (term, whether only at the beginning)
        found: dict[str, list[Span]] = {}
        for term in terms:
            if term in found:
                continue
            found[term] = []
            _plant(root, term, term, False)
            if capitalised(term) != term:
                _plant(root, capitalised(term), term, True)
        given = [(" " if token.isspace() else token, begin, end) for token, begin, end in self._tokens]
        for place, (_, begin, _) in enumerate(given):
            node: dict[str, Any] | None = root
            for number in range(place, len(given)):
                token, _, end = given[number]
                assert node is not None
                for length in range(1, ENDING + 1):
                    if token[-length:].islower() and token[-length:].isalpha():
                        self._take(found, node.get(token[:-length]) if token[:-length] else None, begin, end, length)
                node = node.get(token)
                if node is None:
                    break
                self._take(found, node, begin, end, 0)
        return found

    def _take(self, found: dict[str, list[Span]], node: dict[str, Any] | None, begin: int, end: int, more: int) -> None:
        for term, initial in node.get("", ()) if node else ():
            if more and (len(term) < SHORTEST or not is_spaced(term)):
                continue
            if not initial or begin == self.first:
                found[term].append((begin, end))


def _plant(root: dict[str, Any], text: str, term: str, initial: bool) -> None:
    node = root
    for token, _, _ in tokens(text):
        node = node.setdefault(token, {})
    node.setdefault("", []).append((term, initial))
