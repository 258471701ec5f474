"""XML: expat's verdict, and spans that tile the text."""

import time
import tracemalloc
import xml.etree.ElementTree as tree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents import xml_nodes
from cpunmt.documents.document import DocumentError
from cpunmt.documents.xml_nodes import BESIDE, attribute_span, check_depth, escaped, nodes
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


@given(documents())
def test_nodes_tile_a_document_and_say_what_another_parser_says(text):
    (root,) = nodes(text, NAMES, ["r"])
    assert text[slice(*root.inner)] == text[text.index('N">') + 3 : text.rindex("</r>")]
    expected = list(tree.fromstring(text.encode()).iter())
    found, texts, waiting = [], [], [root]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        texts.append(node.text)
        if not node.name or node.name == BESIDE:
            continue
        found.append(node)
        begin, end = node.inner
        assert text[node.begin : begin].endswith(">") and text[end : node.end].startswith("</") == (end < node.end)
        edges = [begin, *(edge for child in node.children for edge in (child.begin, child.end)), end]
        assert edges[::2] == edges[1::2]  # each begins where the one before it ends
        for name, value in node.attributes.items():
            begin, end = attribute_span(text, node, name)
            assert text[begin - 1] == text[end] in "\"'"
            assert tree.fromstring(f"<a b={text[begin - 1 : end + 1]}/>").get("b") == value
    assert [node.name for node in found] == [element.tag.replace("{N}", "n:") for element in expected]
    for node, element in zip(found, expected, strict=True):
        assert node.attributes == {key.replace("{N}", "n:"): value for key, value in element.items()}
    assert "".join(texts) == "".join(tree.fromstring(text.encode()).itertext())
    assert [node.name for node in nodes(text, NAMES, ["n:c", "{U}c"])] == ["n:c"] * text.count("<n:c")


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text())
def test_what_is_no_xml_is_one_error_and_nothing_else(text):
    try:
        found = nodes(text, NAMES, ["a", "b", "d"])
    except DocumentError as error:
        assert str(error).startswith("line ")
    else:
        assert tree.fromstring(text.encode()) is not None
        assert all(text.startswith(f"<{node.name}", node.begin) for node in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<a>\n<b></a>", "line 2: is not well-formed XML: mismatched tag"),
        ("", "line 1: is not well-formed XML: no element found"),
        ("<a>&nbsp;</a>", "line 1: is not well-formed XML: undefined entity"),
        ("<a/>\n<!DOCTYPE a>", "line 2: is not well-formed XML"),
        ('<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "line 2: has a document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd" [<!ENTITY % b "c"> %b;]><a/>', "line 1: has a document type"),
        ("\n".join(["<a>"] * 2000), "line 1001: elements are 1001 deep in one another, expected at most 1000"),
        ("<a>\ud800</a>", "line 1: a lone surrogate"),
        ("<n:a/>", "line 1: is not well-formed XML: unbound prefix"),
    ],
)
def test_refusals(text, said):
    with pytest.raises(DocumentError, match=said):
        nodes(text, {}, [])


def test_a_document_type_that_is_not_read():
    """It is not opened; its possible entities are those of XHTML."""
    (node,) = nodes('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>b&nbsp;&what;c</a>', {}, ["a"])
    assert [child.text for child in node.children] == ["b\xa0&what;c"]


def test_a_large_text_is_refused(monkeypatch):
    monkeypatch.setattr(xml_nodes, "MOST_BYTES", 10)
    with pytest.raises(DocumentError, match="has 11 bytes of XML, expected at most 10"):
        nodes("<a>1234</a>", {}, [])


def test_more_nodes_than_memory_is_for_are_refused(monkeypatch):
    monkeypatch.setattr(xml_nodes, "MOST_NODES", 6)
    (root,) = nodes("<a><b/><b/>\n<b/></a>", {}, ["a"])
    assert len(root.children) == 4
    text = "<a>\n<b>1</b>\n<b>2</b></a>"
    with pytest.raises(DocumentError, match="line 3: more than 6 elements and texts; cut it into parts"):
        nodes(text, {}, ["a"])
    assert len(nodes(text, {}, ["b"])) == 2
    monkeypatch.setattr(xml_nodes, "MOST_NODES", 7)
    assert len(nodes(text, {}, ["a"])) == 1  # as many as are allowed


@pytest.mark.slow
def test_short_elements_take_little_memory():
    text = f"<a>{'<b/>' * 100_000}</a>"
    tracemalloc.start()
    try:
        found = nodes(text, {}, ["a"])
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
    (found,) = nodes(text, {}, ["a"])
    assert time.process_time() - begin < 5
    assert found.end == len(text)


@given(st.text())
def test_what_is_escaped_is_read_again(text):
    (element,) = nodes(f"<a>{escaped(text)}</a>", {}, ["a"])
    assert "".join(child.text for child in element.children) == xml_nodes._FORBIDDEN.sub("\ufffd", text)
