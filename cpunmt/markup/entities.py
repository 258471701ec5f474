"""Character references of HTML (`&amp;` `&#8212;`): read, and written again as the source wrote them."""

from __future__ import annotations

import html
import re
from html.entities import html5

# A number of more digits is no character. Without a semicolon only names that HTML has without one.
_REFERENCE = re.compile(
    r"&(?:#0{0,8}([0-9]{1,7})(?![0-9])|#[xX]0{0,8}([0-9a-fA-F]{1,6})(?![0-9a-fA-F])|([a-zA-Z]\w{0,31}));?", re.A
)

Spellings = dict[str, str]  # character -> the reference that the source has for it


def decoded(text: str, spellings: Spellings, attribute: bool = False) -> str:
    """`text` with its references read; which ones it has is added to `spellings`.

    A name without a semicolon is one only if HTML has it so; in an attribute never, where it is part of a URL.
    """
    if "&" not in text:
        return text

    def read(found: re.Match[str]) -> str:
        reference = found[0]
        if found[3]:
            known = reference[1:] in html5 and (reference[-1] == ";" or not attribute)
            if not known:
                return reference
            character = html5[reference[1:]]
        else:
            number = int(found[1]) if found[1] else int(found[2], 16)
            character = html.unescape(f"&#{number};") or chr(number)
        if not (character.isascii() and (character.isalnum() or character.isspace())):
            spellings.setdefault(character, reference if reference[-1] == ";" else f"{reference};")
        return character

    return _REFERENCE.sub(read, text)


def encoded(text: str, spellings: Spellings, quote: str = "") -> str:
    """`text` as HTML: `&`, `<`, `>`, the quotation mark `quote`, and what `spellings` has, as it has it."""
    if spellings:
        marks = {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | spellings
        if quote and quote not in marks:
            marks[quote] = _QUOTES[quote]
        return "".join([marks.get(character, character) for character in text])
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace(quote, _QUOTES[quote]) if quote else text


_QUOTES = {'"': "&quot;", "'": "&#39;"}
