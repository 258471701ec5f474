"""Files of each kind become texts."""

import pytest

from models.train.collection import reading

PAGE = b"""---
title: Dogs
---
# <a name="dogs"></a>Two *dogs*

Call `run()` with [a link](x.md), or use [!UICONTROL Save As].

See {{ domxref("Window.name", "the name") }}, {{cssxref("margin")}} and {{Glossary("CSS")}}.

```
code
```

* One
* Two
"""


def test_markdown():
    assert list(reading.markdown(PAGE).values()) == [
        "Two dogs",
        "Call `run()` with a link, or use Save As.",
        "See `the name`, `margin` and CSS.",
        "One",
        "Two",
    ]


def test_docbook():
    page = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>
    <refentry xmlns="http://docbook.org/ns/docbook"><refname>run</refname>&reftitle.x;
    <para>Call <function>run</function> with
      <parameter>n</parameter> of <emphasis>type</emphasis> <type>int</type> &gt; 0.<note>
      <simpara>Note.</simpara></note> End.</para>
    <programlisting>code</programlisting></refentry>"""
    assert list(reading.docbook(page).values()) == [
        "Call `run()` with `n` of type int > 0.",
        "Note.",
        "End.",
    ]
    assert reading.docbook(b"<a>") == {}


def test_po():
    content = b"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

msgctxt "x"
msgid "<b>Open</b> a "
"file"
msgstr "Datei \xc3\xb6ffnen"

#, fuzzy
msgid "Dog"
msgstr "Katze"

msgid "Cat"
msgstr ""
"""
    assert reading.po(content) == {("x", "<b>Open</b> a file"): ("Open a file", "Datei öffnen")}


def test_fluent():
    content = b"""
# comment
dogs = Two { $kind } dogs
    .title = A <b>title</b>
cats = { $n ->
    [one] A cat
   *[other] Cats
}
-name = Fox
"""
    assert reading.fluent(content) == {
        ("dogs", ""): "Two { $kind } dogs",
        ("dogs", "title"): "A title",
        ("name", ""): "Fox",
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a=One dog\n# b=x\nc : Two  dogs \r\n", {"a": "One dog", "c": "Two dogs"}),
        (b"a=One\\u0020dog\nb=\n", {"b": ""}),
    ],
)
def test_properties(content, expected):
    assert reading.properties(content) == expected


def test_every_character_is_read():
    for read in (*reading.PAGES.values(), *reading.MESSAGES.values()):
        assert read(b"") == {}
        read(b"\xff\x00\r\n" * 3)
