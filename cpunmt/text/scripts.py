"""Scripts of the world: ranges for character classes of `re`, by the blocks of Unicode 15; the script of a letter."""

from __future__ import annotations

import unicodedata

SOUTHEAST_ASIAN = (  # Thai, Lao, Tibetan, Burmese, Khmer, Tai Lue and Tham, Javanese, Myanmar Extended-A
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aad\ua980-\ua9ff\uaa60-\uaadf"
)
EAST_ASIAN = (  # ideographs, their radicals and numbers, kana, bopomofo, Yi
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
EAST_ASIAN_MARKS = "\u3000-\u3004\u3008-\u303f\ufe30-\ufe4f\uff01-\uff65"  # and full-width letters and digits
HANGUL = "\uac00-\ud7a3"

UNSPACED = SOUTHEAST_ASIAN + EAST_ASIAN  # written without spaces between words

LETTER = r"[^\W\d_]"

# By ISO 15924: the first words of the Unicode names of a script's letters. Some languages use several of them.
LETTERS = {
    "arab": "ARABIC",
    "armn": "ARMENIAN",
    "beng": "BENGALI",
    "cyrl": "CYRILLIC",
    "deva": "DEVANAGARI",
    "ethi": "ETHIOPIC",
    "geor": "GEORGIAN",
    "grek": "GREEK",
    "gujr": "GUJARATI",
    "guru": "GURMUKHI",
    "hang": "HANGUL CJK",
    "hans": "CJK",
    "hant": "CJK BOPOMOFO",
    "hebr": "HEBREW",
    "jpan": "HIRAGANA KATAKANA CJK",
    "khmr": "KHMER",
    "knda": "KANNADA",
    "laoo": "LAO",
    "latn": "LATIN",
    "mlym": "MALAYALAM",
    "mymr": "MYANMAR",
    "orya": "ORIYA",
    "sinh": "SINHALA",
    "taml": "TAMIL",
    "telu": "TELUGU",
    "tfng": "TIFINAGH",
    "thai": "THAI",
    "tibt": "TIBETAN",
}


def script_of_letter(character: str) -> str | None:
    """Returns the first word of a letter's Unicode name, such as CYRILLIC; None for other characters."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else None
