"""XML 1.0 with namespaces, as elements and texts with the places where they stand: nothing of it is ever written anew.

What is well-formed is expat's to say (`xml.parsers.expat`); where things stand is found from its byte indices. A
document type is refused: it is where entities of a billion characters and files of other machines come from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from xml.parsers import expat

from cpunmt.documents.document import DocumentError, Span, broken

MOST_BYTES = 1 << 27  # of one text, as UTF-8
MOST_NODES = 3_000_000  # of one text: each takes about 150 bytes of memory, however short it is in the file
DEEPEST = 1000  # elements in one another
DEEPEST_IN_TEXTS = 200  # where functions that call themselves read them: Python's stack holds some hundreds
BESIDE = "!"  # the name of comments and instructions
_CHUNK = 1 << 18  # bytes that expat takes at once, which may be some ten thousand events
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_ATTRIBUTE = re.compile(r"""\s([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TAG_NAME = re.compile(r"<[^\s/>]+")
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Event(NamedTuple):
    """A part of a document, which follows the part before without a gap.

    kind        "start" and "end" of an element (an empty one's end is an empty span); "text", also of CDATA sections,
                without references; "other": comments, instructions, white space outside the document's element
    begin, end  its span, in code points
    value       of "start" and "end" the name, see `events`; of "text" the text; else ""
    attributes  of "start": name -> value
    """

    kind: Literal["start", "end", "text", "other"]
    begin: int
    end: int
    value: str
    attributes: Mapping[str, str]


def events(text: str, prefixes: Mapping[str, str]) -> Iterator[Event]:
    """Yields all parts of a document, in order.

    Names are "prefix:local", with the prefix that `prefixes` has for their namespace, whatever the document calls it;
    "{namespace}local" of others, and "local" of those without one.

    Raises DocumentError, with the line, if it is not well-formed, has a document type, or exceeds the bounds.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise broken(text, error.start, "a lone surrogate, expected characters") from None
    if len(content) > MOST_BYTES:
        raise DocumentError(f"has {len(content)} bytes of XML, expected at most {MOST_BYTES}; cut it into parts")
    scanner = _Scanner(content, prefixes)
    at = 0  # in code points, of `last` in bytes
    last = 0
    held: tuple[Literal["start", "end", "text", "other"], str, Mapping[str, str]] | None = None
    is_ascii = len(content) == len(text)
    for begin in range(0, max(1, len(content)), _CHUNK):
        try:
            scanner.parser.Parse(content[begin : begin + _CHUNK], begin + _CHUNK >= len(content))
        except expat.ExpatError as error:
            raise DocumentError(
                f"line {error.lineno}: is no well-formed XML: {expat.ErrorString(error.code)}"
            ) from None
        found, scanner.found = scanner.found[:-1], scanner.found[-1:]  # the last may go on
        if begin + _CHUNK >= len(content):
            found += scanner.found
        for kind, index, value, attributes in found:
            length = index - last if is_ascii else len(content[last:index].decode("utf-8"))
            now = at + length if length else at  # the same object: nodes have many
            if held is not None and (at < now or held[0] != "other"):
                yield Event(held[0], at, now, held[1], held[2])
            held, at, last = (kind, value if isinstance(value, str) else "".join(value), attributes), now, index
    if held is not None:
        yield Event(held[0], at, len(text), held[1], held[2])


class _Scanner:
    """Expat's events since they were last taken: kind, byte index, value (a text in pieces), attributes."""

    def __init__(self, content: bytes, prefixes: Mapping[str, str]):
        self.found: list[tuple[Any, ...]] = [
            ("other", 0, "", _NO_ATTRIBUTES)
        ]  # what is before the first: expat tells document types late
        self._prefixes = prefixes
        self._names: dict[str, str] = {}
        self._depth = 0
        self._in_cdata = False
        self.parser = parser = expat.ParserCreate("UTF-8", "}")  # whatever it declares: it was decoded before
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = self._cdata
        parser.EndCdataSectionHandler = self._cdata_end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.CommentHandler = parser.DefaultHandler = parser.XmlDeclHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.SkippedEntityHandler = self._entity

    def _name(self, found: str) -> str:
        name = self._names.get(found)
        if name is None:
            namespace, _, local = found.rpartition("}")
            prefix = self._prefixes.get(namespace)
            name = f"{prefix}:{local}" if prefix else f"{{{namespace}}}{local}" if namespace else local
            self._names[found] = name
        return name

    def _start(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise DocumentError(
                f"line {self.parser.CurrentLineNumber}: elements are {self._depth} deep in one another, "
                f"expected at most {DEEPEST}"
            )
        named = (
            _NO_ATTRIBUTES
            if not attributes
            else {self._name(attributes[at]): attributes[at + 1] for at in range(0, len(attributes), 2)}
        )
        self.found.append(("start", self.parser.CurrentByteIndex, self._name(name), named))

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.found.append(("end", self.parser.CurrentByteIndex, self._name(name), _NO_ATTRIBUTES))

    def _text(self, text: str) -> None:
        if self.found and self.found[-1][0] == "text":
            self.found[-1][2].append(text)
        else:
            self.found.append(("text", self.parser.CurrentByteIndex, [text], _NO_ATTRIBUTES))

    def _entity(self, name: str, is_parameter: bool) -> None:
        """Takes an entity that an unread document type may declare: as XHTML has it."""
        self._text("" if is_parameter else unescape(f"&{name};"))

    def _cdata(self) -> None:
        self._text("")

    def _cdata_end(self) -> None:
        pass  # what ends it is a part of the text

    def _other(self, *_: object) -> None:
        self.found.append(("other", self.parser.CurrentByteIndex, "", _NO_ATTRIBUTES))

    def _doctype(self, name: str, system: str | None, public: str | None, has_inner: bool) -> None:
        """Refuses a document type with declarations. A file that it names is not read."""
        if has_inner:
            raise DocumentError(
                f"line {self.parser.CurrentLineNumber}: has a document type with entities or other declarations "
                "(<!DOCTYPE ... [), which can be of any size and name other files; remove it"
            )


@dataclass(slots=True)
class Node:
    """An element, a text (`name` ""), or a comment or instruction (`name` BESIDE), with its span.

    content, content_end  the edges of `inner`; of a text 0
    text                  of a text, without references
    """

    name: str
    begin: int
    end: int
    text: str = ""
    attributes: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRIBUTES)
    content: int = 0
    content_end: int = 0
    children: Sequence[Node] = ()

    @property
    def inner(self) -> Span:
        """The span between its tags; of an empty element where the tag ends, twice."""
        return self.content, self.content_end

    def child(self, name: str) -> Node | None:
        """Returns the first child of that name."""
        return next((child for child in self.children if child.name == name), None)


def nodes(text: str, prefixes: Mapping[str, str], names: Collection[str]) -> Iterator[Node]:
    """Yields the elements of these names that are in no other such element, each with all that is in it; see `events`.

    Raises DocumentError as `events` does, and for more than `MOST_NODES` elements and texts in them.
    """
    opened: list[tuple[Node, list[Node]]] = []  # elements, and what is in each up to here
    count = 0
    for kind, begin, end, value, attributes in events(text, prefixes):
        if not (kind == "start" and value in names) and not opened:
            continue
        if kind != "end":
            count += 1
            if count > MOST_NODES:
                raise broken(text, begin, f"more than {MOST_NODES} elements and texts; cut it into parts")
        if kind == "start":
            node = Node(value, begin, end, attributes=attributes)
            if opened:
                opened[-1][1].append(node)
            opened.append((node, []))
        elif kind == "end":
            node, children = opened.pop()
            node.content, node.content_end, node.end = node.end, begin, end
            if children:
                node.children = children
            if not opened:
                yield node
        elif kind == "text" or begin < end:
            opened[-1][1].append(Node("" if kind == "text" else BESIDE, begin, end, value))


def check_depth(text: str, found: Iterable[Node]) -> None:
    """Raises DocumentError, with the line, if these nodes of a text are more than `DEEPEST_IN_TEXTS` in one another."""
    opened = [iter(found)]
    while opened:
        node = next(opened[-1], None)
        if node is None:
            opened.pop()
        elif len(opened) > DEEPEST_IN_TEXTS:
            said = f"elements are deep in one another, expected at most {DEEPEST_IN_TEXTS} in a text"
            raise broken(text, node.begin, said)
        elif node.children:
            opened.append(iter(node.children))


def attribute_span(text: str, element: Event | Node, name: str) -> Span | None:
    """Finds the value of an attribute of an element, between its quotes; None if it has no such attribute."""
    if name not in element.attributes:
        return None
    which = list(element.attributes).index(name)
    begin = _TAG_NAME.match(text, element.begin)
    assert begin is not None
    for found in _ATTRIBUTE.finditer(text, begin.end()):
        if found[1] != "xmlns" and not found[1].startswith("xmlns:"):
            if not which:
                return found.span(2 if found[2] is not None else 3)
            which -= 1
    raise AssertionError("an attribute that stands nowhere")


def escaped(text: str) -> str:
    """Returns a text as it is written between tags. What XML cannot hold becomes U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text).translate(_ESCAPED)


def escaped_attribute(text: str) -> str:
    """Returns a text as it is written between quotes of either kind."""
    found = escaped(text).replace('"', "&quot;").replace("'", "&#39;")
    return found.replace("\t", "&#9;").replace("\n", "&#10;")
