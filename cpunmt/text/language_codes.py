"""Codes of languages in the spellings of clients and models, and the names of the languages."""

from __future__ import annotations

from collections.abc import Iterable

# Code -> its other spellings. Argos' zt and pb are LibreTranslate's; a code for Chinese without a script means the
# simplified one.
_ALIKE = (
    ("zh", "zh-hans", "zh-cn", "zh-sg", "zho", "cmn"),
    ("zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo"),
    ("pb", "pt-br"),
    ("pt", "pt-pt"),
    ("nb", "no", "nb-no"),
    ("he", "iw"),
    ("id", "in"),
    ("fil", "tl"),
)
_NAMES = """af Afrikaans, sq Albanian, am Amharic, ar Arabic, hy Armenian, az Azerbaijani, eu Basque, be Belarusian,
bn Bengali, bs Bosnian, bg Bulgarian, my Burmese, ca Catalan, zh Chinese, zt Chinese (traditional), hr Croatian,
cs Czech, da Danish, nl Dutch, en English, eo Esperanto, et Estonian, fi Finnish, fil Filipino, fr French, gl Galician,
ka Georgian, de German, el Greek, gu Gujarati, ht Haitian Creole, ha Hausa, he Hebrew, hi Hindi, hu Hungarian,
is Icelandic, ig Igbo, id Indonesian, ga Irish, it Italian, ja Japanese, kn Kannada, kk Kazakh, km Khmer, ko Korean,
ku Kurdish, ky Kyrgyz, lo Lao, lv Latvian, lt Lithuanian, lb Luxembourgish, mk Macedonian, mg Malagasy, ms Malay,
ml Malayalam, mt Maltese, mr Marathi, mn Mongolian, ne Nepali, nb Norwegian, nn Norwegian Nynorsk, ps Pashto,
fa Persian, pl Polish, pt Portuguese, pb Portuguese (Brazil), pa Punjabi, ro Romanian, ru Russian, sr Serbian,
sd Sindhi, si Sinhala, sk Slovak, sl Slovenian, so Somali, es Spanish, sw Swahili, sv Swedish, tg Tajik, ta Tamil,
tt Tatar, te Telugu, th Thai, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, cy Welsh, yi Yiddish,
yo Yoruba, zu Zulu"""
NAMES = dict(entry.split(" ", 1) for entry in _NAMES.replace("\n", " ").split(", "))
_ALIKE_OF = {code: alike for alike in _ALIKE for code in alike}
_FIRST = {code: alike[0] for code, alike in _ALIKE_OF.items()}
_LONGEST = 35  # characters of a code, by RFC 5646
_BASES = {"zt": "zh", "pb": "pt", "no": "nb", "iw": "he", "in": "id", "tl": "fil", "zho": "zh", "cmn": "zh"}
_UNSPACED = {"ja", "jpn", "zh", "zho", "chi", "cmn", "yue", "wuu", "lzh"}


def plain(code: str) -> str:
    """Returns a code in small letters, with hyphens."""
    return code.strip().lower().replace("_", "-")


def first_part(code: str) -> str:
    """Returns a code without script and country, in small letters: pt of pt-BR."""
    return plain(code).partition("-")[0]


def base_of(code: str) -> str:
    """Returns the language of a code, without script and country: pt of pt-BR, zh of zt."""
    first = first_part(code)
    return _BASES.get(first, first)


def preferred(code: str) -> str:
    """Returns the code that cpunmt uses for the language: zh of zh-CN; the code itself if it has no other."""
    return _FIRST.get(plain(code), plain(code))


def is_unspaced(language: str | None) -> bool | None:
    """Returns whether sentences of a language have no spaces between them; None: unknown, or several languages."""
    if language is None or "+" in language:  # of several, one of which a text names
        return None
    return first_part(language) in _UNSPACED or base_of(language) in _UNSPACED


def found_in(code: str, there: Iterable[str]) -> str | None:
    """Returns the code in `there` that matches `code`: the same, another spelling, the language or a variant of it; or
    None.

    zh finds zh-Hans, zh-Hant-TW finds zt, en-GB finds en, pt finds pt-BR.
    """
    there = list(there)
    if code in there:
        return code
    if len(code) > _LONGEST:
        return None
    known, parts = {plain(one): one for one in reversed(there)}, plain(code).split("-")
    for count in range(len(parts), 0, -1):
        wanted = "-".join(parts[:count])
        for candidate in (wanted, *_ALIKE_OF.get(wanted, ())):
            if candidate in known:
                return known[candidate]
    return next((one for one in there if base_of(one) == base_of(code)), None)


def name_of(code: str) -> str:
    """Returns the English name of a language, or the code if the name is unknown."""
    return NAMES.get(preferred(code)) or NAMES.get(base_of(code), code)
