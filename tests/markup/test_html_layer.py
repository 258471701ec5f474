"""HTML: the translated parts of a page, the parts that stay, and the number of calls of the layer below."""

import pytest

from cpunmt.markup import pages
from cpunmt.markup.document import read_document
from cpunmt.markup.pages import translate_html
from cpunmt.results.results import Hypothesis, Result
from tests.support.html_layers import identity, in_place, upper


def shout(html, language=None):
    (result,) = translate_html([html], upper, language)
    assert translate_html([html], identity, language) == [html]
    return result


def sent(html, language=None):
    texts = []
    translate_html([html], lambda given, align: (texts.extend(given), identity(given, align))[1], language)
    return texts


@pytest.mark.parametrize(
    "html",
    [
        *("<p translate=no>a <b>c</b></p>", '<div class="x NoTranslate">a<div>b</div>c</div>'),
        *("<p contenteditable>a</p>", "<span translate='no'>a</span>", '<p lang="fr">un</p>'),
        *('<p LANG="FR-ca">un</p>', "<style>a</style>", "<script>a</script>", "<textarea>a</textarea>"),
        *("<template><p>a</p></template>", "<object><p>a</p></object>", "<iframe>a</iframe>"),
        *("<noscript><p>a</p></noscript>", "<kbd>a</kbd>", "<tt>a</tt>", "<a href=x download='two dogs.zip'></a>"),
        *("<% if a %>", "<%= a %> <%- a %> <?= a ?>", "<svg><style/><script/><metadata/></svg>"),
        *("<pre><code>a\nb</code></pre>", "<ul><li translate=no>a</ul>", "<input type=submit value=a>"),
        *("<input value=a>", "<meta name=author content=a>", "<meta property='og:title' content=a>"),
        *("<p data-title=a class=a id=a href=a></p>", "<p title='a' translate=no></p>"),
        *("<p>1,234.5 &mdash; (&nbsp;) {1}</p>", "<!-- a --><?a ?>"),
    ],
)
def test_left_as_it_is(html):
    assert shout(html, "en") == html
    assert shout(f"{html}<p>a</p>", "en") == f"{html}<p>A</p>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p lang="en-GB">a</p>', '<p lang="en-GB">A</p>'),
        ('<html lang="fr"><body lang=fr>a', '<html lang="fr"><body lang=fr>A'),
        ("<p class=translate translate=yes>a</p>", "<p class=translate translate=yes>A</p>"),
        ("<title>a &amp; <b></title>", "<title>A &amp; &lt;B&gt;</title>"),
        ("<p translate=no>a<p>b", "<p translate=no>a<p>B"),
        ("<ul><li translate=no>a<ul><li>b</ul>c<li>d</ul>", "<ul><li translate=no>a<ul><li>b</ul>c<li>D</ul>"),
        ("<div><p translate=no>a</div>b", "<div><p translate=no>a</div>B"),
        ("<table><tr><td translate=no>a<td>b</table>", "<table><tr><td translate=no>a<td>B</table>"),
        ("<p>a <code>b</p><p>c</p>", "<p>A <code>b</p><p>C</p>"),  # held within a sentence, up to its end only
        ("<p>a <code>b<code>c</code>d</code> e</p>", "<p>A <code>b<code>c</code>d</code> E</p>"),
        ("<pre translate=no>a</pre><p>a\nb</p>", "<pre translate=no>a</pre><p>A B</p>"),
        ("<input type=Button value='a b'>", "<input type=Button value='A B'>"),
        ("<svg><title>a <b>c</b></title></svg><title>a <b>", "<svg><title>A <b>C</b></title></svg><title>a <b>"),
        ("<svg><style/><text>a</text></svg>", "<svg><style/><text>A</text></svg>"),
        ("<svg><g/><title/>a</svg><title>a <b></title>", "<svg><g/><title/>A</svg><title>A &lt;B&gt;</title>"),
        ("<svg><path><p>a<title>b <c></title>", "<svg><path><p>A<title>B &lt;C&gt;</title>"),
        (
            "<svg><foreignObject><title>a <b></title>c</foreignObject><title>a <b>c</b></title></svg>",
            "<svg><foreignObject><title>A &lt;B&gt;</title>C</foreignObject><title>A <b>C</b></title></svg>",
        ),
        ("<math><mi>x</mi></math><script/>a</script>b", "<math><mi>x</mi></math><script/>a</script>B"),
        (
            "<?xml version='1.0'?><title/><script src=x /><p>a</p>",
            "<?xml version='1.0'?><title/><script src=x /><p>A</p>",
        ),
        (
            "<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><title/><p>a</p></html>",
            "<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><title/><p>A</p></html>",
        ),
        ("<html lang=de><title/><p>a</title>b", "<html lang=de><title/>&lt;P&gt;A</title>B"),
        ("a <%= b < c && d %> e", "A <%= b < c && d %> E"),
        ("a<% if b > c %> d <%# e %>", "A<% if b > c %> D <%# e %>"),
        ("a <% b <b>c</b>", "A &lt;% B <b>C</b>"),
        ("<svg><text>a</text><path d='m 1'/></svg>", "<svg><text>A</text><path d='m 1'/></svg>"),
        ("<a href=b/>a</a> c", "<a href=b/>A</a> C"),
    ],
)
def test_translated(html, expected):
    assert shout(html, "en") == expected


