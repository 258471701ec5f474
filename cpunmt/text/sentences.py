"""Finds the sentences of a text by rules, without a model, for all scripts.

A candidate is a run of stops with closing marks (quotes, brackets, footnotes, emoji) and white space, unless the script
uses none. Blank lines always separate. Spans count code points; the text between them is white space, and at the
beginning of lines bullets and the numbers of lists:

    gap0 + sentence0 + gap1 + sentence1 + ... + last gap == text

Linear: a candidate is judged by at most LOOK_BACK characters before it, the word after it, and nothing else.
"""

import functools
import re
from collections.abc import Iterator

from cpunmt.text.language_rules import Rules, rules
from cpunmt.text.sentence_ends import ends
from cpunmt.text.sentence_marks import BLANK, LINE_ENDS, SPACE, ZERO_WIDTH, candidates, line_end

QUOTED = 400  # characters before a quotation mark that are searched for the other one

_BLANK_RUN = re.compile(rf"[{BLANK}]*")
_SPACES = re.compile(rf"[{SPACE}]*")
_ALPHANUMERIC = re.compile(r"[^\W_]")

# Possible beginnings of a line: bullets, marks of Markdown, "a)" "(12)" "1.2)", lines of dashes.
_BULLETS = re.compile(
    rf"(?:(?:[\u2022\u2023\u25aa\u25ab\u25cf\u25e6\u25cb\u25a0\u25a1\u25b8\u25ba\u27a2\u27a4\u2043\u2219]"
    rf"|[-*+\u2010-\u2015\u00b7](?=\s|\Z)|\#{{1,6}}(?=\s|\Z)|>|\[[ xX]\](?=\s|\Z)"
    rf"|\(?(?:[^\W\d_]|\d{{1,3}}(?:\.\d{{1,3}}){{0,5}})\)(?=\s|\Z)|[-=*_~+\u2013\u2014]{{3,}}(?=[{SPACE}]*(?:[{LINE_ENDS}]|\Z)))"
    rf"[{SPACE}]*){{1,8}}"
)
_NUMBER = re.compile(rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}\.[{SPACE}]+(?=[^\s\d])")
_FOLLOWING = re.compile(rf"(?:(?![{LINE_ENDS}])[\W_]){{0,3}}(\w{{0,30}})")
_ITEM = re.compile(r"[\u2022\u2023\u25aa\u25cf\u25e6]|[-*+](?=\s|\Z)|#{1,6}(?=\s|\Z)|>|\(?(\d{1,3})[.)](?=\s|\Z)")


def sentence_spans(text: str, language: str | None = None, newline: bool = True) -> list[tuple[int, int]]:
    """Returns begin and end of each sentence, in code points, ascending.

    Sentences are not empty, and have no white space at either end.

    Parameters
    ----------
    text : any text
    language : of the text, as ISO 639 has it ("de", "pt-BR"), for its abbreviations; None: the common ones
    newline : whether a line's end is a sentence's end; otherwise only a blank line and the item of a list are
    """
    return list(_spans(text, *_of(language), newline))


@functools.lru_cache(64)
def _of(language: str | None) -> tuple[Rules, re.Pattern[str]]:
    known = rules(language)
    return known, candidates(known.language)


def _spans(text: str, known: Rules, places: re.Pattern[str], newline: bool) -> Iterator[tuple[int, int]]:
    begin, item = _begin_of_line(text, 0, known)
    wordless = begin  # from `begin` to here without a letter or digit
    for found in places.finditer(text, begin):
        at = found.start()
        if at < begin:
            continue  # already examined
        if text[at] in LINE_ENDS:
            end = _stripped(text, begin, at)
            if end > begin:
                if not newline and not _separates(text, found, item, known):
                    continue
                yield begin, end
            begin, item = _begin_of_line(text, found.end(), known)
            wordless = begin
        elif ends(text, found, begin, known):
            if not text[begin].isalnum():
                if _ALPHANUMERIC.search(text, wordless, at) is None:
                    wordless = found.end()
                    continue
                wordless = begin
            end = found.end()
            if text.startswith('"', end) and text.count('"', max(begin, end - QUOTED), end) % 2:
                end += 1  # of two that stand between letters it is the closing one: Chinese
            yield begin, end
            begin = wordless = max(found.end(1), end if end == found.end() else _end_of(_SPACES, text, end))
            if begin - found.end() > 1 or text[begin - 1] in LINE_ENDS:
                line = line_end().search(text, found.end(), begin)
                if line:
                    begin = line.start()  # the next candidate
    end = _stripped(text, begin, len(text))
    if end > begin:
        yield begin, end


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Returns where the match of a pattern at `at` ends; `at` if there is none."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _stripped(text: str, begin: int, end: int) -> int:
    """Returns the end of the text from `begin` to `end` without trailing white space."""
    while end > begin and (text[end - 1].isspace() or text[end - 1] in ZERO_WIDTH):
        end -= 1
    return end


def _begin_of_line(text: str, at: int, known: Rules) -> tuple[int, int]:
    """Returns the beginning of a line's text, after bullets and the number of an item, and that number or 0."""
    if text[at : at + 2].isalpha():
        return at, 0
    at = _end_of(_BLANK_RUN, text, at)
    item = _ITEM.match(text, at)
    at = _end_of(_BULLETS, text, at)
    found = _NUMBER.match(text, at)
    if found and _is_item(text, found.end(), known):
        at = found.end()
    return at, int(item[1]) if item and item[1] else 0


def _is_item(text: str, at: int, known: Rules) -> bool:
    """Returns whether a number with a point before `at` is an item's, not an ordinal number: "1. The", not "1. Mai"."""
    following = _FOLLOWING.match(text, at)
    word = following[1] if following else ""
    if known.ordinals:
        return word.lower() in known.starters
    return known.language is not None or not word[:1].islower()


def _separates(text: str, found: re.Match[str], item: int, known: Rules) -> bool:
    """Returns whether a line's end separates sentences in wrapped text: a blank line, or the next item of a list."""
    if "\u2029" in found[0] or len(line_end().findall(found[0])) > 1:
        return True
    following = _ITEM.match(text, found.end())
    if following is None:
        return False
    if following[1] is None:
        return True
    number = int(following[1])
    if number != item + 1 or (known.language is None and item == 0):
        return False
    point = _NUMBER.match(text, found.end())
    return point is None or _is_item(text, point.end(), known)
