"""The syntax of HTML: finds markup in a text, and converts character references (`&amp;` `&#8212;`).

Markup is found in one pass, as browsers parse it: a quotation mark counts only after "=", and `<` without a letter
after it is text. If a tag, a comment or the content of a <script> is incomplete, the rest of the text is one token.
References are decoded, and encoded again as the source wrote them.
"""

from __future__ import annotations

import html as python_html
import re
from collections.abc import Sequence
from html.entities import html5

from cpunmt.alignment.aligned import Span
from cpunmt.markup.html_elements import ENDS_FOREIGN, FOREIGN, HTML_IN_FOREIGN, RAW_TEXT, ROLES, SKIPPED

OPEN, CLOSE, OTHER, RAW, REST = range(5)
Token = tuple[int, int, int, str]  # kind, begin, end, name of the element in small letters

SPACE = " \t\n\r\f"
# Matches up to the end of a tag, or a bounded part of it, to bound the memory. It never fails, and the lookahead keeps
# its match from being tried a second time.
_VALUE = rf"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^{SPACE}>\"'][^{SPACE}>]*"
_INNER = rf"[^>=]*(?:=(?:\"[^\"]*(?:\"|\Z)|[{SPACE}]*(?:{_VALUE})?)[^>=]*){{0,30}}"
_NAME = rf"[a-zA-Z][^{SPACE}/>]*"
_MARKUP = re.compile(rf"</({_NAME})>|<({_NAME})(?:>|(?=({_INNER}))\3(>?))|<[!?/%]")
_MORE = re.compile(_INNER)
_XHTML = re.compile(r"<html\s[^<>]*xmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml[\"']")
_HEAD = 4096  # characters that may contain it
_COMMENT_END = re.compile("--!?>")
_ENDS = {"plaintext": None} | {name: re.compile(rf"</{name}(?=[{SPACE}/>])", re.I) for name in RAW_TEXT}
_END_TAG = re.compile(rf"</({_NAME})")
# A number with more digits is not a character. Without a semicolon, only HTML's own names without one count.
_REFERENCE = re.compile(
    r"&(?:#0{0,8}([0-9]{1,7})(?![0-9])|#[xX]0{0,8}([0-9a-fA-F]{1,6})(?![0-9a-fA-F])|([a-zA-Z]\w{0,31}));?", re.A
)

Spellings = dict[str, str]  # character -> its reference in the source
_QUOTES = {'"': "&quot;", "'": "&#39;"}


def scan(html: str) -> list[Token]:
    """Returns the tokens of `html`, ascending; everything between them is text.

    OPEN, CLOSE  a tag; an element with unparsed content has both, the second of them empty
    OTHER        a comment, a declaration, a processing instruction, CDATA, a template's tag (`<% x %>`)
    RAW          the content of an element without tags; its own tags come before and after it
    REST         from an incomplete part to the end of the text
    """
    tokens: list[Token] = []
    at = 0
    foreign: list[str] = []  # open elements, from an <svg> on, that change the syntax
    has_templates = True
    is_xml = html.startswith("<?xml") or bool(_XHTML.search(html, 0, _HEAD))  # then <title/> is empty
    while True:
        for found in _MARKUP.finditer(html, at):
            kind = found.lastindex
            begin, end = found.span()
            if kind == 1:
                name = found[1].lower()
                if foreign:
                    _close_foreign(foreign, name)
                tokens.append((CLOSE, begin, end, name))
            elif kind is not None:
                is_long = kind == 4 and not found[4]
                if is_long:
                    end = _end_of_tag(html, end)
                    if end < 0:
                        break
                name = found[2].lower()
                tokens.append((OPEN, begin, end, name))
                if foreign or name in FOREIGN:
                    is_foreign = bool(foreign) and foreign[-1] in FOREIGN
                    is_empty = html[end - 2] == "/"
                    _open_foreign(foreign, name, is_empty)
                    if is_foreign and is_empty and ROLES.get(name) == SKIPPED:
                        tokens.append((CLOSE, end, end, name))
                else:
                    is_foreign = False
                if is_xml and name in _ENDS and not is_foreign and html[end - 2] == "/":
                    tokens.append((CLOSE, end, end, name))
                elif name in _ENDS and not is_foreign:
                    at = end
                    end = _end_of_raw(html, at, name)
                    if end < 0:
                        begin = at
                        break
                    if at < end:
                        tokens.append((RAW, at, end, name))
                    break
                if is_long:
                    break
            elif html.startswith("<%", begin):
                end = html.find("%>", begin + 2) + 2 if has_templates else 1
                if end == 1:  # not a template's tag; nor are the following ones
                    has_templates, end = False, begin + 2
                else:
                    tokens.append((OTHER, begin, end, ""))
                break
            else:
                end, name = _end_of_other(html, begin)
                if end < 0:
                    break
                if foreign and name:
                    _close_foreign(foreign, name)
                tokens.append((CLOSE if name else OTHER, begin, end, name))
                break
        else:
            return tokens
        if end < 0:
            tokens.append((REST, begin, len(html), ""))
            return tokens
        at = end


