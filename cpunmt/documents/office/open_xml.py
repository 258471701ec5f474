"""Paragraphs of Office Open XML as items: WordprocessingML (ECMA-376 part 1, 17.3 to 17.16) and DrawingML (21.1.2).

Both have runs (`r`) with properties (`rPr`) and texts (`t`). Parts that Word computes stay (fields: page and chapter
numbers, dates, references), and so do tracked deletions. Mere annotations (spelling errors, page ends) are dropped from
a rewritten text.
"""

from __future__ import annotations

from cpunmt.documents.office.paragraphs import canonical
from cpunmt.documents.office.segments import Container, Frame, Item, Items, Kind
from cpunmt.documents.xml_nodes import Node, escaped

_SAYS_NOTHING = frozenset(
    [
        "w:lang",
        "w:noProof",
        "w:rPrChange",
        "w:webHidden",
        "lang",
        "altLang",
        "dirty",
        "err",
        "noProof",
        "bmk",
        "smtClean",
    ]
)
_FORGOTTEN = frozenset(["w:pPr", "w:rPr", "w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen", ""])
_CONTAINERS = frozenset(
    ["w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:dir", "w:bdo", "w:sdtContent"]
)
_KEPT = frozenset(["m:oMath", "w:sym", "w:ruby", "w:pgNum", "w:object"])
_SPLITS = frozenset(["w:tab", "w:ptab", "m:oMathPara", "w:separator", "w:continuationSeparator"])
_WORDS = frozenset(["HYPERLINK", "TOC", "INDEX", "TA", "QUOTE"])  # fields whose results are texts of the document
_BOUND = frozenset(["w:dataBinding", "w:date", "w:dropDownList", "w:comboBox"])  # Word writes their texts
_DRAWING_KINDS: dict[str, Kind] = {"a:br": "break", "a:fld": "k", "a14:m": "k"}


def run_frame(text: str, run: Node, properties: str) -> Frame:
    """Makes the frame of a run; `properties` is their element's name. Indentation in the XML is not content."""
    found = run.child(properties)
    begin = found.end if found else run.inner[0]
    inner = [child for child in run.children if child is not found and (child.name or child.text.strip())]
    content, content_end = (inner[0].begin, inner[-1].end) if inner else (begin, run.inner[1])
    looks = canonical(found, _SAYS_NOTHING) if found else ()
    if looks and not looks[2] and not looks[3]:
        looks = ()
    closing = text[run.inner[1] : run.end]
    raises = found is not None and (
        found.attributes.get("baseline", "0") != "0"
        or any(
            child.name.endswith(":vertAlign") and "baseline" not in child.attributes.values()
            for child in found.children
        )
    )
    return Frame(None, run.begin, content, content_end, run.end, text[run.begin : begin], closing, looks, raises)


def framed_in_run(frame: Frame | None, text: str) -> str:
    """Writes a text in a run like that of a frame. Word drops white space at the ends unless it is marked."""
    assert frame is not None
    name = f"{frame.closing[2:-1].strip()[:-1]}t"  # a run is called r, with the prefix of this part
    space = ' xml:space="preserve"' if text != text.strip() and not frame.closing.startswith("</a:") else ""
    return f"{frame.opening}<{name}{space}>{escaped(text)}</{name}>{frame.closing}"


def is_preserved(node: Node) -> bool:
    """Returns whether white space at the ends of a text counts."""
    return node.attributes.get("xml:space") == "preserve"


def text_of(node: Node) -> str:
    """Returns the text in an element."""
    return "".join(child.text for child in node.children)


def drawing_items(text: str, node: Node) -> Items:
    """Returns the items of an `a:p`; numbers of slides and dates stay."""
    found: Items = []
    for child in node.children:
        if child.name == "a:r":
            content = child.child("a:t")
            if content is not None and text_of(content):
                frame = run_frame(text, child, "a:rPr")
                found.append(Item("text", content.begin, content.end, frame, frame, text_of(content)))
        elif child.name not in ("a:pPr", "a:endParaRPr", ""):
            found.append(Item(_DRAWING_KINDS.get(child.name, "x"), child.begin, child.end, None, None))
    return found


