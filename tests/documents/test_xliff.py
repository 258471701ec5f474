"""XLIFF 1.2 and 2: the translated sources, and the places of their codes."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.documents.document import DocumentError, Unit
from cpunmt.documents.formats.xliff import read_xliff
from tests.documents.laws import backwards, changed, document_of, keeps_every_byte, render, shown, upper
from tests.support.linear_time import takes_linear_time
from tests.support.speeds import slow_after

ONE = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="en" target-language="de" datatype="plaintext" original="a">
    <body>
      <trans-unit id="new">
        <source> Two &lt;dogs&gt; &amp; cats. </source>
      </trans-unit>
      <trans-unit id="empty"><source>Empty one.</source><target/></trans-unit>
      <trans-unit id="blank"><source>Blank one.</source><target state="new" > </target></trans-unit>
      <trans-unit id="copy"><source>Copied.</source><target state="needs-translation">Copied.</target></trans-unit>
      <trans-unit id="done"><source>Done.</source><target>Fertig.</target></trans-unit>
      <trans-unit id="same"><source>Hotel</source><target state="final">Hotel</target></trans-unit>
      <trans-unit id="approved" approved="yes"><source>Approved.</source></trans-unit>
      <trans-unit id="no" translate="no"><source>Stays.</source></trans-unit>
      <group translate="no"><trans-unit id="in"><source>Stays.</source></trans-unit>
        <trans-unit id="yes" translate="yes"><source>Goes.</source></trans-unit></group>
      <trans-unit id="codes">
        <source>A <g id="1">bold <x id="LINE_BREAK" ctype="lb"/>word</g> for <x id="INTERPOLATION"
          equiv-text="{{name}}"/>, <mrk mtype="protected">NASA</mrk><bpt id="2">&lt;i></bpt>.</source>
        <note>A note.</note>
        <alt-trans><source>Other.</source><target>Andere.</target></alt-trans>
      </trans-unit>
      <trans-unit id="number"><source>42 %</source></trans-unit>
      <trans-unit id="cdata"><source><![CDATA[a < b]]></source></trans-unit>
    </body>
  </file>
</xliff>
"""
REVIEW = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
TWO = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">
<file id="f"><unit id="1"><segment state="initial">
<source>Hello <pc id="1">big <ph id="2" disp="{0}"/></pc> world.</source>
</segment><ignorable><source> and </source></ignorable><segment>
<source>Second.</source><target>Zweite.</target></segment>
</unit><unit id="2" translate="no"><segment><source>Stays.</source></segment></unit></file></xliff>
"""


def test_a_file_of_1_2():
    keeps_every_byte(read_xliff, ONE.encode())
    keeps_every_byte(read_xliff, ONE.replace("\n", "\r\n").encode())
    assert render(read_xliff, ONE, upper) == ONE.replace(
        " cats. </source>", f" cats. </source>\n        {REVIEW} TWO &lt;DOGS&gt; &amp; CATS. </target>"
    ).replace("<target/>", f"{REVIEW}EMPTY ONE.</target>").replace(
        '<target state="new" > </target>', f"{REVIEW}BLANK ONE.</target>"
    ).replace('<target state="needs-translation">Copied.', f"{REVIEW}COPIED.").replace(
        "<source>Goes.</source>", f"<source>Goes.</source>{REVIEW}GOES.</target>"
    ).replace(
        "&lt;i></bpt>.</source>",
        f'&lt;i></bpt>.</source>\n        {REVIEW}A <g id="1">BOLD <x id="LINE_BREAK" ctype="lb"/>WORD</g> FOR '
        '<x id="INTERPOLATION"\n          equiv-text="{{name}}"/>, <mrk mtype="protected">NASA</mrk>'
        '<bpt id="2">&lt;i></bpt>.</target>',
    ).replace("]]></source>", f"]]></source>{REVIEW}A &lt; B</target>")


def test_a_file_of_2():
    keeps_every_byte(read_xliff, TWO.encode())
    assert render(read_xliff, TWO, upper) == TWO.replace('state="initial"', 'state="translated"').replace(
        "world.</source>",
        'world.</source>\n<target>HELLO <pc id="1">BIG <ph id="2" disp="{0}"/></pc> WORLD.</target>',
    )


def test_a_prefix_and_no_namespace():
    text = '<a:xliff xmlns:a="urn:oasis:names:tc:xliff:document:1.2"><a:file><a:body><a:trans-unit><a:source>Two dogs.'
    text += "</a:source></a:trans-unit></a:body></a:file></a:xliff>"
    done = text.replace("</a:source>", f"</a:source>{REVIEW.replace('<', '<a:')}TWO DOGS.</a:target>")
    assert render(read_xliff, text, upper) == done
    bare = text.replace(' xmlns:a="urn:oasis:names:tc:xliff:document:1.2"', "").replace("a:", "")
    assert document_of(read_xliff, bare).units == [Unit("Two dogs.")]


def test_segments_that_another_program_has_made():
    text = ONE.replace(
        "<source>Empty one.</source>",
        '<source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>'
        "</seg-source>",
    )
    made = render(read_xliff, text, upper)
    assert REVIEW + '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO.</mrk></target>' in made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<xliff><file>", "line 1: is not well-formed XML"),
        ("<html></html>", "has no file element"),
        ("PK\x03", "is not well-formed XML"),
        ("<file><source>" + "<g>" * 900 + "</g>" * 900 + "</source></file>", "line 1: .*deep"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><file>&a;</file>', "document type"),
    ],
)
def test_what_is_none(text, said):
    with pytest.raises(DocumentError, match=said):
        document_of(read_xliff, text)


CODES = ["<x id='1'/>", "<g id='2'>a b</g>", "<ph id='3'>c</ph>", "<g id='4'></g>", "<mrk mtype='protected'>d e</mrk>"]
PARTS = st.sampled_from(
    [*CODES, "two dogs ", "A.", " ", "\n", "\t", "&amp;", "&lt;", "é", "%s", "<![CDATA[<&]]>", "<!-- c -->", "]]&gt;"]
)
TARGETS = st.sampled_from(["", "<target/>", "<target></target>", "<target>Da.</target>", "\n  <target state='new'/>"])


@given(st.lists(st.tuples(st.lists(PARTS, max_size=9).map("".join), TARGETS), max_size=4), st.booleans())
def test_every_byte_stays_and_what_is_made_is_xml(units, is_two):
    unit = "<unit><segment>{}</segment></unit>" if is_two else "<trans-unit>{}</trans-unit>"
    body = "\n".join(unit.format(f"<source>{source}</source>{target}") for source, target in units)
    version = "2.0" if is_two else "1.2"
    text = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:{version}"><file>{body}</file></xliff>'
    keeps_every_byte(read_xliff, text.encode())
    document = document_of(read_xliff, text)
    made = document.rendered([changed(unit, lambda text: text.replace("dogs", "Hunde")) for unit in document.units])
    ElementTree.fromstring(made)
    assert made.decode().count("Hunde") == sum(shown(unit).count("dogs") for unit in document.units)


# The opening and closing codes of a pair, by its number
PAIRS = {
    "pt": ('<bpt id="{0}">&lt;b&gt;</bpt>', '<ept id="{0}">&lt;/b&gt;</ept>'),
    "rid": ('<bpt id="b{0}" rid="{0}">{{</bpt>', '<ept id="e{0}" rid="{0}">}}</ept>'),
    "x": ('<bx id="{0}"/>', '<ex id="{0}"/>'),
    "c": ('<sc id="{0}"/>', '<ec startRef="{0}"/>'),
    "m": ('<sm id="{0}"/>', '<em startRef="{0}"/>'),
    "angular": ('<x id="START_{0}" ctype="x-b"/>', '<x id="CLOSE_{0}" ctype="x-b"/>'),
    "g": ('<g id="{0}">', "</g>"),
}


@st.composite
def sentences(draw):
    """Draws (the content of a source, its pairs as (begin, end, the words between), the crossing ones)."""
    words = draw(st.integers(2, 9))
    spans, crossing, around = [], [], {at: ["", ""] for at in range(words)}
    for number in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, words - 1))
        last = draw(st.integers(first, words - 1))
        kind = draw(st.sampled_from(sorted(PAIRS)))
        begin, end = (tag.format(number) for tag in PAIRS[kind])
        if any(a < first <= b < last or first < a <= last < b for a, b, *_ in [*spans, *crossing]):
            if kind != "g":
                crossing.append((first, last, begin, end))
        else:
            spans.append((first, last, begin, end))
    for first, last, begin, end in sorted(spans + crossing, key=lambda span: span[1] - span[0]):
        around[first][0] = begin + around[first][0]
        around[last][1] += end
    text = " ".join(f"{around[at][0]}w{at}v{around[at][1]}" for at in range(words))
    return text, spans, crossing


@settings(max_examples=300)
@given(sentences())
def test_a_pair_stands_around_its_words(sentence):
    """With the words reversed, each pair is around the same words, and each code occurs once."""
    text, spans, crossing = sentence
    opening = ONE[: ONE.index("<trans-unit")] + '<trans-unit id="1"><source>'
    closing = "</source></trans-unit></body></file></xliff>"
    made = render(read_xliff, opening + text + closing, by=backwards())
    ElementTree.fromstring(made)
    target = made.partition(REVIEW)[2].partition("</target>")[0]
    assert sorted(re.findall(r"w\dv", target)) == sorted(re.findall(r"w\dv", text))
    if not crossing:
        for first, last, begin, end in spans:
            if end == "</g>":
                continue
            assert target.count(begin) == target.count(end) == 1
            inner = target[target.index(begin) : target.index(end)]
            assert sorted(re.findall(r"w\dv", inner)) == [f"w{at}v" for at in range(first, last + 1)]
    for _, _, begin, end in spans + crossing:
        assert end == "</g>" or target.index(begin) < target.index(end)


@pytest.mark.parametrize(
    "code", slow_after(1, ['<bpt id="1"/>', '<bpt id="{}"/>', '<ept id="1"/>', '<bx id="{}"/><ex id="{}"/>'])
)
def test_many_codes_take_linear_time(code):
    def content(count):
        codes = "".join(code.replace("{}", str(number)) for number in range(count))
        return (
            ONE[: ONE.index("<trans-unit")]
            + f"<trans-unit><source>Two {codes}</source></trans-unit></body></file></xliff>"
        )

    takes_linear_time(lambda text: document_of(read_xliff, text), content, 1_000)
