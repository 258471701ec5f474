"""XML: what expat says of it, and spans that tile the text."""

import time
import tracemalloc
import xml.etree.ElementTree as tree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents import xml_events
from cpunmt.documents.document import DocumentError
from cpunmt.documents.xml_events import BESIDE, attribute_span, check_depth, escaped, escaped_attribute, events, nodes
from tests.support.speeds import slow_after

PIECES = [
    "<a>", "</a>", "<b x='1>é2'>", "</b>", '<n:c n:y="&amp;\'&lt;" x="é" xmlns="U"/>', "<d\n/>", "text", "é🙂", " ",
    "\r\n", "&amp;", "&#233;", "<![CDATA[<q>é]]>", "<!-- c é -->", "<?pi é?>", "&e;", "<", ">", "]]>", "\0",
    "<!DOCTYPE a>", "<x:y/>", '"',
]  # fmt: skip
BEGINS = ["", "<?xml version='1.0'?>\r\n", " ", "<!-- é -->"]
WELL_FORMED = st.recursive(
    st.sampled_from([*PIECES[4:15], "<b x='1>é2'/>"]),
    lambda inner: st.lists(inner, max_size=5).map(lambda parts: f"<b x='é' n:x=\"2\">{''.join(parts)}</b >"),
)
NAMES = {"N": "n"}


@st.composite
def documents(draw):
    inner = "".join(draw(st.lists(WELL_FORMED, max_size=6)))
    return f'{draw(st.sampled_from(BEGINS))}<r xmlns:n="N">{inner}</r>\n'


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_events_tile_a_document_and_say_what_another_parser_says(chunk, monkeypatch):
    monkeypatch.setattr(xml_events, "_CHUNK", chunk)

    @given(documents())
    def law(text):
        found = list(events(text, NAMES))
        assert "".join(text[event.begin : event.end] for event in found) == text
        assert [event.begin for event in found[1:]] == [event.end for event in found[:-1]]
        starts = [event for event in found if event.kind == "start"]
        expected = list(tree.fromstring(text.encode()).iter())
        assert [event.value for event in starts] == [element.tag.replace("{N}", "n:") for element in expected]
        for event, element in zip(starts, expected, strict=True):
            assert event.attributes == {key.replace("{N}", "n:"): value for key, value in element.items()}
            for name, value in event.attributes.items():
                begin, end = attribute_span(text, event, name)
                assert text[begin - 1] == text[end] in "\"'"
                assert tree.fromstring(f"<a b={text[begin - 1 : end + 1]}/>").get("b") == value
        texts = "".join(event.value for event in found if event.kind == "text")
        assert texts == "".join(tree.fromstring(text.encode()).itertext())

    law()


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text())
def test_what_is_no_xml_is_one_error_and_nothing_else(text):
    try:
        found = list(events(text, NAMES))
    except DocumentError as error:
        assert str(error).startswith("line ")
    else:
        assert "".join(text[event.begin : event.end] for event in found) == text
        assert tree.fromstring(text.encode()) is not None


@given(documents())
def test_nodes_are_elements_with_all_that_is_in_them(text):
    (root,) = nodes(text, NAMES, ["r"])
    assert text[slice(*root.inner)] == text[text.index('N">') + 3 : text.rindex("</r>")]
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.name and node.name != BESIDE:
            begin, end = node.inner
            assert text[node.begin : begin].endswith(">") and text[end : node.end].startswith("</") == (end < node.end)
            assert all(begin <= child.begin <= child.end <= end for child in node.children)
    assert [node.name for node in nodes(text, NAMES, ["n:c", "{U}c"])] == ["n:c"] * text.count("<n:c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<a>\n<b></a>", "line 2: is no well-formed XML: mismatched tag"),
        ("", "line 1: is no well-formed XML: no element found"),
        ("<a>&nbsp;</a>", "line 1: is no well-formed XML: undefined entity"),
        ("<a/>\n<!DOCTYPE a>", "line 2: is no well-formed XML"),
        ('<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "line 2: has a document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd" [<!ENTITY % b "c"> %b;]><a/>', "line 1: has a document type"),
        ("\n".join(["<a>"] * 2000), "line 1001: elements are 1001 deep in one another, expected at most 1000"),
        ("<a>\ud800</a>", "line 1: a lone surrogate"),
        ("<n:a/>", "line 1: is no well-formed XML: unbound prefix"),
    ],
)
def test_refusals(text, said):
    with pytest.raises(DocumentError, match=said):
        list(events(text, {}))


def test_a_document_type_that_is_not_read():
    """No file is opened for it; what it may declare is what XHTML does."""
    text = '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>b&nbsp;&what;c</a>'
    found = list(events(text, {}))
    assert [(event.kind, event.value) for event in found[1:]] == [
        ("start", "a"),
        ("text", "b\xa0&what;c"),
        ("end", "a"),
    ]
    assert "".join(text[event.begin : event.end] for event in found) == text


def test_a_large_text_is_refused(monkeypatch):
    monkeypatch.setattr(xml_events, "MOST_BYTES", 10)
    with pytest.raises(DocumentError, match="has 11 bytes of XML, expected at most 10"):
        list(events("<a>1234</a>", {}))


def test_more_nodes_than_memory_is_for_are_refused(monkeypatch):
    monkeypatch.setattr(xml_events, "MOST_NODES", 6)
    (root,) = nodes("<a><b/><b/>\n<b/></a>", {}, ["a"])
    assert len(root.children) == 4
    text = "<a>\n<b>1</b>\n<b>2</b></a>"
    with pytest.raises(DocumentError, match="line 3: more than 6 elements and texts; cut it into parts"):
        list(nodes(text, {}, ["a"]))
    assert len(list(nodes(text, {}, ["b"]))) == 2


@pytest.mark.slow
def test_short_elements_take_little_memory():
    text = f"<a>{'<b/>' * 100_000}</a>"
    tracemalloc.start()
    try:
        found = list(nodes(text, {}, ["a"]))
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found[0].children) == 100_000
    assert kept < 18e6 and most < 40e6  # bytes


def test_depth_of_nodes():
    def read(depth):
        text = "\n" + "<a>" * depth + "</a>" * depth
        check_depth(text, nodes(text, {}, ["a"]))

    read(200)
    with pytest.raises(DocumentError, match="line 2: elements are deep in one another, expected at most 200 in a text"):
        read(201)


@pytest.mark.parametrize("text", slow_after(1, ["<a>" + "é" * 1_500_000 + "</a>", "<a>" + "<b/>é" * 100_000 + "</a>",
                                  "<a b='" + "é" * 1_500_000 + "'/>"]))  # fmt: skip
def test_time_is_linear(text):
    begin = time.process_time()
    found = list(events(text, {}))
    assert time.process_time() - begin < 5
    assert found[-1].end == len(text)


@given(st.text())
def test_what_is_escaped_is_read_again(text):
    kept = xml_events._FORBIDDEN.sub("\ufffd", text)
    (element,) = nodes(
        f"<a b=\"{escaped_attribute(text)}\" c='{escaped_attribute(text)}'>{escaped(text)}</a>", {}, ["a"]
    )
    assert element.attributes == {"b": kept, "c": kept}
    assert "".join(child.text for child in element.children) == kept
