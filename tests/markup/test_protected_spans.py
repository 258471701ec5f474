"""HTML and protected spans together: a tag around what is protected is around it in the translation."""

import itertools
import re

import pytest

from cpunmt import Translator
from cpunmt.markup.html_elements import READ
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import Parsed, unread

THINGS = {
    "a page": "https://example.com/a",
    "a page with a reference": "https://example.com/a?b=1&amp;c=2",
    "mail": "joe@example.com",
    "a placeholder": "{name}",
    "two braces": "{{ name }}",
    "printf": "%1$s",
    "a name in printf": "%(name)s",
    "a plural": "{n, plural, one {# dog} other {# dogs}}",
    "emoji": "🐶",
    "code": "`a b`",
}
TAGS = ["<b>{}</b>", '<a href="x">{}</a>', '<a href="x"><i>{}</i></a>']
SENTENCES = [
    "See {} for more. It is good.",
    "It is good. See {} for more.",
    "A man is here. A man sees {} in the garden. A dog runs.",
    "{} is good. A man is here.",
    "A man is here.\n\nIt is {}. A dog runs! Is it good?",
]


@pytest.fixture(scope="module")
def translate():
    translator = Translator(ROOT / "models" / "ende-tiny")

    def translate(html):
        found = translator.translate(html, html=True, protect="all").text
        before, after = Parsed(html), Parsed(found)
        assert unread(after.found, READ) == unread(before.found, READ)
        assert after.nests == before.nests
        return found

    return translate


@pytest.mark.parametrize("thing", THINGS)
def test_a_tag_around_a_protected_span(translate, thing):
    for text, tag in itertools.product(SENTENCES, TAGS):
        marked = tag.format(THINGS[thing])
        found = translate(f"<p>{text.replace('{}', marked)}</p>")
        assert found.count(marked) == 1, found
        assert found.count(THINGS[thing]) == 1, found


def test_tags_around_several_in_several_sentences(translate):
    """Each tag has its own, in the order of the source or not."""
    pages = [f'<a href="{number}">https://example.com/{number}</a>' for number in range(4)]
    found = translate(f"<p>A man sees {pages[0]} and {pages[1]}. Two dogs see {pages[2]}! Is it {pages[3]}?</p>")
    assert all(found.count(page) == 1 for page in pages), found


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>A man <b>sees https://example.com/a</b> in the garden. It is good.</p>", "https://example.com/a"),
        ("<p>It is good. A man sees <b>the dog {name}</b> in the garden.</p>", "{name}"),
        ("<p>A man <b>is here. He sees https://example.com/a</b> in the garden.</p>", "https://example.com/a"),
        ("<p>A man is <b>here. joe@example.com is good.</b> A dog runs.</p>", "joe@example.com"),
        ("<p>A man sees <b>%s. It is</b> good.</p>", "%s"),
        ("<p>A dog <b>runs 🐶. A man sees {name}. Two</b> dogs are here.</p>", "🐶"),
    ],
)
def test_an_element_with_a_protected_span_and_words(translate, html, expected):
    """Also one that begins in one sentence and ends in another."""
    (inside,) = re.findall("<b>(.*)</b>", translate(html))
    assert inside.count(expected) == 1 and re.sub(re.escape(expected), "", inside).strip(" ."), inside


def test_what_is_outside_stays_outside(translate):
    found = translate("<p>A <b>man</b> sees https://example.com/a. Two <i>dogs</i> see {name} in the garden.</p>")
    assert re.sub("<(b|i)>.*?</\\1>", "", found).count("https://example.com/a") == 1
    assert re.sub("<(b|i)>.*?</\\1>", "", found).count("{name}") == 1


def test_what_html_holds_and_what_is_protected(translate):
    """Stand-ins of both kinds, none of which is taken for the other."""
    html = "<p>Use <code>f({x})</code> and <b>{1}</b>, not <kbd>{1}</kbd>. See https://example.com/a.</p>"
    found = translate(html)
    for kept in ("<code>f({x})</code>", "<b>{1}</b>", "<kbd>{1}</kbd>", "https://example.com/a"):
        assert found.count(kept) == 1, found


def test_in_attributes(translate):
    found = translate(
        '<p><a href="x" title="A man sees https://example.com/a. A dog runs.">A man</a>.</p>'.replace(".<", "<")
    )
    assert re.search('title="[^"]*https://example.com/a[^"]*"', found)
    assert "A man sees" not in found