def test_a_language_with_a_region():
    assert shout('<p lang="en-GB">a</p><p lang=de>b</p>', "en_US") == '<p lang="en-GB">A</p><p lang=de>b</p>'


def test_without_a_language_lang_is_not_asked():
    assert shout('<p lang="fr">un</p>') == '<p lang="fr">UN</p>'


def test_attributes():
    """Firefox's lists, except `download`, which names a file."""
    aria = ["label", "description", "placeholder", "roledescription", "valuetext", "braillelabel"]
    aria += ["brailleroledescription", "colindextext", "rowindextext"]
    everywhere = ["title", *(f"aria-{name}" for name in aria)]
    for name in everywhere:
        assert shout(f'<p {name}="a b">') == f'<p {name}="A B">'
        assert shout(f'<p><b {name.upper()}="a b">c</b> d') == f'<p><b {name.upper()}="A B">C</b> D'
    some = {
        "alt": "area img image input",
        "placeholder": "input textarea",
        "label": "track optgroup",
        "abbr": "th",
    }
    for name, elements in some.items():
        for element in elements.split():
            assert shout(f'<{element} {name}="a">') == f'<{element} {name}="A">'
        assert shout(f'<p {name}="a">') == f'<p {name}="a">'
    assert shout("<option label=a value=b>") == '<option label="A" value=b>'
    assert shout("<meta name=Description content='a b'>") == "<meta name=Description content='A B'>"
    assert shout("<input type=reset value='a'>") == "<input type=reset value='A'>"


def test_attributes_are_written_with_their_quotation_marks():
    quoting = in_place(lambda word: word.replace("a", '"it\'s" <'))
    assert translate_html(['<p title=" a&amp;b ">'], quoting) == ['<p title=" &quot;it\'s&quot; &lt;&amp;b ">']
    assert translate_html(["<p title='a'>"], quoting) == ["<p title='\"it&#39;s\" &lt;'>"]
    assert translate_html(["<p title=a id=b>"], quoting) == ['<p title="&quot;it\'s&quot; &lt;" id=b>']
    assert shout("<p title=a title=b>") == '<p title="A" title=b>'


def test_what_an_option_sends_stays():
    assert shout("<select><option>one two<option value=3>three</select>") == (
        '<select><option value="one two">ONE TWO<option value=3>THREE</select>'
    )
    assert shout('<OPTION selected> a &amp;\n "b" </OPTION>') == (
        '<OPTION value="a &amp; &quot;b&quot;" selected> A &amp; "B" </OPTION>'
    )


def test_white_space():
    assert shout("<p>\n\ta  b\n c </p>") == "<p>\n\tA B C </p>"
    assert shout("<p>&nbsp;a <b> c </b> d</p>") == "<p>&nbsp;A <b>C</b> D</p>"
    assert shout("<nav>\n <a>a</a>\n <a>b</a>\n</nav>") == "<nav>\n <a>A</a>\n <a>B</a>\n</nav>"
    assert shout("<a>a</a><a>b</a>") == "<a>A</a><a>B</a>"
    assert sent("<a>a</a><a>b</a> <b>c</b><i>, d</i>") == ["a b c, d"]
    assert sent("<p>a\n\nb</p>") == ["a\n\nb"]


def test_how_a_word_is_read_is_no_part_of_the_sentence():
    html = "<p>to <ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby> go</p>"
    assert sent(html) == ["to 東京 go"]
    assert shout(html) == "<p>TO <ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby> GO</p>"
    assert sent("<ruby>東<rt>とう<rt>to</ruby><ruby>京<rt>きょう</ruby>へ") == ["東 京へ"]


