# ruff: noqa: RUF001 - characters of other scripts
"""Decides whether a stop ends a sentence, by the characters before it and the word after it."""

import re

from cpunmt.text.abbreviations import MAY_END
from cpunmt.text.language_rules import ALWAYS, NUMBERS, UNITS, UNLESS, Rules
from cpunmt.text.scripts import EAST_ASIAN, HANGUL
from cpunmt.text.sentence_marks import ETHIOPIC_SPACE, UNSPACED

LOOK_BACK = 40  # characters; no abbreviation is longer

_UNSPACED = re.compile(f"[{UNSPACED}]")
_FIRST_UNSPACED = "\u037e"
_TYPED_AFTER = {";": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), ":": re.compile("[\u0531-\u0587]")}
_HANGUL_LETTERS = "가나다라마바"  # a, b, c, ...
_HANGUL_ENDINGS = "다요죠까네음함임"
_CASELESS_LETTERS = re.compile("[\u05d0-\u06ff\u0900-\u0dff\u10d0-\u10ff]|[\u0980-\u0dff]{2}")
_FIRST_CASELESS = "\u05d0"
_NO_INITIALS = frozenset(("I", "م", "ه"))  # "as do I."; AD and AH after years in Arabic

_TRIMMED = "\"'\u201c\u2018\u201e\u201a\u201d\u2019\u00ab\u2039\u00bb\u203a\u00bf\u00a1([{*_~`\u200e\u200f"
_TAIL = re.compile(r"(?<=[()\[\]{}/\u2010-\u2015+'\u2019-])[^\s()\[\]{}/\u2010-\u2015+'\u2019-]{2,}\Z")
_ORDINAL = re.compile(r"\d{3}|(?:\d{1,2}(?:\.?[/\u2013-]|\.))?\d{1,2}")  # "3", "165", "1.-3", "24.12"
_GERMAN_DATES = re.compile(
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhunderts?"
)
_ENUMERATION = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[^\W\d_]|[IVX]{1,5})")
_ROMAN = re.compile(r"(?=[IVXL])(?:X[LC]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_MAY_END = frozenset(MAY_END.split())
_LETTERS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]|[A-Z]{2}")  # "S", "U.S", "J.-P"; the halves of "EE. UU."
_CAPITAL_TITLES = frozenset(("MR", "MRS", "MS", "DR", "ST", "PROF"))
_HOURS = frozenset(("a.m", "p.m", "A.M", "P.M"))
_AFTER_HOURS = re.compile(r"[ECMP][SD]?T|GMT|UTC|BST|CES?T|Eastern|Central|Mountain|Pacific|[A-Z][a-z]{2,5}day")

# Stands for a word that is hidden, or is written without a capital; group 1 is a placeholder: {user}, %s
_STAND_IN = re.compile(
    r"[\"'\u201c\u201e\u00ab(]?(?:(\$?\{{1,2} ?[\w.$-]{1,40} ?[,:!}]|%(?:\d\$)?[sdif@(])"
    r"|`{1,2}[^`\s][^`\n]{0,80}`|\#[^\W\d]|\[[^\[\]\n]{1,80}\]\(|[^\W_]{1,30}_\w"  # `code`, #tag, [link](, a_name
    r"|(?:https?|ftp)://|www\.)"
)

# The speaker, after a quotation that ends with "?" or "!"
_QUOTES = "\"'\u201d\u2019\u00bb\u201c\u2018"
_ENGLISH_SAID = re.compile(
    r"(?:[ \u00a0][A-Z][\w.-]{0,30}){0,3}[ \u00a0](?:said|says|say|asked|asks|ask|replied|replies|answered|wrote|writes"
    r"|cried|shouted|yelled|exclaimed|wondered|wonder|added|thought|whispered|demanded|told|muttered|continued)\b"
)
_CHINESE_SAID = re.compile(r"\w{1,3}?(?:\u8bf4|\u8aaa|\u95ee|\u554f|\u9053|\u558a|\u53eb|\u7b54)")
_JAPANESE_QUOTED = re.compile(
    "[\u3001\uff0c]|と(?!ころ|ても|りあえず|にかく|もに)|って|を|の(?!ち)|など|なんて|という|だと|だった"
)
_JAPANESE_SAID = re.compile("と(?:言|い[うっわい]|思|叫|聞|呼|考|感|答|驚|怒|笑|尋|書)|って[言思聞]")

_KHMER_AND_SO_ON = ("\u179b\u17d4", "\u1794\u17c1\u17d4")  # between two stops
_URDU_STOP = "\u06d4"
_URDU_LETTERS = re.compile(
    "اے|بی|سی|ڈی|ای|ایف|جی|ایچ|آئی|جے|کے|ایل|ایم|این|او|پی|کیو|آر|ایس|ٹی|یو|وی|ڈبلیو|ایکس|وائی|زیڈ"
)


