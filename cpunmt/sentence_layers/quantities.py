# ruff: noqa: RUF001 - words in other scripts
"""The numbers of a text: their values, and whether their digits may be copied into a translation.

A number may be copied only if all languages write it with the same digits. Another language may write a measure, a
time, a date, a fraction or a number with a word such as "dozen" or "lakh" with other digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable
from typing import NamedTuple

from cpunmt.text.scripts import EAST_ASIAN_MARKS, HANGUL, LETTER, UNSPACED

LEAST_DIGITS = 2  # a number with fewer digits is not copied
_SHORT = 2  # digits of hours, days and dozens: languages count these differently, so only a stutter is replaced
MOST_DIGITS = 24  # a number with more digits is neither multiplied nor compared digit by digit
_RUN = 40  # characters that are read on either side of a number

# Digits without zeros at either end, and the power of ten of the last digit: 1,200 is ("12", 2)
Value = tuple[str, int]

_SEPARATOR = re.compile(r"\D")
_SAME_SIGNS = str.maketrans(":\u2019\u00a0\u202f", ".'  ")
_DATE = re.compile(r"\d{1,2}[./]\d{1,2}[./](?:\d{2}|\d{4})")

# (factors, whole words, beginnings of words); "milliard" and "million" stand before "mil"
_SCALES: tuple[tuple[tuple[int, ...], str, str], ...] = (
    (
        (10**9,),
        "mrd mld md bn tỷ",
        "milliard miljard miliard miliárd milyar миллиард млрд мільярд مليار میلیارد 十億 十亿",
    ),
    (
        (10**6,),
        "mio mln mn mill juta triệu",
        "million millón millon milhão milhõe milió milio miljo milj milyon миллион мільйон млн милион εκατομμ"
        " مليون ملايين میلیون मिलियन ล้าน 百万 百萬 백만",
    ),
    ((10**9, 10**12), "bio", "billion billón billon bilhão bilhõe bilió bilyon biljo"),
    ((10**12, 10**18), "tn trn", "trillion trillón trillon trilhão trilhõe trilió trilyon"),
    ((10**12,), "", "兆 조"),
    ((10**8,), "", "億 亿 억"),
    ((10**7,), "cr", "crore करोड 千万 千萬 천만"),
    ((10**5,), "lac lacs", "lakh लाख แสน"),
    ((10**4,), "", "万 萬 만 หมื่น"),
    (
        (10**3,),
        "k tsd mil mille mila tys bin ribu nghìn ngàn elfu",
        "thousand tausend duizend tusen tusind tysi tisíc тысяч тыс тисяч хиляд χιλιάδ हज़ार हजार ألف آلاف هزار พัน 千"
        " 천",
    ),
    ((100,), "", "hundred hundert honderd hundra"),
    ((12,), "", "dozen dutzend douzaine docena dúzia dozzin dozijn dussin tuzin tucet düzine дюжин 打 ダース"),
)
_ONE = (1,)  # no such word
# Units and words for hours: another language may use other units, and so other digits
_UNITS = """
    ft yd yds mph lb lbs oz qt gal hp psi inch inches foot feet yards? miles? pounds? ounces? pints?
    quarts? gallons? stones? acres? degrees? fahrenheit celsius fuß füße zoll meilen? pfund unzen? gallonen? morgen grad
    pieds? pouces? livres? onces? degrés? pies? pulgadas? millas? libras? onzas? grados? piedi pollici miglia
    libbre gradi polegadas? graus
    h hrs? hours? a\\.\\s?m p\\.\\s?m o['’]?clock uhr heures? horas? ore uur kl час\\w* godz\\w*
    hodin\\w* óra saat gmt utc [cem]e?s?t
"""
_SIGNS = "[″′°º℃℉年月日時时點点分秒년월일시]"
_WHOLE = f"(?!{LETTER})"  # the end of a word
_GAP = "[ \u00a0\u202f-]{0,2}"
_WORDS = [word for _, whole, begun in _SCALES for word in f"{whole} {begun}".split()]
_FIRST, _SECOND, _ALONE = (
    "".join({word[place] for word in _WORDS if (len(word) > 1) == (not is_alone)})
    for place, is_alone in ((0, False), (1, False), (0, True))
)
# "12 000", "1,5"; it begins with a digit, so that `re` passes over all else
_NUMBER = r"\d(?:(?<!\d\d)\d{0,2}(?:[ \u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d*(?:[.,:'\u2019\u00a0\u202f]\d+)*)"
_COUNTED = re.compile(  # group 1 is the number, the others are the words of `_SCALES`
    f"({_NUMBER})(?i:{_GAP}(?=[{_FIRST}][{_SECOND}]|[{_ALONE}])(?:"  # a glance, before all words are tried
    + "|".join(
        "(" + "|".join([*(f"{word}{_WHOLE}" for word in whole.split()), *begun.split()]) + ")"
        for _, whole, begun in _SCALES
    )
    + "))?"
)
_UNIT = re.compile(f"{_GAP}(?:(?:{'|'.join(_UNITS.split())}){_WHOLE}|{_SIGNS})", re.IGNORECASE)

# Letters beside a number belong to other words, also in Korean
_UNSPACED = UNSPACED + HANGUL + EAST_ASIAN_MARKS
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_APART = re.compile(f"[\\s{_UNSPACED}]")
_GLUED, _ENDING = re.compile(f"{_LETTER}+-?$"), re.compile(f"{_LETTER}+")  # "A300", "777X"
# A word that contains a number, or two numbers with a hyphen; fractions, powers, equations and codes do not match
_SIGN = "[-.,;:!?%‰'\"\u2018-\u201f\u2039\u203a\u00ab\u00bb\u2026()\\[\\]\u2013\u2014$£€¥₹]"
_WORD_OF_ONE = re.compile(rf"(?:{_LETTER}|{_SIGN})*(?:\d+[-\u2013]0|0(?:[-\u2013]\d+)?)(?:{_LETTER}|{_SIGN})*")
_NUMBER_BEFORE = re.compile(r"\d[\s\u00a0\u202f](?:[x×*/^·][\s\u00a0\u202f])?[(]?$", re.IGNORECASE)
_NUMBER_BEHIND = re.compile(r"[.,]\s000|\)?[\s\u00a0\u202f](?:[x×*/^·][\s\u00a0\u202f])?[(]?[\d½¼¾⅓⅔⅛]", re.IGNORECASE)


class Quantity(NamedTuple):
    """A number in a text.

    begin, end  where it stands, in code points
    digits      digits, in ASCII, without separators
    written     the number as the text has it
    factors     possible factors of the word behind it: a billion is 10^9 or 10^12; (1,) without such a word
    """

    begin: int
    end: int
    digits: str
    written: str
    factors: tuple[int, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """Returns the possible values: "2,200" is 2200 or 2.2, times each factor; empty for "1,234,56" or "3.11.7"."""
        readings = [_value(self.digits, "")] if self.written.isdecimal() else _readings(self.written)
        return tuple(dict.fromkeys(_times(value, factor) for value in readings for factor in self.factors))

    @property
    def meanings(self) -> tuple[Hashable, ...]:
        """Returns what another number may share to say the same: the values, or the writing of a number without them.

        A time has both: another language may write 10:30:15 as 10.30.15.
        """
        if (values := self.values) and ":" not in self.written:
            return values
        return *values, (self.written.translate(_SAME_SIGNS), self.factors)


class Writing(NamedTuple):
    """The context of a number. A number may replace another only if their contexts are equal.

    unit            unit or word for hours behind the number, in small letters; empty if there is none
    before, behind  letters that form one word with the number
    """

    unit: str
    before: str
    behind: str


class _Marks(NamedTuple):
    """The separators of a number; both are empty if the number lacks them or is not in a usual form."""

    group: str = ""
    decimal: str = ""


def quantities(text: str) -> list[Quantity]:
    """Finds the numbers of a text, ascending."""
    found = []
    for match in _COUNTED.finditer(text):
        number, (begin, end), group = match[1], match.span(1), match.lastindex or 1
        digits = number if number.isdecimal() and number.isascii() else _digits(number)
        found.append(Quantity(begin, end, digits, number, _ONE if group == 1 else _SCALES[group - 2][0]))
    return found


def writing(text: str, quantity: Quantity) -> Writing | None:
    """Returns the context of a number of `text`, or None if another language may write it with other digits.

    That is so for times, dates, codes, and parts of a fraction, a power or a longer row of numbers.
    """
    begin, end = quantity.begin, quantity.end
    number = text[begin:end]
    if ":" in number or _DATE.fullmatch(number) or (number[0] == "0" and number.isdecimal()):
        return None
    before, behind = text[max(0, begin - _RUN) : begin], text[end : end + _RUN]
    if before.endswith((".", ",")):
        return None
    head, tail = _APART.split(before)[-1], _APART.split(behind, maxsplit=1)[0]
    if len(head) == _RUN or len(tail) == _RUN or not _WORD_OF_ONE.fullmatch(f"{head}0{tail}"):
        return None
    if _NUMBER_BEFORE.search(before) or _NUMBER_BEHIND.match(behind):
        return None
    unit, glued, ending = _UNIT.match(behind), _GLUED.search(head), _ENDING.match(tail)
    return Writing(
        unit[0].strip(" \u00a0\u202f-").lower() if unit else "",
        glued[0] if glued else "",
        ending[0] if ending else "",
    )


def resembles(digits: str, others: str) -> bool:
    """Returns whether `digits` look like a bad copy of `others`, the digits of another number.

    A model that copies badly repeats digits, leaves some out or changes some. 160 km are not a copy of 100 miles: there
    the model has converted a value.
    """
    if len(others) <= _SHORT:
        return _stutters(digits, others)
    if 2 * len(digits) < len(others) or (len(others) == 4 and digits == others[2:]):  # the year 92 is 1992
        return False
    if _is_within(others, digits) or _is_within(digits, others):
        return True
    return len(digits) <= 2 * len(others) and 2 * _distance(digits, others) <= len(others)


def rewritten(number: str, like: str) -> str | None:
    """Returns `number` with the separators of its bad copy `like`, or None if it is not clear which it should have."""
    kinds, own = _SEPARATOR.findall(like), _marks(number)
    if len(kinds) == 1 and len(_SEPARATOR.findall(number)) == 1:  # groups or decimals: "2,200", "290.4"
        return _SEPARATOR.sub(kinds[0], number)
    if own is _EITHER:
        return None
    other = _marks(like)
    decimal = "" if other is _EITHER else other.decimal or _OTHER.get(other.group, "") or _changed(number, like, own)
    if len(kinds) > 1 and not decimal and re.match(r"\d{1,3}\D\d{3}\D", like):
        decimal = _OTHER.get(kinds[0], "")  # "2.200.1122"
    if not decimal:
        return number  # all languages read it in the same way
    became = {own.group: _OTHER[decimal] if own.group in _OTHER else own.group, own.decimal: decimal}
    return _SEPARATOR.sub(lambda mark: became.get(mark[0], mark[0]), number)


def separated(number: str, like: str) -> str | None:
    """Returns `number` with the separators of the language of `like`, which has the same digits.

    None if `like` does not show them: "1.234,567" does, "2904" and "1.050" do not.
    """
    if len(_SEPARATOR.findall(number)) < 2:
        return None
    text = rewritten(number, like)
    return None if text == number else text


def _changed(number: str, like: str, own: _Marks) -> str:
    """Returns the decimal separator that shows where only separators differ; empty if none does.

    In "1,234,56" for "1,234.56" a comma stands for the point: so there it separates decimals.
    """
    if _SEPARATOR.split(number) != _SEPARATOR.split(like):
        return ""
    pairs = zip(_SEPARATOR.findall(number), _SEPARATOR.findall(like), strict=True)
    became = {mark: other for mark, other in pairs if mark != other}
    return became.get(own.decimal) or _OTHER.get(became.get(own.group, ""), "")


_OTHER = {",": ".", ".": ","}
_EITHER = _Marks("?", "?")
_INDIAN = re.compile(r"[^\D0]\d?(?:,\d\d)+,\d{3}(?:\.\d+)?")  # "12,34,567": lakhs and crores


def _marks(number: str) -> _Marks:
    """Finds the separators of a number; `_EITHER` if it has one, which may separate thousands or decimals."""
    kinds, (first, *parts) = _SEPARATOR.findall(number), _SEPARATOR.split(number)
    if not kinds or ":" in kinds:
        return _Marks()
    are_groups = first != "0" and len(first) <= 3 and all(len(part) == 3 for part in parts[:-1])
    is_group = are_groups and len(parts[-1]) == 3
    if kinds[0] == "," and _INDIAN.fullmatch(number):
        return _Marks(",", "." if "." in kinds else "")
    if len(kinds) == 1 and kinds[0] in _OTHER:
        return _EITHER if is_group else _Marks("", kinds[0])
    if len(set(kinds)) == 1:
        return _Marks(kinds[0]) if is_group else _Marks()
    if are_groups and len(set(kinds[:-1])) == 1 and kinds[-1] in _OTHER and kinds[-1] != kinds[0]:
        return _Marks(kinds[0], kinds[-1])
    return _Marks()


def _readings(number: str) -> list[Value]:
    """Returns the possible values of a number, without the factor of the word behind it.

    Empty if its separators are not in a usual form.
    """
    marks = _marks(number)
    found = []
    if marks.decimal or ":" in number:
        whole, _, part = number.rpartition(_SEPARATOR.findall(number)[-1])
        found.append(_value(_digits(whole), _digits(part)))
    if (marks.group and not marks.decimal) or marks is _EITHER or ":" in number:
        found.append(_value(_digits(number), ""))
    return found


def _digits(number: str) -> str:
    """Returns the digits of a number, in ASCII."""
    digits = _SEPARATOR.sub("", number)
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(digit)) for digit in digits)


def _value(whole: str, part: str) -> Value:
    digits = (whole + part).lstrip("0")
    short = digits.rstrip("0")
    return short, len(digits) - len(short) - len(part) if short else 0


def _times(value: Value, factor: int) -> Value:
    if factor == 1 or len(value[0]) > MOST_DIGITS or not value[0]:
        return value
    product, power = _value(str(int(value[0]) * factor), "")
    return product, power + value[1]


def _stutters(digits: str, others: str) -> bool:
    """Returns whether `digits` are `others` with its end repeated: "422" of "42"; repeated zeros may be a factor."""
    more = len(digits) - len(others)
    ends = (others[-size:] for size in range(1, len(others) + 1))
    return more > 0 and others[-1:] != "0" and any(digits == others + (end * more)[:more] for end in ends)


def _is_within(digits: str, others: str) -> bool:
    """Returns whether `digits` are a subsequence of `others`."""
    left = iter(others)
    return all(digit in left for digit in digits)


def _distance(one: str, other: str) -> int:
    """Counts the digits that must be changed, inserted or removed (Levenshtein distance)."""
    row = list(range(len(other) + 1))
    for number, a in enumerate(one, 1):
        last, row[0] = row[0], number
        for place, b in enumerate(other, 1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (a != b))
    return row[-1]
