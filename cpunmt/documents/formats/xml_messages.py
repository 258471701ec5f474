"""Texts of programs in XML: resources of Android (strings.xml) and .NET (.resx), and catalogues of Qt (.ts).

Android   string, and item of plurals and string-array; unless translatable="false" or a reference to another. Its
          backslashes, quotes and white space are those of "String resources" in Android's guide. Tags stay around
          their words, and placeholders and xliff:g stay.
.NET      value of data that are texts; not what the designer of forms wrote about its controls (">>")
Qt        fills unfinished translations, which stay unfinished, so that Linguist shows them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import unescape

from cpunmt.documents.document import DocumentError, Source
from cpunmt.documents.formats.placeholders import (
    BRACES,
    PERCENT,
    Message,
    Value,
    Values,
    single,
    without_accelerator,
)
from cpunmt.documents.xml_nodes import Node, check_depth, escaped, nodes
from cpunmt.process.stopping import checked
from cpunmt.registry.store import Languages

_KEPT = (  # of Android: xliff:g, and tags of HTML that are written as text
    r"<(?:\w{1,32}:)?g\b[^<>]{0,500}>[^<>]{0,500}</(?:\w{1,32}:)?g>|&lt;/?[A-Za-z][^&<>]{0,200}&gt;"
)
_REFERENCE = re.compile(r"\s*[@?][\w:.+]{1,100}/?[\w.]{0,100}\s*$")  # of Android: @string/name, ?attr/name
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:[^\]]|\](?!\]>))*)\]\]>\s*$")
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*$', re.S)
_BACKSLASH = re.compile(r'(<[^<>]{1,500}>)|\\(?:u([0-9a-fA-F]{4})|(.))|"|(\s+)', re.S)
_BACKSLASHES = {"n": "\n", "t": "\t"}
_MUST = re.compile(r"[\\'\"\n\t]")
_WRITTEN = {"\n": "\\n", "\t": "\\t"}
_REFERENCES = re.compile(r"&(?:amp;(?!#|\w{1,31};)|(?!amp;|lt;|gt;)(?:#\w{1,8}|[A-Za-z]\w{1,30});)")
_OF_QT = rf"%L?\d{{1,2}}|%n|{PERCENT}"
_DONE = ("vanished", "obsolete")


def read_android(source: Source) -> Values:
    """Reads a value for each text. Raises DocumentError for other XML."""
    text = source.text
    resources = _roots(text, "resources", "texts of Android, in an element resources")
    values = (value for node in _strings(resources) if (value := _of_android(text, node)))
    return Values(source, list(checked(values)))


def read_resx(source: Source) -> Values:
    """Reads a value for each text. Raises DocumentError for other XML."""
    values = []
    for root in _roots(source.text, "root", "resources of .NET, in an element root"):
        for data in checked(root.children):
            name, value = data.attributes.get("name", ""), data.child("value")
            is_text = data.name == "data" and not ({"type", "mimetype"} & data.attributes.keys())
            if is_text and value and not name.startswith(">>"):
                values += _plain(value, BRACES)
    return Values(source, values)


def read_qt(source: Source) -> Values:
    """Reads a value for each message without a translation. Raises DocumentError for other XML."""
    values: list[Value] = []
    languages = []
    for root in _roots(source.text, "TS", "a catalogue of Qt, in an element TS"):
        named = root.attributes
        languages.append(Languages(named.get("sourcelanguage"), named.get("language")))
        for context in root.children:
            for message in checked(context.children):
                if message.name == "message":
                    values += _of_qt(source.text, message)
    return Values(source, values, languages=languages)


def _roots(text: str, name: str, expected: str) -> list[Node]:
    found = nodes(text, {}, [name])
    if not found:
        raise DocumentError(
            f"has no {expected}; for other XML use cpunmt translate --xml, or name its format (format=xliff)"
        )
    check_depth(text, found)
    return found


def _strings(resources: list[Node]) -> Iterator[Node]:
    """Yields the elements of Android that have a text."""
    for resource in resources:
        for child in resource.children:
            if child.attributes.get("translatable") == "false":
                continue
            if child.name == "string":
                yield child
            elif child.name in ("plurals", "string-array"):
                yield from (item for item in child.children if item.name == "item")


def _of_android(text: str, node: Node) -> Value | None:
    begin, end = node.inner
    if _REFERENCE.match(text[begin:end]) or "<!--" in text[begin:end]:
        return None
    is_raw = _CDATA.match(text, begin, end)
    if is_raw:
        begin, end = is_raw.span(1)
    quoted = _QUOTED.match(text, begin, end)
    if quoted:
        begin, end = quoted.span(1)
    said = text[begin:end]
    content = _BACKSLASH.sub(lambda found: _read(found, quoted is not None), said)
    if not is_raw:
        content = _REFERENCES.sub(lambda found: unescape(found[0]), content)

    def written(words: str) -> str:
        return _MUST.sub(lambda found: _WRITTEN.get(found[0], f"\\{found[0]}"), words if is_raw else escaped(words))

    message = Message(content, f"{_KEPT}|{PERCENT}", True, written)
    if not message.units:
        return None

    def write(translation: str) -> str:
        return f"\\{translation}" if translation[:1] in ("@", "?") and not quoted else translation

    return single(message, (begin, end), write)


def _read(found: re.Match[str], keeps_spaces: bool) -> str:
    """Returns what a backslash and what is behind it, a quote or white space mean in a text of Android; tags stay."""
    tag, code, sign, spaces = found.groups()
    if tag or (spaces and keeps_spaces):
        return found[0]
    if code or sign:
        return chr(int(code, 16)) if code else _BACKSLASHES.get(sign, sign)
    return " " if spaces else ""


def _plain(node: Node, known: str) -> list[Value]:
    """Returns the value of an element that has only text."""
    if any(child.name for child in node.children):
        return []
    message = Message(without_accelerator(_said(node)), known)
    return [single(message, node.inner, escaped)] if message.units else []


def _said(node: Node) -> str:
    return "".join(child.text for child in node.children)


def _of_qt(text: str, message: Node) -> list[Value]:
    """Returns the value of a message, or none if it has a translation."""
    said, made = message.child("source"), message.child("translation")
    if said is None or any(child.name for child in said.children):
        return []
    content = Message(without_accelerator(_said(said)), _OF_QT)
    if not content.units:
        return []
    if made is None:
        span = said.end, said.end
        return [single(content, span, lambda words: f'<translation type="unfinished">{escaped(words)}</translation>')]
    if made.attributes.get("type") in _DONE:
        return []
    forms = [child for child in made.children if child.name == "numerusform"] or [made]
    if any(_said(form).strip() or any(child.name for child in form.children) for form in forms):
        return []
    spans = [(form.begin, form.end) for form in forms]
    return [Value([content] * len(forms), spans, _filling(text, forms))]


def _filling(text: str, elements: list[Node]) -> Callable[[Sequence[str]], list[str]]:
    """Returns a function that writes empty elements with texts."""

    def write(texts: Sequence[str]) -> list[str]:
        tags = [text[element.begin : element.inner[0]].rstrip("/> \t\r\n") for element in elements]
        return [
            f"{tag}>{escaped(words)}</{element.name}>"
            for tag, element, words in zip(tags, elements, texts, strict=True)
        ]

    return write
