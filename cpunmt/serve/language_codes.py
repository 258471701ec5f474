"""Codes of languages in the spelling of each HTTP dialect."""

from cpunmt.text.languages.codes import preferred


def libretranslate(code: str) -> str:
    """Returns a code as LibreTranslate writes it."""
    first = preferred(code)
    return {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}.get(first, first)


def deepl(code: str) -> str:
    """Returns a code as DeepL writes it."""
    first = preferred(code)
    return {"zt": "ZH-HANT", "pb": "PT-BR"}.get(first, first.upper())
