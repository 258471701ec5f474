"""Terms and their required translations: `Glossary`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from cpunmt.errors import CpunmtError
from cpunmt.options.glossary.matching import MOST_TOKENS, Match, Matcher
from cpunmt.options.glossary.words import one_space, tokens
from cpunmt.values.checks import shown

MOST_TERMS = 200_000
MOST_LETTERS = 400  # of a term, and of its translation
MOST_BYTES = 32 << 20  # of a file
_CONTROLS = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\ud800-\udfff]")  # and halves of characters


class Glossary(Mapping[str, str]):
    """Required translations of terms: an immutable mapping that threads may share.

    Glossary({"train station": "Bahnhof"})
    Glossary.from_tsv("terms.tsv")

    A term matches whole words of a sentence as it is written; at the beginning of a sentence also with a capital, and
    anywhere in capitals. The longest of the terms that begin at one place wins. In scripts without spaces between words
    a term matches anywhere. White space in a term matches any white space.
    """

    def __init__(self, terms: Mapping[str, str]) -> None:
        """Takes a mapping from terms to their translations.

        Raises TypeError for anything but text. Raises ValueError, which names the term, if a term is empty, is longer
        than 400 characters or 64 words and spaces, has control characters, or differs from another in white space
        alone; also for more than 200,000 terms.
        """
        if not isinstance(terms, Mapping):
            raise TypeError(f"glossary is {type(terms).__name__}, expected a dict of terms or a cpunmt.Glossary")
        if len(terms) > MOST_TERMS:
            raise ValueError(f"glossary has {len(terms)} terms, expected at most {MOST_TERMS}")
        found: dict[str, str] = {}
        for source, target in terms.items():
            if not isinstance(source, str) or not isinstance(target, str):
                raise TypeError(f"glossary has {shown(source)}: {shown(target)}, expected text for text")
            if problem := _problem(source, target):
                raise ValueError(f"glossary: {problem}")
            if found.setdefault(one_space(source), one_space(target)) != one_space(target):
                raise ValueError(f"glossary has {shown(source)} twice, with different translations; keep one")
        self._set(found)

    def _set(self, terms: dict[str, str]) -> None:
        self._terms = terms
        self._hash = hash(frozenset(terms.items()))
        self._matcher = Matcher(terms.items())

    @classmethod
    def from_tsv(cls, path: str | os.PathLike[str]) -> Glossary:
        """Reads a file of lines with a term, a tab and its translation, in UTF-8; skips blank lines.

        Raises CpunmtError, which names the file and the line, for a file that cannot be read or is larger than 32 MiB,
        another kind of line, a term that `Glossary` refuses, or two translations of one term.
        """
        try:
            with open(path, "rb") as file:
                content = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            said = error.strerror if isinstance(error, OSError) else error
            raise CpunmtError(f"{os.fspath(path)}: cannot read the glossary: {said}; check the path") from None
        if len(content) > MOST_BYTES:
            raise CpunmtError(f"{os.fspath(path)}: glossary has more than {MOST_BYTES} bytes; wrong file?")
        found: dict[str, str] = {}
        lines: dict[str, int] = {}
        for number, source, target in _rows(content, os.fspath(path)):
            where = f"{os.fspath(path)}: line {number}"
            if problem := _problem(source, target):
                raise CpunmtError(f"{where}: {problem}")
            source, target = one_space(source), one_space(target)
            if found.setdefault(source, target) != target:
                raise CpunmtError(
                    f"{where}: {shown(source)} becomes {shown(target)}, but {shown(found[source])} in line "
                    f"{lines[source]}; keep one"
                )
            lines.setdefault(source, number)
            if len(found) > MOST_TERMS:
                raise CpunmtError(f"{where}: glossary has more than {MOST_TERMS} terms; keep those in your texts")
        glossary = cls.__new__(cls)
        glossary._set(found)
        return glossary

    def matches(self, text: str) -> list[Match]:
        """Returns the terms in a sentence, from left to right, without overlaps."""
        return self._matcher.matches(text)

    def __getitem__(self, term: str) -> str:
        return self._terms[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __eq__(self, other: object) -> bool:
        return self._terms == (other._terms if isinstance(other, Glossary) else other)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Glossary], tuple[dict[str, str]]]:
        return Glossary, (self._terms,)

    def __repr__(self) -> str:
        first = next(iter(self._terms.items()), None)
        if first is None:
            return "Glossary({})"
        more = ", ..." if len(self) > 1 else ""
        count = "1 term" if len(self) == 1 else f"{len(self)} terms"
        return f"<Glossary of {count}: {shown(first[0])}: {shown(first[1])}{more}>"


def glossary_of(value: object) -> Glossary | None:
    """Returns the value of `glossary=`: from None, a Glossary, a mapping, or the path of a file; errors as of
    `Glossary`."""
    if value is None or isinstance(value, Glossary):
        return value
    if isinstance(value, str | os.PathLike):
        return Glossary.from_tsv(value)
    if isinstance(value, Mapping):
        return Glossary(value)
    raise TypeError(
        f"glossary is {shown(value)}, expected a dict of terms, a cpunmt.Glossary or the path of a file of them"
    )


def _problem(source: str, target: str) -> str | None:
    """Returns the error message for a term; None if the term is valid."""
    for text, what in ((source, "term"), (target, f"translation of {shown(source)}")):
        if not text.strip():
            return f"the {what} is empty; expected text" if what != "term" else "a term is empty; expected text"
        if len(text) > MOST_LETTERS:
            said = f"{shown(text)} has" if what == "term" else f"the {what} has"
            return f"{said} {len(text)} characters, expected at most {MOST_LETTERS}"
        if bad := _CONTROLS.search(text):
            said = f"{shown(text)} has" if what == "term" else f"the {what} has"
            return f"{said} the character U+{ord(bad.group()):04X}, expected one line of text"
    if (count := len(tokens(one_space(source)))) > MOST_TOKENS:
        return f"{shown(source)} has {count} words, spaces and signs, expected at most {MOST_TOKENS}"
    return None


def _rows(content: bytes, path: str) -> Iterator[tuple[int, str, str]]:
    """Yields (number, term, translation) of each line that is not blank."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise CpunmtError(f"{path}: line {number} is not UTF-8 ({error.reason}); convert the glossary") from None
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) != 2:
            raise CpunmtError(
                f"{path}: line {number} has {len(fields) - 1} tabs, expected a term, a tab and its translation"
            )
        yield number, fields[0], fields[1]
