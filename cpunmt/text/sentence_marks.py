"""The characters that end sentences, and the patterns that find them, for the world's scripts.

Every pattern here matches in time linear in the matched text: after its first character it cannot
fail, so it never backtracks.
"""

import functools
import re

LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"
ZERO_WIDTH = "\u200b\ufeff"  # space, byte order mark
BLANK = rf"\s{ZERO_WIDTH}"  # for a character class
SPACE = r" \t\x1c-\x1f\xa0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff"  # the same without the ends of lines

# Stops that white space must follow ...
SPACED = ".?!\u2026\u203c\u203d\u2047-\u2049\u2e2e\u2cf9-\u2cfb\u2e53\u2e54"
# ... and without it.
CJK = "\u3002\uff01\uff1f\uff61\uff0e\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57"
ETHIOPIC_SPACE = "\u1361"  # two of them are a full stop
UNSPACED = CJK + (
    "\u05c3"  # Hebrew verses
    "\u0589"  # Armenian
    "\u061e\u061f\u06d4\u0700-\u0702\u07f9"  # Arabic, Urdu, Syriac, N'Ko
    "\u0964\u0965\U00011141-\U00011143"  # Indic: danda, double danda; Chakma
    "\u0f0d\u0f0e"  # Tibetan
    "\u104b"  # Burmese; U+104A is its comma
    f"{ETHIOPIC_SPACE}\u1362\u1367\u1368"
    "\u166e\u1735\u1736"  # Canadian syllabics, Philippine scripts
    "\u17d4\u17d5"  # Khmer
    "\u1803\u1809"  # Mongolian, Manchu
    "\u1944\u1945\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f"  # Limbu to Ol Chiki
    "\u037e"  # Greek question mark
    "\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb"
)
# Stops in one language only: the Greek question mark and the Armenian full stop as they are typed.
_TYPED: dict[str | None, str] = {"el": ";", None: ";", "hy": ":"}

_CLOSING = "\u200e\u200f\u061c\u202c\u2069\uff02"
_CLOSING += "\u201d\u2019\u00bb\u203a)\\]}\u300d\u300f\uff09\u3011\u300b\u3009\u3015\uff3d\uff5d\u301e\u301f"
_CLOSERS = _CLOSING + "\"'\u201c\u2018\u00ab\u2039*_~`"
_OPENERS = (
    "\u2066-\u2068"
    + "\"'\u201c\u2018\u201e\u201a\u201d\u2019\u00ab\u2039\u00bb\u203a\u00bf\u00a1(\\[{\u2013\u2014*_~`#\\-"
)
_EMOJI = (
    "\U0001f000-\U0001faff\u2600-\u26ff\u2702-\u2712\u2728\u2733\u2734\u2744\u2747\u2753-\u2755\u2757\u2763\u2764"
    "\u2b50\u2b55\u200d\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"
)
_FOOTNOTES = (
    r"(?:[\[\u3014\uff3b][\w ,\u2013-]{1,20}[\]\u3015\uff3d]){0,8}"
    r"[\u00b9\u00b2\u00b3\u2070-\u2079\u2020\u2021]*"
)
_FACES = rf"(?:[ \t\u00a0\u202f]{{0,2}}(?:[{_EMOJI}]+|[:;]-?[()DP](?![\w(]))){{0,8}}"
WORD = 30  # characters of the next word that are looked at


def candidates(language: str | None) -> re.Pattern[str]:
    """Compiles a pattern that finds the end of a line with all following white space, or a run of stops with closing
    marks.

    For stops, group 1 is the white space after it, 2 the opening marks, 3 the next word: the match includes none of
    them. All are None for a line.
    """
    return _candidates(_TYPED.get(language, ""))


@functools.cache
def _candidates(typed: str) -> re.Pattern[str]:
    stops = f"{SPACED}{UNSPACED}{typed}"
    unspaced = (
        rf"[{stops}{_CLOSING}]*(?:[\"'\u201c\u2018]{{1,3}}(?=\s|\Z))?"
        r"(?:[ \u00a0]?[\d]{1,4}[ \u00a0]?[\u0964\u0965])?"  # the number of a verse
        r"(?:[ \u00a0][\u0f0d\u0f0e]){0,8}"
    )
    spaced = (
        rf"[{stops}{_CLOSERS}]*(?:[ \u00a0\u202f]\.(?=[\s.]|\Z)){{0,40}}"  # ". . ."
        r"(?:[ \u00a0\u202f\u2009][\u00bb\u203a](?!\w))?"
    )
    after = rf"(?=([{BLANK}]*)([{_OPENERS}{SPACE}]*)(\w{{0,{WORD}}}))"
    return re.compile(
        rf"[{stops}{LINE_ENDS}](?:(?<=[{LINE_ENDS}])[{BLANK}]*"
        rf"|(?:(?<=[{UNSPACED}]){unspaced}|(?![A-Za-z0-9]| [a-z]{{1,{WORD}}}[ ,]){spaced}){_FOOTNOTES}{_FACES}{after})"
    )


@functools.cache
def line_end() -> re.Pattern[str]:
    """Returns a pattern for one end of a line."""
    return re.compile(rf"\r\n|[{LINE_ENDS}]")