def ends(text: str, found: re.Match[str], begin: int, known: Rules) -> bool:
    """Returns whether a candidate ends the sentence that begins at `begin`."""
    at, after = found.span()
    if after == len(text):
        return True
    stop = text[at]
    blanks, opening, word = found.groups()
    if text[after - 1] in ")]\uff09" and text[at - 1 : at] in ("(", "[", "\uff08"):
        return False  # an aside, "(!)", or something left out, "[...]"
    if stop >= _FIRST_UNSPACED and _UNSPACED.match(stop):
        return _ends_unspaced(text, found, stop)
    if not blanks:
        return _ends_without_space(text, found, stop)
    if stop in _TYPED_AFTER and not _TYPED_AFTER[stop].search(text, max(0, at - 2), at):
        return False
    if not text[after].isspace():  # a zero-width space is there to let a line break
        return False
    is_lower = word[:1].islower() and not _is_capital(text, found, opening, word, known)
    if is_lower or not word or opening[-1:] == "{":
        stand_in = _STAND_IN.match(text, found.end(1))
        if is_lower if stand_in is None else not _is_clear(text, found, begin, known):
            return False
        if stand_in and stand_in[1]:
            word = "0"  # it may be a number's place
    if stop != ".":
        return not (text[after - 1] in _QUOTES and stop in "?!" and _is_said(text, found, word, known))
    if text[at + 1] in ".?!\u2026" or at == begin or text[at - 1].isspace():
        return True
    return not _goes_on(
        text[max(begin, at - LOOK_BACK) : at], at - begin, word, text[found.end(3) : found.end(3) + 1], known
    )


def _is_capital(text: str, found: re.Match[str], opening: str, word: str, known: Rules) -> bool:
    """Returns whether a word in lower case may begin a sentence: "iPhone", Dutch "'s Avonds", scripts without
    capitals."""
    if word[0].title() == word[0] or word[1:2].isupper():
        return True
    end = found.end(3)
    return known.language in ("nl", "af") and opening[-1:] in ("'", "\u2019") and text[end + 1 : end + 2].isupper()


def _is_clear(text: str, found: re.Match[str], begin: int, known: Rules) -> bool:
    """Returns whether a candidate ends a sentence before any word: it is not an abbreviation, ellipsis or inner
    quotation."""
    at, after = found.span()
    if text[at] != ".":
        return text[at] in "?!" and text[after - 1] not in _QUOTES
    before = text[max(begin, at - LOOK_BACK) : at].rsplit(None, 1)
    word = before[-1].lstrip(_TRIMMED) if before else ""
    return (
        text[at + 1] not in ".\u2026"
        and len(word) > 1
        and "." not in word
        and word not in known.kinds
        and word.lower() not in _MAY_END
    )


def _is_said(text: str, found: re.Match[str], word: str, known: Rules) -> bool:
    """Returns whether the speaker of a quotation follows: "Why?" I ask."""
    if known.language not in ("en", None) or (word != "I" and word.lower() in known.starters):
        return False
    return word[:1].isupper() and _ENGLISH_SAID.match(text, found.end(3)) is not None


def _ends_unspaced(text: str, found: re.Match[str], stop: str) -> bool:
    """Like `ends`, for a stop that needs no white space after it."""
    at, after = found.span()
    last = text[after - 1]
    if stop == ETHIOPIC_SPACE:
        return after - at > 1
    if stop == "\uff0e":  # as a point: of a number, of an abbreviation
        return not (text[at - 1 : at].isdigit() and text[after].isdigit()) and not text[after].islower()
    if last in "\u300d\u300f":
        return _JAPANESE_QUOTED.match(text, after) is None
    if last in "\u201d\u2019" and stop in "\uff01\uff1f":
        return _CHINESE_SAID.match(text, after) is None
    if stop in "\uff01\uff1f":
        return _JAPANESE_SAID.match(text, after) is None
    if stop == "\u17d4":
        return not text.startswith(_KHMER_AND_SO_ON, after)
    if stop == _URDU_STOP and text[after].isalpha():
        before = re.split(rf"[\s{_URDU_STOP}]", text[max(0, at - LOOK_BACK) : at])[-1]
        return _URDU_LETTERS.fullmatch(before) is None
    return True


def _ends_without_space(text: str, found: re.Match[str], stop: str) -> bool:
    """Like `ends`, for a stop without its usual white space: only between scripts that use none."""
    at, after = found.span()
    if _UNSPACED.search(text, at + 1, min(after, at + LOOK_BACK)):
        return _ends_unspaced(text, found, "\u3002")
    if text[after] < "\u3000":
        return False
    before = text[at - 1 : at]
    if _is_hangul(text[after]):
        return bool(_is_hangul(before)) and (stop in "!?" or before in _HANGUL_ENDINGS)
    return bool(_is_east_asian(text[after])) and (stop in "!?" or (stop == "." and bool(_is_east_asian(before))))


_is_hangul = re.compile(f"[{HANGUL}]").match
_is_east_asian = re.compile(f"[{EAST_ASIAN}\u300c\u300e]").match  # or opens a quotation there


