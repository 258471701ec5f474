"""Texts of programs: placeholders and tags stay, each once, and in an order that counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.json_text import read_json
from cpunmt.documents.formats.placeholders import BRACES, PERCENT, Message
from cpunmt.documents.translate import translated
from cpunmt.text.signs import has_letters
from tests.documents.laws import changed, document_of, echo, keeps_every_byte, shown, upper, words
from tests.documents.test_json import ANY
from tests.support.linear_time import takes_linear_time

KEPT = [
    *("{name}", "{0}", "{}", "{{count}}", "${user}", "#{n}", "%s", "%1$s", "%(n)d", "%{who}", "%<n>d", "%-5.2f", "%%"),
    *("5%%", "$t(a.b)", "&nbsp;", "<br>", "<x/>", "<file>", "</b>", "@:a.b", "{n, number}"),
]


def change(message, change=upper):
    units = message.units
    return message.translated(translated(units, echo(change), {}, lambda count: None))


@pytest.mark.parametrize("kept", KEPT)
def test_what_stays(kept):
    assert change(Message(f"ab {kept} cd")) == f"AB {kept} CD"
    assert change(Message(f"ab\n\n  {kept} cd\t")) == f"AB\n\n  {kept} CD\t"


def test_tags_stand_around_words():
    message = Message('Click <a href="%s">here {name}</a> or <b>there</b>.')
    assert shown(message.units[0]) == 'Click <g n="1">here <k n="2"/></g> or <g n="3">there</g>.'
    assert change(message) == 'CLICK <a href="%s">HERE {name}</a> OR <b>THERE</b>.'


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("a  b\nc\t\td", ["a  b\nc", "d"]),
        ("a {x}  b\nc", ['a <k n="1"/>', "b", "c"]),
        ("<b>a  b</b>  c <i>d</i>\ne", ['<g n="1">a  b</g>', 'c <g n="2">d</g>', "e"]),
        ("a<br>b  c", ['a<x n="1"/>b', "c"]),
    ],
)
def test_where_a_text_is_divided(text, units):
    assert [shown(unit) for unit in Message(text).units] == units


def test_a_text_stays_if_its_translation_lacks_a_placeholder():
    document = document_of(read_json, '["a {x} b", "c"]')
    assert document.rendered(["A", "C"]).decode() == '["a {x} b", "C"]'


@pytest.mark.parametrize(
    "text", ["", " ", "12", "%s", "{name}: %d", "{n, plural, one {# dog} other {# dogs}}", "<b></b>"]
)
def test_what_has_no_unit(text):
    assert Message(text).units == [] and Message(text).translated([]) == text


def test_what_is_known_is_kept_whole():
    assert change(Message("5 % dogs", PERCENT)) == "5 % dOGS"
    assert change(Message("a {user name} b", BRACES)) == "A {user name} B"
    assert change(Message("%<PRIu64> dogs", PERCENT)) == "%<PRIu64> DOGS"


@pytest.mark.parametrize(
    ("text", "translation", "plain", "numbered"),
    [
        ("%s of %d", '<k n="2"/> von <k n="1"/>', None, "%2$d von %1$s"),
        ("%s of %s", '<k n="2"/> von <k n="1"/>', None, "%2$s von %1$s"),
        ("%s of %*d", '<k n="2"/> von <k n="1"/>', None, None),
        ("{} of {}", '<k n="2"/> von <k n="1"/>', None, None),
        ("{} of {x}", '<k n="2"/> von <k n="1"/>', "{x} von {}", "{x} von {}"),
        ("%1$s of %2$s", '<k n="2"/> von <k n="1"/>', "%2$s von %1$s", "%2$s von %1$s"),
        ("%s of %%", '<k n="2"/> von <k n="1"/>', "%% von %s", "%% von %s"),
        ("%s of %d", '<k n="1"/> von', None, None),
    ],
)
def test_an_order_that_counts(text, translation, plain, numbered):
    assert Message(text, PERCENT).translated([words(translation)]) == plain
    assert Message(text, PERCENT, True).translated([words(translation)]) == numbered


SIGNS = [" ", "\n", "\t", "  ", "a", "b c", "<b>", "<", "&", ">", "{", "%", "\x01", "é"]
TEXTS = st.lists(st.sampled_from([*KEPT, *SIGNS]) | ANY.map(lambda text: text[:3]), max_size=12).map("".join)


@given(TEXTS)
def test_a_text_comes_back(text):
    message = Message(text)
    assert message.translated([unit.words for unit in message.units]) == text
    assert bool(message.units) <= has_letters(text)
    content = json.dumps([text], ensure_ascii=False).encode("utf-8", "replace")
    keeps_every_byte(read_json, content)


@given(st.lists(st.sampled_from(KEPT), max_size=8), st.sampled_from(["\n", " ", "\t", "  "]))
def test_each_placeholder_is_there_once(kept, between):
    text = between.join(f"word {one}" for one in kept)
    assert change(Message(text)) == between.join(f"WORD {one}" for one in kept)


@given(st.lists(st.sampled_from([*KEPT, "<b>", "<i>", "</i>"]), max_size=8))
def test_each_tag_is_there_once(kept):
    """Ignores white space within tags."""
    made = change(Message(" ".join(f"word {one}" for one in kept)))
    assert "".join(made.split()) == "".join("".join(f"WORD {one}" for one in kept).split())


@pytest.mark.parametrize(
    "part",
    [
        *("{", "}", "{a", "{a, plural", "{a, number ", "%", "%(", "<", "<a ", "<a>", "</a>", "&", "$t(", "a ", "\n"),
        "{x} \n",
    ],
)
def test_time_is_linear(part):
    def use(text):
        message = Message(text, PERCENT)
        message.translated([changed(unit, lambda text: text + " b") for unit in message.units])

    takes_linear_time(use, lambda count: part * (count // len(part)) + "word", 5_000)
