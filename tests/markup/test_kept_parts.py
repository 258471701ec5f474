"""Kept parts, with tags around each, around parts of each and around words: each stays in its own element."""

import itertools
import random
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.markup.html_elements import READ, VOID_ELEMENTS
from cpunmt.markup.pages import translate_html
from cpunmt.sentence_layers.protection.finding import Finder
from cpunmt.sentence_layers.protection.layer import protection_layer
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import Parsed, shuffled, unread

SAID = "a man sees two dogs in the garden . they run , near his red house ! is it good ? children play"
WORDS = SAID.split()
NAMES = ["b", "i", "a", "u", "span", "em"]


class Paths(HTMLParser):
    """The characters of a page, with the ids of the elements around each."""

    def __init__(self, html):
        super().__init__()
        self.text, self.paths, self.open, self.ids = "", [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.ids.append(dict(attributes).get("id"))
        if tag not in VOID_ELEMENTS:
            self.open.append(self.ids[-1])

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        self.text += data
        self.paths += [tuple(self.open)] * len(data)

    def of(self, part):
        """Returns the paths of the characters of a part that occurs once."""
        assert self.text.count(part) == 1, (part, self.text)
        begin = self.text.index(part)
        return self.paths[begin : begin + len(part)]


def tokens(chance):
    """Yields kept tokens that do not contain each other."""
    number = 99
    while True:
        number += chance.randint(1, 9)
        yield chance.choice(
            [
                f"http://example.org/{number}x",
                f"https://www.example.org/a?b={number}&c=d",
                f"@ann{number}z",
                f"#dogs{number}z",
                f"{{name{number}z}}",
                f"%(n{number}z)s",
                f"joe{number}z@example.org",
                f"/usr/lib/{number}z",
                f"`f({number}z)`",
                f"www.example.org/{number}z",
            ]
        )


def page(seed):
    """Returns a page and the tokens in it, as a reader sees them."""
    chance = random.Random(seed)
    source = tokens(chance)
    found, ids = [], iter(range(1_000_000))

    def tagged(inner, most=2):
        for _ in range(chance.choice([0, 1, 1, 1, most])):
            name = chance.choice(NAMES)
            inner = f'<{name} id="{next(ids)}">{inner}</{name}>'
        return inner

    def token():
        one = next(source)
        found.append(one)
        parts = [one]
        if chance.random() < 0.3:
            cuts = sorted(chance.sample(range(one.find("://") + 3 if "://" in one else 1, len(one)), 2))
            parts = [one[: cuts[0]], one[cuts[0] : cuts[1]], one[cuts[1] :]]
        parts = [part.replace("&", "&amp;") for part in parts]
        if len(parts) > 1 and one.startswith("http"):  # as Mastodon has its links
            spans = [f'<span id="{next(ids)}">{part}</span>' for part in parts]
            return f'<a id="{next(ids)}">{"".join(spans)}</a>'
        if len(parts) > 1:
            parts[1] = tagged(parts[1])
        return tagged("".join(parts))

    def run(words_within):
        between = chance.choice([" ", " ", " ", "\n", ", ", " - ", "<wbr> "])
        inner = between.join(token() for _ in range(chance.choice([1, 2, 2, 3, 5])))
        if words_within and chance.random() < 0.5:
            inner = f"{words(1, 3)} {inner}" if chance.random() < 0.5 else f"{inner} {words(1, 3)}"
        return tagged(inner, 1)

    def words(low, high):
        return " ".join(
            tagged(word, 1) if word.isalpha() and chance.random() < 0.15 else word
            for word in chance.choices(WORDS, k=chance.randint(low, high))
        )

    mixed = chance.random() < 0.5
    parts = []
    for _ in range(chance.randint(1, 3)):
        parts += [words(0, 6), run(mixed)]
    parts.append(words(0, 6))
    return f"<p>{' '.join(filter(None, parts))}</p>", found


def check(html, kept, result):
    """Asserts that each token and each element occurs once, with each character in the same elements."""
    before, after = Paths(html), Paths(result)
    assert sorted(map(str, after.ids)) == sorted(map(str, before.ids)), (html, result)
    for token in kept:
        assert after.of(token) == before.of(token), (token, html, result)


MANY = 10_000


@pytest.fixture(scope="module")
def translator():
    return Translator(ROOT / "models" / "ende-tiny")


@settings(max_examples=4_000)
@given(st.integers(0, 2**32))
def test_whatever_the_model_says(seed):
    html, kept = page(seed)
    check(html, kept, translate_html([html], protection_layer(shuffled, Finder()))[0])


@pytest.mark.parametrize("count", [60, pytest.param(MANY, marks=pytest.mark.slow)])
def test_of_a_real_model(translator, count):
    pages = [page(seed) for seed in range(count)]
    results = translator.translate([html for html, _ in pages], html=True)
    for (html, kept), result in zip(pages, results, strict=True):
        check(html, kept, result.text)


MASTODON = (
    '<a id="u" href="https://example.org/this/is/long"><span id="1" class="invisible">https://</span>'
    '<span id="2" class="ellipsis">example.org/this/is/lo</span><span id="3" class="invisible">ng</span></a>'
)


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ('See <a id="1">http://a.example/x</a> <a id="2">http://b.example/y</a> now.',
         ["http://a.example/x", "http://b.example/y"]),
        ('Two dogs <a id="1">@ann</a> <a id="2">@bob</a> run.', ["@ann", "@bob"]),
        ('A <a id="1">#one</a> <a id="2">#two</a> <a id="3">#three</a> dog.', ["#one", "#two", "#three"]),
        ('Ask <b id="1">{name}</b> <i id="2">%s</i> now.', ["{name}", "%s"]),
        (f"<p>A dog runs. {MASTODON}</p>", ["https://example.org/this/is/long"]),
        (f'<p>See {MASTODON} and <a id="t">#<span id="4">dogs</span></a></p>',
         ["https://example.org/this/is/long", "#dogs"]),
        ('A dog <a id="1">#one</a><a id="2">#two</a> runs.', ["#one", "#two"]),
        ('<a id="1">\U0001f436</a> <a id="2">\U0001f431</a>. <b id="3">A man</b> is here.',
         ["\U0001f436", "\U0001f431"]),
        ('Run <b id="1"><code>f(1)</code></b> <i id="2"><code>f(2)</code></i> now.', ["f(1)", "f(2)"]),
    ],
)  # fmt: skip
def test_the_links_of_posts(translator, html, kept):
    check(html, kept, translator.translate(html, html=True).text)


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
    """Each tag keeps its own part, in the order of the source or not."""
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
    """Also covers an element that begins in one sentence and ends in another."""
    (inside,) = re.findall("<b>(.*)</b>", translate(html))
    assert inside.count(expected) == 1 and re.sub(re.escape(expected), "", inside).strip(" ."), inside


def test_what_is_outside_stays_outside(translate):
    found = translate("<p>A <b>man</b> sees https://example.com/a. Two <i>dogs</i> see {name} in the garden.</p>")
    assert re.sub("<(b|i)>.*?</\\1>", "", found).count("https://example.com/a") == 1
    assert re.sub("<(b|i)>.*?</\\1>", "", found).count("{name}") == 1


def test_what_html_holds_and_what_is_protected(translate):
    """Stand-ins of both kinds are not confused."""
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
