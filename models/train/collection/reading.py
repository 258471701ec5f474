"""Reads files to texts: the blocks of a page, in order, or the messages of a catalogue, by their keys."""

import re
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator, Mapping

from cpunmt.documents.document import Place, read_source
from cpunmt.documents.markdown.blocks import read_markdown
from cpunmt.documents.markdown.inline import Inline

Texts = Mapping[object, str]  # the number of a block, or the key of a message -> its text

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)
_NAME = re.compile(r"<a name=\"[^\"]*\"></a>|\{#[\w.-]+\}")
_MARKER = re.compile(r"\[!(?:UICONTROL|DNL|BADGE|BADGEURL) +([^\[\]]*)\]")  # Adobe's: names of controls and products
# Mozilla's macros for links to names: {{domxref("Window.name", "name")}}
_MACRO = re.compile(r"\{\{\s*(\w+)\(\s*\"([^\"{}]*)\"(?:\s*,\s*\"([^\"{}]*)\")?[^{}]*\)\s*\}\}")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\w+);)[\w.:-]+;")
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.S)
_INLINE_NAMES = """
    acronym abbrev application citetitle classname code command constant email emphasis envar enumname exceptionname
    filename firstterm function guilabel guimenu guimenuitem interfacename link literal methodname modifier option
    parameter phrase productname property quote replaceable replacement simplelist superscript systemitem type uri
    userinput varname xref member
"""
_INLINE = frozenset(_INLINE_NAMES.split())
_SKIPPED_NAMES = """
    programlisting screen synopsis methodsynopsis classsynopsis constructorsynopsis fieldsynopsis informalexample
    refname indexterm
"""
_SKIPPED = frozenset(_SKIPPED_NAMES.split())
_PROPERTY = re.compile(r"^[ \t]*([^#!\s=:][^=:\n]*?)[ \t]*[=:][ \t]*((?:[^\n\\]|\\.|\\\n)*)$", re.M)
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
_SPACE = re.compile(r"\s+")


def markdown(content: bytes) -> Texts:
    """Returns the blocks of a page of Markdown, without emphasis and addresses; code keeps its ticks."""
    text = _NAME.sub("", _FRONT.sub("", content.decode("utf-8", "replace").replace("\r\n", "\n")))
    text = _MACRO.sub(_named, _MARKER.sub(r"\1", text))
    document = read_markdown(read_source(text.encode()))
    source = document.source.text
    return dict(enumerate(filter(None, (_plain(source, place) for place in document.places))))


def _named(macro: re.Match[str]) -> str:
    name = macro[3] or macro[2]
    return name if macro[1].lower() == "glossary" else f"`{name}`"


def _plain(source: str, place: Place) -> str:
    parts = []
    for part in Inline(" ".join(source[begin:end] for begin, end in place.spans), ()).parts:
        if isinstance(part, str):
            parts.append(part)
        elif part.kind == "point":
            parts.append(part.source if part.name == "code" else part.alt or " " * (part.name == "br"))
    return tidy("".join(parts))


def docbook(content: bytes) -> Texts:
    """Returns the blocks of a page of DocBook, without listings; unknown entities are left out."""
    text = _ENTITY.sub("", _DOCTYPE.sub("", content.decode("utf-8", "replace")))
    try:
        root = xml.fromstring(text)
    except xml.ParseError:
        return {}
    found: list[list[str]] = [[]]
    _walk(root, found)
    return dict(enumerate(filter(None, (tidy("".join(parts)) for parts in found))))


def _walk(element: xml.Element, found: list[list[str]]) -> None:
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if name in _INLINE:
        code = name in ("function", "methodname", "literal", "constant", "parameter", "classname", "code", "varname")
        text = "".join(element.itertext()) + "()" * (name in ("function", "methodname"))
        found[-1].append(f"`{text}`" if code and text else text)
    elif name not in _SKIPPED and name:
        found.append([element.text or ""])
        for child in element:
            _walk(child, found)
            found[-1].append(child.tail or "")
        found.append([])
    return


def po(content: bytes) -> dict[object, tuple[str, str]]:
    """Returns the source and translation of each message of a catalogue that is translated and not fuzzy."""
    import polib

    entries = polib.pofile(content.decode("utf-8", "replace")).translated_entries()
    return {
        (entry.msgctxt, entry.msgid): (tidy(_MARKUP.sub("", entry.msgid)), tidy(_MARKUP.sub("", entry.msgstr)))
        for entry in entries
        if entry.msgstr
    }


def fluent(content: bytes) -> Texts:
    """Returns the messages of a Fluent file that are one text, with `{ $name }` for a variable."""
    from fluent.syntax import ast, parse

    found = {}
    for entry in parse(content.decode("utf-8", "replace")).body:
        if isinstance(entry, ast.Message | ast.Term):
            patterns = [("", entry.value)] + [(one.id.name, one.value) for one in entry.attributes]
            for name, pattern in patterns:
                if pattern and (text := _fluent_text(pattern, ast)):
                    found[entry.id.name, name] = text
    return found


def _fluent_text(pattern, ast) -> str:
    parts = []
    for part in pattern.elements:
        if isinstance(part, ast.TextElement):
            parts.append(part.value)
        elif isinstance(part.expression, ast.VariableReference):
            parts.append(f"{{ ${part.expression.id.name} }}")
        else:
            return ""
    return tidy(_MARKUP.sub("", "".join(parts)))


def properties(content: bytes) -> Texts:
    """Returns the messages of a file of Java's or Mozilla's properties."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return {key: tidy(value) for key, value in _PROPERTY.findall(text) if "\\" not in value}


def tidy(text: str) -> str:
    """Returns the text with single spaces, none at its ends."""
    return _SPACE.sub(" ", text).strip()


PAGES: dict[str, Callable[[bytes], Texts]] = {".md": markdown, ".xml": docbook}
MESSAGES: dict[str, Callable[[bytes], Texts]] = {".ftl": fluent, ".properties": properties}


def lines(content: bytes) -> Iterator[list[str]]:
    """Yields the columns of each line of a table with tabs."""
    for line in content.decode("utf-8", "replace").splitlines():
        yield line.split("\t")
