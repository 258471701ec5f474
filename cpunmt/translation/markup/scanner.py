"""Where the markup of an HTML text stands. One pass; nothing is looked at twice.

As browsers read it: a quotation mark counts only after "=", `<` before no letter is text. Where something is not
complete (a tag, a comment, the content of a <script>), nothing after it can be trusted: the rest is one token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cpunmt.translation.markup.names import RAW_TEXT

OPEN, CLOSE, OTHER, RAW, REST = range(5)
Token = tuple[int, int, int, str]  # kind, begin, end, name of the element in small letters

SPACE = " \t\n\r\f"
# Up to the end of a tag, or of a part of it: a longer one takes more memory than there is. It never fails, and what the
# lookahead around it found is never tried a second time.
_VALUE = rf"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^{SPACE}>\"'][^{SPACE}>]*"
_INNER = rf"[^>=]*(?:=(?:\"[^\"]*(?:\"|\Z)|[{SPACE}]*(?:{_VALUE})?)[^>=]*){{0,30}}"
_MARKUP = re.compile(rf"<(/?)([a-zA-Z][^{SPACE}/>]*)(?:>|(?=({_INNER}))\3(>?))|<(?:[!?]|/(?![a-zA-Z]))")
_MORE = re.compile(_INNER)
_COMMENT_END = re.compile("--!?>")
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[{SPACE}/>])", re.I) for name in RAW_TEXT}


def scan(html: str) -> Iterator[Token]:
    """The tokens of `html`, ascending; what lies between them is text.

    OPEN, CLOSE  a tag
    OTHER        a comment, a declaration, a processing instruction, CDATA
    RAW          the content of an element that has no tags; its own tags come before and after it
    REST         from something that is not complete to the end of the text
    """
    at = 0
    while True:
        for found in _MARKUP.finditer(html, at):
            slash, name, inner, complete = found.groups()
            begin, end = found.span()
            at = end
            if name is None:
                at = _end_of_other(html, begin)
                if at < 0:
                    yield REST, begin, len(html), ""
                    return
                yield OTHER, begin, at, ""
                break
            is_long = inner is not None and not complete
            if is_long:
                at = _end_of_tag(html, end)
                if at < 0:
                    yield REST, begin, len(html), ""
                    return
            name = name.lower()
            if slash:
                yield CLOSE, begin, at, name
            else:
                yield OPEN, begin, at, name
                if name in RAW_TEXT or name == "plaintext":
                    close = _RAW_ENDS[name].search(html, at) if name in RAW_TEXT else None
                    if close is None:
                        yield REST, at, len(html), name
                        return
                    if close.start() > at:
                        yield RAW, at, close.start(), name
                    at = close.start()
                    break
            if is_long:
                break
        else:
            return


def _end_of_tag(html: str, at: int) -> int:
    """The end of a tag that has more attributes than one look takes; -1: it has none."""
    while at < len(html):
        if html[at] == ">":
            return at + 1
        found = _MORE.match(html, at)
        at = found.end() if found else len(html)
    return -1


def _end_of_other(html: str, begin: int) -> int:
    """The end of what begins with `<!`, `<?` or `</`; -1: it has none."""
    if html.startswith("<!--", begin):
        if html.startswith((">", "->"), begin + 4):
            return html.index(">", begin) + 1
        found = _COMMENT_END.search(html, begin + 4)
        return found.end() if found else -1
    if html.startswith("<![CDATA[", begin):
        end = html.find("]]>", begin)
        return end + 3 if end >= 0 else -1
    return html.find(">", begin) + 1 or -1