def _goes_on(window: str, length: int, word: str, after_word: str, known: Rules) -> bool:
    """Returns whether a sentence goes on after a point.

    Parameters
    ----------
    window : the text before the point, at most LOOK_BACK characters
    length : of the sentence before the point
    word, after_word : the word after the point, and the character after that
    """
    *rest, before = window.rsplit(None, 1)
    kind = known.kinds.get(before)
    if not before.isalnum():
        before = before.replace("\u00ad", "").lstrip(_TRIMMED)
        kind = known.kinds.get(before)
        if kind is None and (tail := _TAIL.search(before)):
            kind = known.kinds.get(tail[0])
    if not before:
        return False
    if not rest and length < LOOK_BACK and _may_count(before) and _ENUMERATION.fullmatch(before):
        return before[-1] < "\u1100" or before[-1] in _HANGUL_LETTERS  # "1. Foo", "IV. Foo", "a. foo"
    if before[-1].isdecimal():
        return _number_goes_on(before, rest, word, known)
    if _LETTERS.fullmatch(before):
        letters = _joined(rest, before)
        if len(letters) != 2:
            kind = _kind_of_letters(letters, word, after_word, known)
    if kind is None:
        kind = _kind_of_capitals(before, word, known)
    if kind is None:
        if word[:1].isdigit() and known.language == "de" and before.endswith("str"):
            return True  # "Hauptstr. 5"
        if "\u0e00" <= before[-1] <= "\u0eff":
            return True  # Thai and Lao have no stop
        return known.ordinals and _ROMAN.fullmatch(before) is not None and not _starts(word, known)
    if kind == UNLESS:
        return word != "" and not _starts(word, known)
    if kind == NUMBERS:
        return word[:1].isdigit() or (len(word) > 1 and _ROMAN.fullmatch(word) is not None)
    if kind == UNITS:
        number = rest[0].rsplit(None, 1)[-1] if rest else ""
        return not (number[-1:].isdigit() or _ROMAN.fullmatch(number))
    return True


def _may_count(word: str) -> bool:
    """Returns whether a word may number an item: a letter that is not a word, or a word in capitals."""
    return len(word) == 1 or word.isupper() or not word.isalpha()


def _joined(rest: list[str], letters: str) -> str:
    """Joins single letters with those before them: "z. B", "J. S"."""
    if rest and rest[0][-1] == ".":
        for part in reversed(rest[0].rsplit(None, 4)[-4:]):
            part = part.lstrip(_TRIMMED)
            if part[-1:] != "." or not _LETTERS.fullmatch(part, 0, len(part) - 1):
                break
            letters = part + letters
    return letters


def _starts(word: str, known: Rules) -> bool:
    return word.lower() in known.starters


def _number_goes_on(before: str, rest: list[str], word: str, known: Rules) -> bool:
    if word.startswith("000") or (known.language is None and len(before) < 3 and _GERMAN_DATES.fullmatch(word)):
        return True
    if word[:1].isdecimal():  # a date, "3. 10. 1990"
        return (known.ordinals and len(before) < 6) or known.language == "ko"
    if known.language == "ko":
        return bool(rest) and rest[0][-1] == "." and rest[0][-2:-1].isdecimal()  # the day, "2024. 5. 3."
    if not known.ordinals or not word or _starts(word, known) or _ORDINAL.fullmatch(before) is None:
        return False
    return len(before) != 3 or not before.isdecimal() or _shows_ordinal(rest, known)


def _shows_ordinal(rest: list[str], known: Rules) -> bool:
    return bool(rest) and rest[0].rsplit(None, 1)[-1].lower() in known.before_ordinals


def _kind_of_letters(letters: str, word: str, after_word: str, known: Rules) -> int | None:
    """Classifies single letters with points: abbreviations of the language, initials, or neither (None)."""
    kind = known.kinds.get(letters)
    if kind not in (None, NUMBERS):
        return kind
    if len(letters) > 1:
        if letters in _HOURS:
            return ALWAYS if _AFTER_HOURS.fullmatch(word) else None
        capitals = letters.replace(".", "").replace("-", "").isupper()
        return UNLESS if capitals or f"{letters}.{word}".lower() in known.capitals else None
    if len(word) == 1 and after_word == "." and letters.islower():
        return ALWAYS  # "z. B."
    if letters in _NO_INITIALS and (letters != "I" or known.language in ("en", None)):
        return None
    if letters.isupper():
        return UNLESS
    if known.language == "de":
        return ALWAYS  # "u. Müller", "s. Seite"
    return UNLESS if _CASELESS_LETTERS.match(letters) else kind


def _kind_of_capitals(before: str, word: str, known: Rules) -> int | None:
    """Like `_kind_of_letters`, for a text in capitals; in other texts a word in capitals is an acronym."""
    if before[0] >= _FIRST_CASELESS and _CASELESS_LETTERS.fullmatch(before):
        return UNLESS
    if len(before) < 2 or not before.isupper():
        return None
    if (word.isupper() and len(word) > 1) or word[:1].isdigit() or before in _CAPITAL_TITLES:
        return known.capitals.get(before.lower())
    return None