def test_a_large_page_is_aligned_in_parts(monkeypatch):
    monkeypatch.setattr(pages, "_WINDOW", 1_000)
    calls = []

    def below(texts, align):
        calls.append((sum(map(len, texts)), align))
        return upper(texts, align)

    html = "".join(f"<p>a <b>word</b> of text {number}</p>" for number in range(200))
    assert translate_html([html], below) == [html.upper().replace("P>", "p>").replace("B>", "b>")]
    assert len(calls) > 1 and max(size for size, _ in calls) < 1_100


def test_lines_of_preformatted_text_are_texts():
    assert shout("<pre>  a  b\n\n  <b>c\nd</b> e</pre>") == "<pre>  A  B\n\n  <b>C\nD</b> E</pre>"
    assert sent("<pre>  a  b\n\n  <b>c\nd</b> e</pre>") == ["a  b", "c", "d e"]


def test_elements_over_block_ends():
    assert shout("a <b>b<br>c</b> d") == "A <b>B<br>C</b> D"
    assert shout("a <b>b<p>c</b> d") == "A <b>B<p>C</b> D"
    assert shout("<b><i>a</b>b</i> c") == "<b><i>A</b>B</i> C"


def test_all_pages_share_one_call_of_the_layer_below():
    calls = []

    def below(texts, align):
        calls.append((list(texts), align))
        return upper(texts, align)

    pages = ["<p title=t>a<p>b <b>c</b> d<p>a", "<i>e</i> f<p>g", ""]
    assert translate_html(pages, below) == ['<p title="T">A<p>B <b>C</b> D<p>A', "<i>E</i> F<p>G", ""]
    assert calls == [(["t", "a", "b c d", "e f", "g"], True)]
    for count, expected in ((1 << 11, [(2, True)]), ((1 << 11) + 1, [(1, False), (1, True)])):
        calls.clear()
        translate_html([f"<p>{'a' * count}<p>b <b>c</b>"], below)
        assert [(len(texts), align) for texts, align in calls] == expected
    calls.clear()
    assert translate_html([""], below) == [""] and translate_html([], below) == [] and calls == []


def test_a_stand_in_that_is_lost():
    """These texts are translated again without stand-ins; the held part then stands beside its neighbour."""
    calls = []

    def below(texts, align):
        calls.append((list(texts), align))
        return in_place(lambda word: "X" if "{" in word else word.upper())(texts, align)

    html = "<p>use <code>f(x)</code> and <kbd>y</kbd> now<p>see <code>z</code>"
    assert translate_html([html], below) == ["<p>USE <code>f(x)</code> AND <kbd>y</kbd> NOW<p>SEE <code>z</code>"]
    assert calls == [(["use {1} and {2} now", "see {1}"], False), (["use and now", "see"], True)]


def test_the_result_is_of_both_translations_of_a_text_that_lost_its_stand_in():
    def below(texts, align):
        made = in_place(lambda word: "X" if "{" in word else word.upper())(texts, align)
        found = [Result((Hypothesis(one.target, -1.0, -2.0, False, ()),), num_source_pieces=5) for one in made]
        return [one._replace(found=result) for one, result in zip(made, found, strict=True)]

    page = pages.Page(read_document("<p>see <code>z</code>"))
    pages.translate_pages([page], below)
    assert page.text() == "<p>SEE <code>z</code>"
    result = page.result()
    assert (result.num_source_pieces, result.log_prob, result.score) == (10, -4.0, -1.0)


def test_a_stand_in_is_none_of_the_text():
    assert sent("<p>a {1} <code>b</code> {3} <code>c</code>") == ["a {1} {2} {3} {4}"]
    assert shout("<p>a {1} <code>b</code> {3} <code>c</code>") == "<p>A {1} <code>b</code> {3} <code>c</code>"


def test_a_translation_is_text():
    """Text that looks like a tag does not become one."""
    evil = in_place(lambda word: word.replace("a", "<script>alert(1)</script>&"))
    assert translate_html(["a <b>a</b>"], evil) == [
        "&lt;script&gt;alert(1)&lt;/script&gt;&amp; <b>&lt;script&gt;alert(1)&lt;/script&gt;&amp;</b>"
    ]
    assert translate_html(["<p title='a'>"], evil) == ["<p title='&lt;script&gt;alert(1)&lt;/script&gt;&amp;'>"]
