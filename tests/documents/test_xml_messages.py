"""Texts of programs in XML: Android, .NET, Qt."""

import contextlib
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.xml_messages import read_android, read_qt, read_resx
from cpunmt.documents.xml_nodes import first_element
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, shown, upper
from tests.support.linear_time import takes_linear_time

ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- Two dogs -->
    <string name="a" translatable="false">Two dogs</string>
    <string name="b">Don\\'t  feed
        %1$s &amp; <b>two</b> dogs</string>
    <string name="c">@string/b</string>
    <string name="d">" two  \\"dogs\\" "</string>
    <string name="e"><![CDATA[A <b>man</b> & a dog]]></string>
    <string name="f">By <xliff:g id="name" example="Max">%s</xliff:g> at&#160;home</string>
    <integer name="g">12</integer>
    <plurals name="h"><item quantity="one">%d dog</item><item quantity="other">%d dogs</item></plurals>
    <string-array name="i" translatable="false"><item>cat</item></string-array>
    <string-array name="j"><item>cat\\ndogs</item><item>12</item><item>See &lt;b&gt;this&lt;/b&gt;</item></string-array>
    <string name="k"/>
</resources>
"""
MADE = (
    ANDROID.replace("Don\\'t  feed\n        %1$s &amp; <b>two</b> dogs", "DON\\'T FEED %1$s &amp; <b>TWO</b> DOGS")
    .replace('" two  \\"dogs\\" "', '" TWO  \\"DOGS\\" "')
    .replace("A <b>man</b> & a dog", "A <b>MAN</b> & A DOG")
    .replace("By <x", "BY <x")
    .replace(" at&#160;home", " AT\xa0HOME")
    .replace("%d dog<", "%d DOG<")
    .replace("%d dogs", "%d DOGS")
    .replace("<item>cat\\ndogs", "<item>CAT\\nDOGS")
    .replace("See &lt;b&gt;this", "SEE &lt;b&gt;THIS")
)
RESX = """<?xml version="1.0"?>
<root>
  <resheader name="version"><value>two dogs</value></resheader>
  <data name="a" xml:space="preserve"><value>Two {0} &amp; dogs</value><comment>cats</comment></data>
  <data name="b" type="System.Drawing.Bitmap"><value>dogs</value></data>
  <data name="c" mimetype="a/b"><value>dogs</value></data>
  <data name="&gt;&gt;d.Name"><value>dogs</value></data>
  <data name="e"><value>&amp;Open</value></data>
  <data name="f"><value/></data>
  <data name="g"/>
</root>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en"><context><name>Two dogs</name>
    <message><source>&amp;Two %1 dogs</source><translation type="unfinished"></translation></message>
    <message numerus="yes"><source>%n dog(s)</source><translation type="unfinished">
        <numerusform></numerusform><numerusform/></translation></message>
    <message><source>cat</source><translation>Katze</translation></message>
    <message><source>cat</source><translation type="obsolete"/></message>
    <message><source>cat</source><translation type="unfinished">Kat</translation></message>
    <message><source>A man</source></message>
    <message><source>A woman</source><translation type="unfinished"/></message>
