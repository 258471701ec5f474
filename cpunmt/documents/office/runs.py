"""What paragraphs of Office Open XML have in common: runs (`r`) with properties (`rPr`) and texts (`t`)."""

from __future__ import annotations

from cpunmt.documents.office.items import Frame
from cpunmt.documents.office.paragraphs import canonical
from cpunmt.documents.xml_events import Node, escaped

SAYS_NOTHING = frozenset(
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


def run_frame(text: str, run: Node, properties: str) -> Frame:
    """The frame of a run, whose properties are called so; white space to indent its elements is no content of it."""
    found = run.child(properties)
    begin = found.end if found else run.inner[0]
    inner = [child for child in run.children if child is not found and (child.name or child.text.strip())]
    content, content_end = (inner[0].begin, inner[-1].end) if inner else (begin, run.inner[1])
    looks = canonical(found, SAYS_NOTHING) if found else ()
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
    """A text in a run like that of a frame; Word needs to be told that white space at its ends is a part of it."""
    assert frame is not None
    name = f"{frame.closing[2:-1].strip()[:-1]}t"  # a run is called r, with the prefix of this part
    space = ' xml:space="preserve"' if text != text.strip() and not frame.closing.startswith("</a:") else ""
    return f"{frame.opening}<{name}{space}>{escaped(text)}</{name}>{frame.closing}"


def is_preserved(node: Node) -> bool:
    """Whether white space at the ends of a text is a part of it."""
    return node.attributes.get("xml:space") == "preserve"


def text_of(node: Node) -> str:
    """The text in an element."""
    return "".join(child.text for child in node.children)
