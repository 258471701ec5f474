"""DrawingML: an `a:p` as items (ECMA-376 part 1, 21.1.2): texts of slides, shapes, and titles of charts."""

from __future__ import annotations

from cpunmt.documents.office.items import Item, Items, Kind
from cpunmt.documents.office.runs import run_frame, text_of
from cpunmt.documents.xml_events import Node

_KINDS: dict[str, Kind] = {"a:br": "break", "a:fld": "k", "a14:m": "k"}


def drawing_items(text: str, node: Node) -> Items:
    """The items of an `a:p` of a text; numbers of slides and dates stay."""
    found: Items = []
    for child in node.children:
        if child.name == "a:r":
            content = child.child("a:t")
            if content is not None and text_of(content):
                frame = run_frame(text, child, "a:rPr")
                found.append(Item("text", content.begin, content.end, frame, frame, text_of(content)))
        elif child.name not in ("a:pPr", "a:endParaRPr", ""):
            found.append(Item(_KINDS.get(child.name, "x"), child.begin, child.end, None, None))
    return found
