"""XML: the translated parts, byte equality of everything else, and refusals."""

import contextlib
import re
import time
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Pivot, Translator, XmlError
from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.document import read_document
from cpunmt.markup.pages import translate_documents
from cpunmt.markup.xml_document import read_xml
from tests.sample_models.real_model import GERMAN, SHIPPED
from tests.support.html_layers import identity, shuffled, upper
from tests.support.speeds import slow_after


def sent(text, **tags):
    """Returns the translated texts."""
    texts = []

    def noting(given, align):
        texts.extend(given)
        return identity(given, align)

    assert translate_documents([read_xml(text, tags)], noting) == [text]
    return texts


def shout(text, lines=True, **tags):
    (found,) = translate_documents([read_xml(text, tags, lines)], upper)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "A"),
        ("", ""),
        (" \n ", " \n "),
        ('<A b="c" B=\'d\'>e</A>', '<A b="c" B=\'d\'>E</A>'),
        ("<a>b<br/>c<BR/>d</a>", "<a>B<br/>C<BR/>D</a>"),
        ("<title>a &lt;b&gt; c</title>", "<title>A &lt;B&gt; C</title>"),
        ("<script>a &amp;&amp; b</script>", "<script>A &amp;&amp; B</script>"),
        ("<p>a<!-- b --> c<?d e?></p>", "<p>A<!-- b --> C<?d e?></p>"),
        ("<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'c'>]>\n<a>&b; d</a>",
         "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'c'>]>\n<a>&b; D</a>"),
        ("<a><![CDATA[b & c]]></a>", "<a><![CDATA[B & C]]></a>"),
        ("<a><![CDATA[<b>c</b>]]></a>", "<a><![CDATA[<b>c</b>]]></a>"),
        ("<a>b <![CDATA[c]]></a>", "<a>B <![CDATA[c]]></a>"),
        ("<a title='b' alt='c'>d</a>", "<a title='b' alt='c'>D</a>"),
        ("<p translate='no' lang='fr'>a</p>", "<p translate='no' lang='fr'>A</p>"),
        ("<n:a xmlns:n='b'>c</n:a>", "<n:a xmlns:n='b'>C</n:a>"),
        ("<Überschrift größe='1'>a</Überschrift>", "<Überschrift größe='1'>A</Überschrift>"),
        ("a&#160;b &quot;c&quot; &apos;", "A&#160;B &quot;C&quot; &apos;"),
        ("<a>b</a\n>", "<a>B</a\n>"),
    ],
)  # fmt: skip
def test_all_but_text_stays(text, expected):
    assert shout(text) == expected


def test_elements_beside_text_are_part_of_it():
    assert sent("<d><t>One</t><p>two <b>three</b> four</p></d>") == ["One", "two three four"]
    assert sent("<b>One</b> <i>two</i>") == ["One two"] and sent("<b>One</b>\n<i>two</i>") == ["One", "two"]
    assert sent("<p><b>One</b> <i>two</i></p>") == ["One", "two"]
    assert sent("un<u>der</u>line") == ["underline"]
    assert sent("<a>One<b>two</b></a>", b="split") == ["One", "two"]
    assert sent("<a><b>One</b><b>two</b></a>", b="inline") == ["One two"]
    assert sent("<a><b>One</b> <c>two</c></a>", **{"*": "inline", "c": "split"}) == ["One", "two"]


def test_lines():
    assert sent("One\n two <b>three</b>\nfour") == ["One", "two three", "four"]
    assert sent("<a>\n <b>One</b>\n <b>two</b>\n three\n</a>") == ["One two", "three"]
    assert shout("One\n two <b>three</b>\nfour", lines=False) == "ONE TWO <b>THREE</b> FOUR"
    assert sent("<a>\n  One\n</a>") == ["One"] and sent("<a><![CDATA[One\ntwo]]></a>") == ["One", "two"]


def test_what_is_kept():
    assert shout("<a>One <x>two</x> <x/>&y; three</a>", x="keep") == "<a>ONE <x>two</x> <x/>&y; THREE</a>"
    assert shout("<a><x>One <x>two</x></x><b>three</b></a>", x="keep") == "<a><x>One <x>two</x></x><b>THREE</b></a>"
    assert shout("<X>one</X>", x="keep") == "<X>ONE</X>"


def test_cdata_never_ends_in_itself():
    def evil(texts, align):
        return [found._replace(target="a]]><b>") for found in identity(texts, align)]

    text = "<a><![CDATA[one]]></a>"
    assert translate_documents([read_xml(text, {})], evil) == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<a>", "line 1, column 1: the element that begins here is not closed"),
        ("a\n <b></a></b>", "line 2, column 5: this end tag is not that of the element that is open"),
        ("</a>", "line 1, column 1: this end tag"),
        ("<A></a>", "this end tag is not that"),
        ("a & b", "line 1, column 3: this & begins no reference"),
        ("&#x;", "this & begins no reference"),
        ("1 < 2", "line 1, column 3: this < begins no tag"),
        ("<a b>c</a>", "the attributes of this tag are not well-formed"),
        ("<a b=c>d</a>", "the attributes of this tag"),
        ("<a b='<'>c</a>", "this < begins no tag"),
        ("<a>b</a c>", "this end tag has more than a name"),
        ("<!-- a", "this <!-- does not end; expected -->"),
        ("<a><![CDATA[b</a>", r"this <!\[CDATA\[ does not end"),
        ("<?a", "does not end"),
        ("<!a>", "this <! begins no comment"),
        ("<a", "this < begins no tag"),
        ("<1>a</1>", "this < begins no tag"),
    ],
)
def test_what_is_not_well_formed(text, said):
    with pytest.raises(XmlError, match=said):
        read_xml(text, {})


