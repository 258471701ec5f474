"""Reads XML 1.0 with namespaces as elements and texts with their spans; never serializes it.

Expat (`xml.parsers.expat`) checks well-formedness; its byte indices yield the spans. A document type with declarations
is refused, because it could define entities of a billion characters, or load files from other machines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from types import MappingProxyType
from xml.parsers import expat

from cpunmt.documents.document import DocumentError, Span, broken
from cpunmt.process.stopping import check

MOST_BYTES = 1 << 27  # UTF-8 bytes of one text
MOST_NODES = 3_000_000  # of one text: each takes about 150 bytes of memory, however short its source is
DEEPEST = 1000  # nested elements
DEEPEST_IN_TEXTS = 200  # limit for recursive readers: Python's stack holds some hundreds
BESIDE = "!"  # the name of comments and instructions
_END = "/"  # the name of the pseudo-node for an element's end tag
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_ATTRIBUTE = re.compile(r"""\s([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_FIRST = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:\s|<\?[^>]{0,1000}>|<!--(?:[^-]|-(?!->))*-->|<![A-Z][^<>]{0,1000}>)*"
    rb"<(?:[\w.-]{1,100}:)?([A-Za-z][\w.-]{0,100})(?=[\s/>])"
)
_TAG_NAME = re.compile(r"<[^\s/>]+")
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Node:
    """An element, a text (`name` ""), or a comment or instruction (`name` BESIDE), with its span.

    content, content_end  edges of `inner`; 0 for a text
    text                  text without references; for texts only
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
        """The span between its tags; for an empty element the end of its tag, twice."""
        return self.content, self.content_end

    def child(self, name: str) -> Node | None:
        """Returns the first child of that name."""
        return next((child for child in self.children if child.name == name), None)


def nodes(text: str, prefixes: Mapping[str, str], names: Collection[str]) -> list[Node]:
    """Returns the outermost elements of these names, each with its descendants.

    Names are "prefix:local", with the prefix from `prefixes` for their namespace, whatever the document calls it;
    "{namespace}local" for other namespaces, and "local" without a namespace.

    Raises DocumentError, with the line, if the document is not well-formed, has a document type with declarations, or
    exceeds the bounds.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise broken(text, error.start, "a lone surrogate, expected characters") from None
    if len(content) > MOST_BYTES:
        raise DocumentError(f"has {len(content)} bytes of XML, expected at most {MOST_BYTES}; cut it into parts")
    return _Reader(text, content, prefixes, names).read()


class _Reader:
    """A builder of nodes from expat's events. Each part of a document ends where the next begins."""

    def __init__(self, text: str, content: bytes, prefixes: Mapping[str, str], wanted: Collection[str]):
        self._text, self._content, self._prefixes, self._wanted = text, content, prefixes, wanted
        self._is_ascii = len(content) == len(text)
        self._found: list[Node] = []
        self._opened: list[tuple[Node, list[Node]]] = []  # wanted elements, with their descendants and children
        self._count = self._depth = 0
        self._last, self._at = 0, 0  # begin of the last part: in bytes, in code points
        self._node = Node(BESIDE, 0, 0)  # node of that part
        self._words: list[str] = []  # texts of that part, if it is a text
        self._names: dict[str, str] = {}
        self._parser = parser = expat.ParserCreate("UTF-8", "}")  # ignores declared encodings
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartCdataSectionHandler = lambda: self._data("")
        parser.EndCdataSectionHandler = lambda: None  # its end belongs to the text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.CommentHandler = parser.DefaultHandler = parser.XmlDeclHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.SkippedEntityHandler = self._entity

    def read(self) -> list[Node]:
        """Returns the wanted elements."""
        try:
            self._parser.Parse(self._content, True)
        except expat.ExpatError as error:
            raise DocumentError(
                f"line {error.lineno}: is not well-formed XML: {expat.ErrorString(error.code)}"
            ) from None
        self._take(len(self._text))
        return self._found

    def _next(self, name: str, attributes: Mapping[str, str] = _NO_ATTRIBUTES) -> None:
        """Stores the last part, and begins the next one."""
        index = self._parser.CurrentByteIndex
        if index != self._last:
            passed = index - self._last if self._is_ascii else len(self._content[self._last : index].decode("utf-8"))
            self._at, self._last = self._at + passed, index
        self._take(self._at)
        self._node = Node(name, self._at, self._at, attributes=attributes)

    def _take(self, end: int) -> None:
        """Stores the last part, which ends at `end`, in its parent."""
        node = self._node
        if not self._opened and node.name not in self._wanted:
            return
        if node.name == _END:
            element, children = self._opened.pop()
            element.content, element.content_end, element.end = element.end, node.begin, end
            element.children = children or ()
            if not self._opened:
                self._found.append(element)
            return
        if node.name == BESIDE and node.begin == end:
            return
        self._count += 1
        if self._count > MOST_NODES:
            raise broken(self._text, node.begin, f"more than {MOST_NODES} elements and texts; cut it into parts")
        node.end = end
        if self._opened:
            self._opened[-1][1].append(node)
        if not node.name:
            node.text = "".join(self._words)
        elif node.name != BESIDE:
            self._opened.append((node, []))

    def _name(self, found: str) -> str:
        name = self._names.get(found)
        if name is None:
            namespace, _, local = found.rpartition("}")
            prefix = self._prefixes.get(namespace)
            name = f"{prefix}:{local}" if prefix else f"{{{namespace}}}{local}" if namespace else local
            self._names[found] = name
        return name

    def _start(self, name: str, attributes: list[str]) -> None:
        check()
        self._depth += 1
        if self._depth > DEEPEST:
            raise DocumentError(
                f"line {self._parser.CurrentLineNumber}: elements are {self._depth} deep in one another, "
                f"expected at most {DEEPEST}"
            )
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        self._next(self._name(name), {self._name(key): value for key, value in pairs} or _NO_ATTRIBUTES)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._next(_END)

    def _data(self, text: str) -> None:
        if self._node.name:
            self._next("")
            self._words = []
        self._words.append(text)

    def _entity(self, name: str, is_parameter: bool) -> None:
        """Converts an entity that an unread document type may declare, as XHTML defines it."""
        self._data("" if is_parameter else unescape(f"&{name};"))

    def _other(self, *_: object) -> None:
        self._next(BESIDE)

    def _doctype(self, name: str, system: str | None, public: str | None, has_inner: bool) -> None:
        """Refuses a document type with declarations. A file that it names is not read."""
        if has_inner:
            raise DocumentError(
                f"line {self._parser.CurrentLineNumber}: has a document type with entities or other declarations "
                "(<!DOCTYPE ... [), which can be of any size and name other files; remove it"
            )


def check_depth(text: str, found: Iterable[Node]) -> None:
    """Raises DocumentError, with the line, if these nodes are nested more than `DEEPEST_IN_TEXTS` deep."""
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


def attribute_span(text: str, element: Node, name: str) -> Span | None:
    """Finds the value of an element's attribute, between its quotes; None without that attribute."""
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


def allowed(text: str) -> str:
    """Returns a text in which characters that XML cannot hold are U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text)


def escaped(text: str) -> str:
    """Escapes a text for use between tags. Characters that XML cannot hold become U+FFFD."""
    return allowed(text).translate(_ESCAPED)


def first_element(beginning: bytes) -> str:
    """Returns the name of the first element, without its prefix, of a file in UTF-8 or UTF-16; "" if there is none."""
    found = _FIRST.match(beginning.replace(b"\0", b""))
    return found[1].decode() if found else ""