class WordParagraph:
    """The items of a `w:p`."""

    def __init__(self, text: str, node: Node):
        self._text = text
        self._marks: dict[Item, Node] = {}  # items that begin, end or describe fields
        self.items = self._fields(self._items(node))

    def _items(self, node: Node) -> Items:
        found: Items = []
        for child in node.children:
            name = child.name
            if name in _FORGOTTEN:
                continue
            if name == "w:r":
                found += self._run(child)
            elif name in _CONTAINERS or (name == "w:fldSimple" and _is_words(child.attributes.get("w:instr", ""))):
                found.append(self._container(child, child))
            elif name == "w:sdt" and (content := child.child("w:sdtContent")) is not None and not _is_bound(child):
                found.append(self._container(child, content))
            elif name.endswith(("Start", "End")):
                found.append(Item("range", child.begin, child.end, None, None))
            elif name in _SPLITS:
                found.append(Item("split", child.begin, child.end, None, None))
            else:
                kind: Kind = "k" if name in _KEPT or name == "w:fldSimple" else "x"
                found.append(Item(kind, child.begin, child.end, None, None))
        return found

    def _container(self, node: Node, content: Node) -> Container:
        begin, end = content.inner
        opening = Item("x", node.begin, begin, None, None)
        return Container(opening, self._fields(self._items(content)), Item("x", end, node.end, None, None))

    def _run(self, run: Node) -> Items:
        frame = run_frame(self._text, run, "w:rPr")
        found: Items = []
        for child in run.children:
            name = child.name
            if name in _FORGOTTEN:
                continue
            if name == "w:t":
                text = text_of(child)
                text = text if is_preserved(child) else text.strip(" \t\r\n")
                if text:
                    found.append(Item("text", child.begin, child.end, frame, frame, text))
            elif name == "w:noBreakHyphen":
                found.append(Item("text", child.begin, child.end, frame, frame, "\u2011"))
            else:
                item = Item(_kind(child), child.begin, child.end, frame, frame)
                if name in ("w:fldChar", "w:instrText"):
                    self._marks[item] = child
                found.append(item)
        return found

    def _fields(self, items: Items) -> Items:
        """Turns fields that begin and end here into one item each, or into frames of their words."""
        found: Items = []
        begins: list[int] = []  # in `found`, of the open fields
        for item in items:
            found.append(item)
            kind = self._field_char(item)
            if kind == "begin":
                begins.append(len(found) - 1)
            elif kind == "end" and begins:
                begin = begins.pop()
                found[begin:] = [self._field(found[begin:])]
        return found

    def _field(self, items: Items) -> Item | Container:
        first, last = items[0], items[-1]
        assert isinstance(first, Item) and isinstance(last, Item)
        separate = next((at for at, item in enumerate(items) if self._field_char(item) == "separate"), 0)
        instruction = "".join(
            text_of(self._marks[item]) for item in items[:separate] if isinstance(item, Item) and item in self._marks
        )
        middle = items[separate]
        if separate and _is_words(instruction) and isinstance(middle, Item):
            opening = Item("x", first.begin, middle.end, first.frame, middle.last)
            return Container(opening, items[separate + 1 : -1], last)
        return Item("k" if separate else "x", first.begin, last.end, first.frame, last.last)

    def _field_char(self, item: Item | Container) -> str:
        node = self._marks.get(item) if isinstance(item, Item) else None
        return node.attributes.get("w:fldCharType", "") if node is not None else ""


def _kind(node: Node) -> Kind:
    if node.name in ("w:br", "w:cr"):
        return "break" if node.attributes.get("w:type", "textWrapping") == "textWrapping" else "split"
    if node.name in _SPLITS or node.name in ("w:fldChar", "w:instrText"):
        return "split"
    return "k" if node.name in _KEPT else "x"


def _is_words(instruction: str) -> bool:
    words = instruction.split(maxsplit=1)
    return bool(words) and words[0].upper() in _WORDS


def _is_bound(node: Node) -> bool:
    properties = node.child("w:sdtPr")
    return properties is not None and any(child.name in _BOUND for child in properties.children)