def _open_foreign(foreign: list[str], name: str, closes_itself: bool) -> None:
    in_foreign = bool(foreign) and foreign[-1] in FOREIGN
    if in_foreign and name in ENDS_FOREIGN:
        foreign.clear()
    elif not closes_itself and (name in FOREIGN or (in_foreign and name in HTML_IN_FOREIGN)):
        foreign.append(name)


def _close_foreign(foreign: list[str], name: str) -> None:
    if name in FOREIGN:
        while foreign and foreign.pop() != name:
            pass
    elif foreign[-1] == name:
        foreign.pop()


def _end_of_raw(html: str, at: int, name: str) -> int:
    """Returns the end of an element's raw content; -1 if it does not end."""
    pattern = _ENDS[name]
    found = pattern.search(html, at) if pattern else None
    return found.start() if found else -1


def _end_of_tag(html: str, at: int) -> int:
    """Returns the end of a tag with more attributes than one match takes; -1 if it does not end."""
    while at < len(html):
        if html[at] == ">":
            return at + 1
        found = _MORE.match(html, at)
        at = found.end() if found else len(html)
    return -1


def _end_of_other(html: str, begin: int) -> tuple[int, str]:
    """Returns the end of a part that begins with `<!`, `<?` or `</`; and, for an end tag with attributes, its name.

    The end is -1 if it is missing.
    """
    if tag := _END_TAG.match(html, begin):
        return _end_of_tag(html, tag.end()), tag[1].lower()
    if html.startswith("<!--", begin):
        if html.startswith((">", "->"), begin + 4):
            return html.index(">", begin) + 1, ""
        found = _COMMENT_END.search(html, begin + 4)
        return found.end() if found else -1, ""
    last = "]]>" if html.startswith("<![CDATA[", begin) else ">"
    end = html.find(last, begin)
    return end + len(last) if end >= 0 else -1, ""


def decoded(text: str, spellings: Spellings, attribute: bool = False) -> str:
    """Decodes the references in `text`, and adds them to `spellings`.

    A name without a semicolon counts only if HTML defines it so; in an attribute never, where it may be part of a URL.
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
            character = python_html.unescape(f"&#{number};") or chr(number)
        if not (character.isascii() and (character.isalnum() or character.isspace())):
            spellings.setdefault(character, reference if reference[-1] == ";" else f"{reference};")
        return character

    return _REFERENCE.sub(read, text)


def encoded(text: str, spellings: Spellings, quote: str = "") -> str:
    """Writes `text` as HTML, with `&`, `<`, `>`, `quote` and characters of `spellings` as references."""
    if spellings:
        marks = {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | spellings
        if quote and quote not in marks:
            marks[quote] = _QUOTES[quote]
        return "".join([marks.get(character, character) for character in text])
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace(quote, _QUOTES[quote]) if quote else text


def encoded_parts(parts: Sequence[str | Span], spellings: Spellings) -> list[str | Span]:
    """Encodes the texts among the parts, see `encoded`; spans stay."""
    return [encoded(part, spellings) if isinstance(part, str) else part for part in parts]