</context></TS>
"""
QT_MADE = (
    QT.replace('</source><translation type="unfinished"></', '</source><translation type="unfinished">TWO %1 DOGS</')
    .replace("<numerusform></numerusform><numerusform/>", "<numerusform>%n DOG(S)</numerusform>" * 2)
    .replace("<source>A man</source>", '<source>A man</source><translation type="unfinished">A MAN</translation>')
    .replace(
        'woman</source><translation type="unfinished"/',
        'woman</source><translation type="unfinished">A WOMAN</translation',
    )
)


@pytest.mark.parametrize(
    ("read", "text", "made"),
    [
        (read_android, ANDROID, MADE),
        (read_resx, RESX, RESX.replace("Two {0} &amp; dogs", "TWO {0} &amp; DOGS").replace("&amp;Open", "OPEN")),
        (read_qt, QT, QT_MADE),
    ],
)
def test_a_file(read, text, made):
    keeps_every_byte(read, text.encode())
    assert render(read, text, upper) == made
    ElementTree.fromstring(made)


def string(content):
    return f'<resources><string name="a">{content}</string></resources>'


def test_what_a_text_of_android_means():
    texts = [
        shown(unit) for unit in document_of(read_android, string("It\\u0027s \\@home,  &#233;&quot;\\t\n a")).units
    ]
    assert texts == ["It's @home, é", "a"]


@pytest.mark.parametrize(
    ("content", "translation", "made"),
    [
        ("a", "b'c", "b\\'c"),
        ("a", '"b" \\ <c> & d', '\\"b\\" \\\\ &lt;c&gt; &amp; d'),
        ("a", "@b", "\\@b"),
        ("a", "?", "\\?"),
        ('"a"', "@b 'c'", "\"@b \\'c\\'\""),
        ("<![CDATA[a]]>", "b & 'c'", "<![CDATA[b & \\'c\\']]>"),
    ],
)
def test_how_a_text_of_android_is_written(content, translation, made):
    document = document_of(read_android, string(content))
    assert document.rendered([translation]).decode() == string(made)


@pytest.mark.parametrize(
    ("content", "made"),
    [
        ('<a href="http://x?a=1&amp;b=2" title="&#60;&quot;">cat</a>', "only cat"),
        ("\\u003cb\\u003ecat &#60;br&#62;", "\\u003cB\\u003eCAT &#60;BR&gt;"),
        (r"&lt;a href=\"http://x?a=1&amp;b=2\"&gt;dog&lt;/a&gt;", "only dog"),
        ("<g>it\\'s</g> dog&amp;nbsp;&lt;br/&gt;", "only dog"),
        ("Hello <![CDATA[a & <b>dog</b>]]> dog", "same"),
        ("dog <!-- c --> cat", "same"),
        ("\\u0020 dog\\u0020\\u0020", "\\u0020 DOG\\u0020\\u0020"),
        ("\\ud83d\\ude00 dog", "\U0001f600 DOG"),
        ("dog\xa0 cat", "DOG\xa0 CAT"),
        ('dog &quot;two&quot; "cats"', "DOG TWO CATS"),
        ("50% of dogs, 20% discount", "50% OF DOGS, 20% DISCOUNT"),
        ("%1$s and %d of %.2f", "%1$s AND %d OF %.2f"),
        ("@*android:string/ok", "same"),
        ("?attr/dog", "same"),
        ("@null", "same"),
        ("@username", "\\@USERNAME"),
    ],
)
def test_texts_of_android(content, made):
    """`made`: "same" as the content, or but for "only" a word."""
    if made.startswith("only"):
        made = content.replace(made[5:], made[5:].upper())
    made = content if made == "same" else made
    found = render(read_android, string(content), upper)
    assert found == string(made)
    ElementTree.fromstring(found)


def test_cdata_ends_where_it_did():
    document = document_of(read_android, string("<![CDATA[dog]]>"))
    found = document.rendered(["a ]]> b & c \x01"]).decode()
    assert ElementTree.fromstring(found)[0].text == "a ]]> b & c \ufffd"


def test_items_with_the_type_of_a_string_are_texts_of_android():
    text = '<resources><item type="string" name="a">dog</item><item type="id" name="b">dog</item></resources>'
    assert render(read_android, text, upper) == text.replace(">dog", ">DOG", 1)


def test_in_the_resources_of_a_form_only_what_people_read_is_translated():
    data = '<data name="{}"><value>dog</value></data>'
    names = ("$this.Text", "a.ImeMode", "b.ToolTip", "c.Items1", "d")
    text = "<root>" + "".join(map(data.format, (*names, "&gt;&gt;d.Name"))) + "</root>"
    assert re.findall("(?i)dog", render(read_resx, text, upper)) == ["DOG", "dog", "DOG", "DOG", "DOG", "dog"]
    typed = '<root><data name="a.b" type="System.String, mscorlib"><value>dog</value></data></root>'
    assert render(read_resx, typed, upper) == typed.replace("dog", "DOG")


def test_new_translations_of_qt_are_unfinished():
    message = "<TS><message{}><source>dog</source>{}</message></TS>"
    new = '<translation type="unfinished">{}</translation>'
    for counted in ("", ' numerus="yes"'):
        inner = "<numerusform>DOG</numerusform>" if counted else "DOG"
        for old in ("", "<translation></translation>", "<translation/>", new.format("")):
            assert render(read_qt, message.format(counted, old), upper) == message.format(counted, new.format(inner))
    forms = "<numerusform></numerusform>" * 2
    old = message.format(' numerus="yes"', f"<translation>{forms}</translation>")
    made = message.format(' numerus="yes"', new.format("<numerusform>DOG</numerusform>" * 2))
    assert render(read_qt, old, upper) == made


@pytest.mark.parametrize(
    ("beginning", "name"),
    [
        (b"<TS>", "TS"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- <a> - -->\n<!DOCTYPE TS>\n<TS a="b">', "TS"),
        ("\ufeff<x:resources/>".encode("utf-16-le"), "resources"),
        (b"export function f<TS >() {}", ""),
        (b"<project><build><resources>", "project"),
        (b" " * 9999, ""),
        (b"<!--" * 9999, ""),
    ],
)
def test_the_first_element(beginning, name):
    assert first_element(beginning) == name


@given(st.text(st.sampled_from(list("ab \n\\'\"@?&<>é1\t%")), max_size=30))
def test_a_text_is_read_as_it_was_written(text):
    """Whatever a translation has, the file has it, and stays well-formed."""
    written = document_of(read_android, string("word")).rendered([f"a{text}b"]).decode()
    ElementTree.fromstring(written)
    document = document_of(read_android, written)
    (value,) = document.values
    found = value.messages[0].text.replace("&lt;", "<").replace("&gt;", ">")  # where they look like tags
    assert found == re.sub(r" +", " ", f"a{text}b")  # more spaces have no meaning there


@pytest.mark.parametrize("read", [read_android, read_resx, read_qt])
def test_other_xml_is_refused(read):
    with pytest.raises(CpunmtError, match=r"has no .* an element (resources|root|TS); for other XML use"):
        document_of(read, "<a>Two dogs</a>")
    with pytest.raises(CpunmtError, match="line 2: is not well-formed XML"):
        document_of(read, "<resources>\n<a></resources>")


@pytest.mark.parametrize("part", ["\\", "&amp;", '"', "<![CDATA[", "<g>", "%1$", "@", " ", "&", "]"])
def test_time_is_linear(part):
    def read(text):
        with contextlib.suppress(CpunmtError):
            document_of(read_android, string(text))

    takes_linear_time(read, lambda count: part * (count // len(part)) + "word", 5_000)