HOSTILE = [
    "<",
    "<a ",
    "<a b='",
    "<a>",
    "&",
    "&a",
    "<!--",
    "<![CDATA[",
    "<?",
    "<!DOCTYPE [",
    " ",
    "\n",
    "<a b=''",
    "a\n",
]


@pytest.mark.parametrize("part", slow_after(4, [*HOSTILE, "&a;", "<a/>", "é", "</a>"]))
def test_hostile_texts_take_linear_time(part):
    for text in (part * 100_000, f"<a>{part * 100_000}</a>"):
        begin = time.process_time()
        with contextlib.suppress(XmlError):
            read_xml(text, {})
        assert time.process_time() - begin < 5


NAMES = st.sampled_from(["a", "b", "x", "P", "br", "title", "script", "n:c"])
TEXTS = st.sampled_from([
    "One", "two dogs", " ", "\n  ", "&lt;", "&amp; ", "&#233;", "&e;", "5 %", "<!-- One -->", "<?p?>", "", "One.\nTwo",
    "<![CDATA[One & <two>]]>", "<![CDATA[a man]]>", "\u72d7",
])  # fmt: skip


def tagged(parts):
    name, attribute, content = parts
    return f"<{name}{attribute}>{content}</{name}>" if content else f"<{name}{attribute}/>"


ELEMENTS = st.recursive(
    TEXTS,
    lambda inner: st.tuples(
        NAMES, st.sampled_from(["", ' i="1"', " j='&lt;'"]), st.lists(inner, max_size=4).map("".join)
    ).map(tagged),
    max_leaves=20,
)
TEXT = st.lists(ELEMENTS, max_size=4).map("".join)
TAGS = st.dictionaries(st.one_of(NAMES, st.just("*")), st.sampled_from(["keep", "split", "inline"]), max_size=4)


def tags_of(text):
    """Counts each tag by the standard library's parser; entities and prefixes are declared."""
    head = '<!DOCTYPE r [<!ENTITY e "e">]><r xmlns:n="n">'
    return sorted((one.tag, sorted(one.attrib.items())) for one in ET.fromstring(f"{head}{text}</r>").iter())


@settings(max_examples=300)
@given(TEXT, TAGS, st.booleans())
def test_laws(text, tags, lines):
    assert translate_documents([read_xml(text, tags, lines)], identity) == [text]
    for layer in (upper, shuffled):
        (found,) = translate_documents([read_xml(text, tags, lines)], layer)
        assert tags_of(found) == tags_of(text)
        read_xml(found, tags)


@settings(max_examples=500)
@given(st.text(st.sampled_from("<>/!-?='\" ab&;#x1\n\0\u00e9[]C\ud800:"), max_size=40), TAGS)
def test_what_may_be_no_xml(text, tags):
    try:
        documents = [read_xml(text, tags)]
    except XmlError as error:
        assert re.match("line [0-9]+, column [0-9]+: (this|the) ", str(error))
        return
    assert translate_documents(documents, identity) == [text]
    (found,) = translate_documents(documents, shuffled)
    read_xml(found, tags)


@pytest.mark.slow
@settings(max_examples=5_000)
@given(TEXT, TAGS, st.booleans())
def test_many_laws(text, tags, lines):
    test_laws.hypothesis.inner_test(text, tags, lines)


def test_a_translator():
    translator = Translator(SHIPPED)
    text = "<doc>\n<title>Two dogs</title>\n<p>A man is riding <b>a bicycle</b>.</p>\n</doc>"
    found = translator.translate([text, "One man."], xml=True)
    assert (
        found[0].text == ("<doc>\n<title>Zwei Hunde</title>\n<p>Ein Mann fährt <b>Fahrrad</b>.</p>\n</doc>")
        and found[1].text == "Ein Mann."
    )
    assert "".join(translator.generate_text(text, xml=True)) == found[0].text
    assert [translator.translate(one, xml=True) for one in (text, "One man.")] == found
    pivot = Pivot([SHIPPED, GERMAN])
    assert pivot.translate("<P a='b'>One man.<x/></P>", xml=True).text == (
        f"<P a='b'>{pivot.translate('One man.').text}<x/></P>"
    )
    kept = translator.translate("<p>A man is riding <b>a bicycle</b>.</p>", html=True, tags={"B": "keep", "br": "keep"})
    assert "<b>a bicycle</b>" in kept.text
    with pytest.raises(XmlError, match="^xml is True, and '1 < 2' is not well-formed: line 1, column 3: "):
        translator.translate(["a", "1 < 2"], xml=True)
    for wrong in ({"xml": True, "html": True}, {"tags": "a=keep"}, {"xml": True, "tags": "a=b"},
                  {"xml": True, "tags": {"a b": "keep"}}, {"xml": True, "target_prefix": "Ein"}):  # fmt: skip
        with pytest.raises(ValueError, match=r"tags|html is True|target_prefix"):
            translator.translate(text, **wrong)
    with pytest.raises(TypeError, match="^tags is 5, expected a mapping"):
        translator.translate(text, xml=True, tags=5)


def test_a_link_of_xml_is_no_link():
    """An element named `a` becomes empty without its words, like any other."""

    def without_en(texts, align):
        sources = [(0, 3), (3, 8), (8, 9), (9, 12)]
        return [Aligned(text, "Hunde:", sources, [(0, 5), (5, 6)], [(1, 0), (2, 1)]) for text in texts]

    text = "<b>the dogs:</b> <a>en</a>"
    assert translate_documents([read_xml(text, {})], without_en) == ["<b>Hunde:</b><a></a>"]
    (kept,) = translate_documents([read_document(text)], without_en)
    assert kept == "<b>Hunde:</b> <a>en</a>"
