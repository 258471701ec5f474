"""Texts of programs in XML: resources of Android (strings.xml) and .NET (.resx), and catalogues of Qt (.ts).

Android   string, and item of plurals and string-array; unless translatable="false" or a reference to another. Its
          backslashes, quotes and white space are those of "String resources" in Android's guide. Tags stay around
          their words; placeholders, xliff:g, and tags and entities that are written as text stay as they are. So does
          a text with a comment, or with CDATA beside other text.
.NET      value of data that are texts; in the resources of a form only properties that people read
Qt        fills missing translations, which are unfinished then, so that Linguist shows them
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from cpunmt.documents.document import DocumentError, Source
from cpunmt.documents.formats.placeholders import (
    BRACES,
    Message,
    Value,
    Values,
    single,
    with_whole_characters,
    without_accelerator,
)
from cpunmt.documents.xml_nodes import Node, allowed, check_depth, escaped, nodes
from cpunmt.process.stopping import checked
from cpunmt.registry.store import Languages

# Of Android: what stays as it is written: xliff:g, and tags and entities of HTML that are written as text
_KEPT = (
    r"<(?:\w{1,32}:)?g\b[^<>]{0,500}>[^<>]{0,500}</(?:\w{1,32}:)?g>"
    r"|&lt;/?[A-Za-z](?:[^&<>]|&(?!lt;|gt;)\w{1,31};){0,500}&gt;"
    r"|&amp;(?:#\w{1,8}|[A-Za-z]\w{1,30});|\\u00(?:3[cCeE]|26)"
)
_REFERENCE = re.compile(r"\s*(?:[@?]\*?[\w:.+]{1,100}/[\w.]{1,100}|@null|@empty)\s*$")  # @string/name, ?attr/name
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:[^\]]|\](?!\]>))*)\]\]>\s*$")
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*$', re.S)
_EDGES = re.compile(r"(?:\\u0020)*(.*?)(?:\\u0020)*$", re.S)
_TOKEN = re.compile(
    rf"(?P<kept>{_KEPT}|<[^<>]{{1,1000}}>)|\\u(?P<code>[0-9a-fA-F]{{4}})|\\(?P<sign>.)|(?P<quote>\"|&quot;)"
    r"|(?P<spaces>[ \t\r\n]+)|(?P<reference>&(?:#\w{1,8}|[A-Za-z]\w{1,30});)",
    re.S,
)
_BACKSLASHES = {"n": "\n", "t": "\t"}
_MUST = re.compile(r"[\\'\"\n\t]")
_WRITTEN = {"\n": "\\n", "\t": "\\t"}
_OF_QT = r"%L?\d{1,2}|%n"
_DONE = ("vanished", "obsolete")
_READ_OF_FORMS = (  # the last part of a name
    *("Text", "ToolTip", "ToolTipText", "HeaderText", "Caption", "Title", "Description", "NullText"),
    *("AccessibleName", "AccessibleDescription"),
)


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
        names = [child.attributes.get("name", "") for child in root.children]
        is_form = any(name.startswith(">>") for name in names)
        for data, name in checked(zip(root.children, names, strict=True)):
            value, told = data.child("value"), data.attributes
            if data.name != "data" or value is None or name.startswith(">>") or "mimetype" in told:
                continue
            last = name.rpartition(".")[2]
            is_read = not is_form or "." not in name or last in _READ_OF_FORMS or last.startswith("Items")
            if is_read and told.get("type", "System.String").startswith("System.String"):
                values += _plain(value, BRACES)
    return Values(source, values)


def read_qt(source: Source) -> Values:
    """Reads a value for each message without a translation. Raises DocumentError for other XML."""
    values: list[Value] = []
    languages = []
    for root in _roots(source.text, "TS", "a catalogue of Qt, in an element TS"):
        named = root.attributes
        languages.append(Languages(named.get("sourcelanguage"), named.get("language")))
        for part in root.children:  # contexts, or messages without one
            for message in checked([part] if part.name == "message" else part.children):
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
            if child.name == "string" or (child.name == "item" and child.attributes.get("type") == "string"):
                yield child
            elif child.name in ("plurals", "string-array"):
                yield from (item for item in child.children if item.name == "item")


def _of_android(text: str, node: Node) -> Value | None:
    begin, end = node.inner
    is_raw = _CDATA.match(text, begin, end)
    if is_raw:
        begin, end = is_raw.span(1)
    elif "<!" in text[begin:end] or _REFERENCE.match(text[begin:end]):
        return None
    quoted = _QUOTED.match(text, begin, end)
    if quoted:
        begin, end = quoted.span(1)
    begin, end = _EDGES.match(text, begin, end).span(1)  # type: ignore[union-attr]  # it may be empty

    def read(found: re.Match[str]) -> str:
        if found["code"]:
            return chr(int(found["code"], 16))
        if found["sign"]:
            return _BACKSLASHES.get(found["sign"], found["sign"])
        if found["quote"]:
            return ""
        if found["spaces"]:
            return found[0] if quoted else " "
        meant = found[0] if found["kept"] or is_raw else unescape(found[0])
        return meant if meant != "<" else found[0]  # that would begin a tag

    def written(words: str) -> str:
        words = allowed(words).replace("]]>", "]]]]><![CDATA[>") if is_raw else escaped(words)
        return _MUST.sub(lambda found: _WRITTEN.get(found[0], f"\\{found[0]}"), words)

    content = with_whole_characters(_TOKEN.sub(read, text[begin:end]))
    message = Message(content, _KEPT, True, written)
    if not message.units:
        return None

    def write(translation: str) -> str:
        return f"\\{translation}" if translation[:1] in ("@", "?") and not quoted else translation

    return single(message, (begin, end), write)


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
    form = "<numerusform>{}</numerusform>" if message.attributes.get("numerus") == "yes" else "{}"

    def new(words: str) -> str:
        return f'<translation type="unfinished">{form.format(escaped(words))}</translation>'

    if made is None:
        return [single(content, (said.end, said.end), new)]
    forms = [child for child in made.children if child.name == "numerusform"]
    is_done = any(_said(part).strip() or any(child.name for child in part.children) for part in forms or [made])
    if is_done or made.attributes.get("type") in _DONE:
        return []
    if not forms:
        return [single(content, (made.begin, made.end), new)]
    at = made.begin + len("<translation")
    state = "" if "type" in made.attributes else ' type="unfinished"'
    spans = [(at, at), *((child.begin, child.end) for child in forms)]
    return [Value([content] * len(forms), spans, lambda texts: [state, *(form.format(escaped(one)) for one in texts)])]
