"""The laws of HTML: for any document and translation, a parser finds the same structure, apart from texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.markup.html_elements import READ
from cpunmt.markup.pages import translate_html
from tests.support.html_layers import Parsed, identity, shuffled, unread, upper

WORDS = [
    *("one", "Two", "three,", "AT&T", "&amp;", "&lt;b&gt;", "&nbsp;", "caf&eacute;", "été", "狗", "4 < 5"),
    *("\u0939\u093f", "{1}", "."),
]
SPACES = ["", " ", "  ", "\n", "\n\n  ", "\t"]
VOID = [
    *("<br>", "<img src=a.png alt='a dog'>", "<wbr>", "<!-- <b> a comment -->", "<input type=submit value='Go on'>"),
    "<hr/>",
]
LEFT = ["<script>if (a < b) '<b>'</script>", "<style>b {c: d}</style>", "<code>f(<b>x</b>)</code>"]
BLOCKS = ["p", "div", "li", "h1", "td", "blockquote", "pre", "option", "button", "svg"]
INLINE = ["b", "i", "a", "span", "u", "sup", "my-word", "B"]
ATTRIBUTES = [
    *("", "", "", " id=1", ' class="x y"', " title='a > b'", ' title="Two &amp; &quot;three&quot;"', " translate=no"),
    ' lang="fr"',
]

words = st.tuples(st.sampled_from(SPACES), st.sampled_from(WORDS), st.sampled_from(SPACES)).map("".join)


def element(names):
    def make(inner):
        def tagged(parts):
            name, attributes, content = parts
            return f"<{name}{attributes}>{''.join(content)}</{name}>"

        content = st.lists(st.one_of(words, inner), max_size=4)
        return st.tuples(st.sampled_from(names), st.sampled_from(ATTRIBUTES), content).map(tagged)

    return make


inline = st.recursive(st.one_of(words, st.sampled_from(VOID + LEFT)), element(INLINE), max_leaves=8)
documents = st.lists(
    st.recursive(inline, element([*BLOCKS, *INLINE]), max_leaves=16) | element(BLOCKS)(inline), max_size=4
).map("".join)
fragments = st.lists(
    st.one_of(
        words,
        st.sampled_from([*VOID, *LEFT, *[f"<{n}>" for n in BLOCKS + INLINE], *[f"</{n}>" for n in BLOCKS + INLINE]]),
    ),
    max_size=12,
).map("".join)
broken = st.text(st.sampled_from("<>/!-?='\" abpi&;#x1\n\0é狗\ud800\u202e"), max_size=60)


def hold(html):
    """Checks the laws of one document."""
    assert translate_html([html], identity, "en") == [html]
    before = Parsed(html)
    for layer in (upper, shuffled):
        (result,) = translate_html([html], layer, "en")
        after = Parsed(result)
        assert unread(after.found, READ) == unread(before.found, READ), (html, result)
        if before.nests:
            assert after.nests, (html, result)


@given(documents)
@settings(max_examples=4_000)
def test_documents(html):
    hold(html)


@given(fragments)
@settings(max_examples=4_000)
def test_tags_that_do_not_nest(html):
    """Every tag of the source, well formed or not, occurs in the translation."""
    hold(html)


@given(broken)
@settings(max_examples=10_000)
def test_what_is_no_html(text):
    assert translate_html([text], identity) == [text]
    for layer in (upper, shuffled):
        translate_html([text], layer)


@given(st.lists(documents, max_size=5))
@settings(max_examples=50)
def test_a_result_does_not_depend_on_its_neighbours(texts):
    alone = [translate_html([text], shuffled, "en")[0] for text in texts]
    assert translate_html(texts, shuffled, "en") == alone
    assert translate_html(texts[::-1], shuffled, "en") == alone[::-1]
