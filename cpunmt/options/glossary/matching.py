"""Finds terms of a glossary in a sentence: the longest at each place, in time linear in the sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cpunmt.options.glossary.words import capitalised, is_word, one_space, token_texts, tokens

MOST_TOKENS = 64  # of a term, spaces included: the most that are compared from each word of a sentence
LOUD = 5  # letters of a word in capitals; a shorter one may be an abbreviation, such as "US"


class Match(NamedTuple):
    """A term in a sentence."""

    begin: int
    end: int
    term: tuple[str, str]  # the term and its translation, as in the glossary
    target: str  # the translation as it is written in the target: in capitals for a term in capitals


class _Node:
    """The possible next words after a sequence of words, and the terms that end with it."""

    __slots__ = ("after", "terms")

    def __init__(self) -> None:
        self.after: dict[str, _Node] = {}
        self.terms: tuple[tuple[str, str], ...] = ()


class Matcher:
    """A read-only tree of the terms' words."""

    def __init__(self, terms: Iterable[tuple[str, str]]) -> None:
        """Takes (source, target) of each term, with single spaces for white space, and at most MOST_TOKENS tokens."""
        self._root = _Node()
        for source, target in sorted(terms):  # of two terms with the same words the first one wins, in any input order
            node = self._root
            for token, _, _ in tokens(source):
                word = token.casefold()
                node = node.after.get(word) or node.after.setdefault(word, _Node())
            node.terms = (*node.terms, (source, target))

    def matches(self, text: str) -> list[Match]:
        """Returns the terms in `text`, from left to right: the longest at each place, without overlaps.

        A term matches as it is written. At the beginning of a sentence its first letter may be a capital, and it may
        be written in capitals, if it has `LOUD` letters or the whole text is in capitals.
        """
        found: list[Match] = []
        first = self._root.after
        if first.keys().isdisjoint(map(str.casefold, token_texts(text))):
            return found
        given = tokens(text)
        folded = [" " if token.isspace() else token.casefold() for token, _, _ in given]
        place, begun = 0, False  # begun: a word was passed
        quiet = any(map(str.islower, text))
        while place < len(given):
            match = self._longest(text, given, folded, place, not begun, quiet) if folded[place] in first else None
            if match is None:
                begun = begun or is_word(given[place][0])
                place += 1
            else:
                found.append(match[0])
                begun, place = True, match[1]
        return found

    def _longest(
        self, text: str, given: list[tuple[str, int, int]], folded: list[str], place: int, initial: bool, quiet: bool
    ) -> tuple[Match, int] | None:
        """Returns the longest term that begins at a token, and the number of the token after it."""
        node, begin, found = self._root, given[place][1], None
        for number in range(place, min(len(given), place + MOST_TOKENS)):
            after = node.after.get(folded[number])
            if after is None:
                break
            node = after
            if node.terms:
                end = given[number][2]
                chosen = _chosen(node.terms, one_space(text[begin:end]), initial, quiet)
                if chosen is not None:
                    found = Match(begin, end, *chosen), number + 1
        return found


def _chosen(
    terms: tuple[tuple[str, str], ...], surface: str, initial: bool, quiet: bool
) -> tuple[tuple[str, str], str] | None:
    """Returns the term that `surface` spells, with its translation in capitals for a surface in capitals; or None."""
    for term in terms:
        if term[0] == surface:
            return term, term[1]
    if initial:
        for term in terms:
            if capitalised(term[0]) == surface:
                return term, term[1]
    if surface.isupper() and (not quiet or sum(map(str.isalpha, surface)) >= LOUD):
        for term in terms:
            if term[0].upper() == surface:
                return term, term[1].upper()
    return None
