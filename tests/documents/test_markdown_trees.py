"""Markdown: a translation has the tree of its source, according to another reader."""

import re
from html.parser import HTMLParser

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from cpunmt.documents.markdown.blocks import read_markdown
from tests.documents.laws import backwards, echo, render

PLUGINS = [front_matter_plugin, footnote_plugin, deflist_plugin]
_WORD = re.compile(r"\w+|[^\w\s]")
_READ = {"alt", "title", "placeholder", "aria-label", "content", "value", "label"}  # translated attributes


def reader():
    found = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for plugin in PLUGINS:
        found.use(plugin)
    return found


def tree(text: str, in_order: bool = True) -> list:
    """Returns an entry for each block, in order. `in_order`: whether the order of words in a block counts."""
    found = []
    for token in reader().parse(text):
        if token.type == "inline":
            spans, shown = [], []
            _inline(token.children, (), spans, shown)
            words = _words("".join(shown))
            found.append(("inline", sorted(map(repr, spans)), words if in_order else sorted(words)))
        elif token.type == "html_block":
            found.append(("html", *_page(token.content, in_order)))
        else:
            attributes = sorted((name, value) for name, value in token.attrs.items())
            found.append((token.type, token.tag, attributes, token.info, token.content, token.meta))
    return found


def _inline(children, path, spans, shown) -> None:
    for token in children or ():
        _as_emphasis(token)
        if token.nesting < 0:
            path = path[:-1]
        elif token.type in ("text", "text_special"):
            shown.append(token.content)
        elif token.type == "softbreak":
            shown.append(" ")
        else:
            own = (token.type, *sorted(token.attrs.items()))
            content = [] if token.type == "image" else [_spaced(token.content)]
            spans.append((path, own, _tag(token.content) if token.type == "html_inline" else content))
            if token.type == "image":
                shown.append(" ")
                _inline(token.children, (*path, own), spans, shown)
            if token.nesting > 0:
                path = (*path, own)
            elif not token.nesting:
                shown.append(" ")


def _as_emphasis(token) -> None:
    """Turns a tag such as `<em>` into emphasis: asterisks cannot express every emphasis."""
    tag = re.fullmatch(r"<(/?)(strong|em|del)>", token.content) if token.type == "html_inline" else None
    if tag:
        token.type = f"{tag[2].replace('del', 's')}_{'close' if tag[1] else 'open'}"
        token.nesting, token.content = -1 if tag[1] else 1, ""


def _tag(content):
    tags, _ = _page(content, True)
    return tags or [_spaced(content)]


def _page(content, in_order):
    """Returns the tags of HTML with the attributes that must stay, and its words."""
    tags, words = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, sorted((name, value) for name, value in attributes if name not in _READ)))

        def handle_endtag(self, tag):
            tags.append(tag)

        def handle_data(self, data):
            words.extend(_words(data))

        def handle_comment(self, data):
            tags.append(data)

    Reader().feed(content)
    return tags if in_order else sorted(map(repr, tags)), words if in_order else sorted(words)


def _words(text):
    return _WORD.findall(text.casefold())


def _spaced(text):
    return " ".join(text.split())


def first_difference(before, after) -> str:
    """Returns the first entries in which two trees differ; "" for equal trees."""
    for one, other in zip([*before, None], [*after, None], strict=False):
        if one != other:
            return f"{one}\n    {other}"
    return ""


WORDS = ["dog", "cats", "rote", "Häuser", "two", "eleven"]
PLAIN = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
ESCAPES = [r"\*a\*", r"\_b\_", r"\$five", r"\~~dogs\~~", r"\&amp;", r"\<", r"\[x\](y)"]
ODD = st.sampled_from([*ESCAPES, "&lt;", "&amp;", "&#32;", "&#46;", "&copy;", "a_b", "2*3", "$5", "1.", "#", ">", "-"])
ODD_CATS = ODD.map(lambda sign: f"{sign} cats")  # an element of signs alone has no unique place
KEPT = st.sampled_from(["`a*b`", "``c`d``", "<https://a.example/x_y>", "<!-- note -->", "![two dogs](d.png)"])


def _around(inner):
    return st.one_of(
        inner.map(lambda text: f"*{text}*"),
        inner.map(lambda text: f"**{text}**"),
        inner.map(lambda text: f"~~{text}~~"),
        inner.map(lambda text: f"<b>{text}</b>"),
        st.tuples(inner, st.sampled_from("abc")).map(lambda pair: f"[{pair[0]}]({pair[1]}.md)"),
        st.tuples(inner, st.sampled_from("abc")).map(lambda pair: f'[{pair[0]}](<{pair[1]} d.md> "A (title)")'),
    )


INLINE = st.recursive(
    st.one_of(PLAIN, PLAIN, ODD_CATS, KEPT),
    lambda inner: st.one_of(_around(inner), st.lists(inner, min_size=2, max_size=4).map(" ".join)),
    max_leaves=8,
).filter(lambda line: line[0] not in "-#>12" and "~~~" not in line)  # these begin blocks, and are no strokes
LINES = st.lists(INLINE, min_size=1, max_size=3)
ITEMS = st.lists(st.one_of(INLINE, KEPT, st.sampled_from(["", "+", "a dog\n\n  cats", "\n  cats", "\n\n    cats"])),
                 min_size=1, max_size=4)  # fmt: skip
BLOCKS = st.one_of(
    LINES.map("\n".join),
    LINES.map("  \n".join),
    LINES.map("\\\n".join),
    LINES.map("<br>".join),
    ITEMS.map(lambda lines: "".join(f"- {line}".rstrip() + "\n" for line in lines)),
    ITEMS.map(lambda lines: "".join(f"{number}. {line}".rstrip() + "\n" for number, line in enumerate(lines, 1))),
    st.tuples(ITEMS, PLAIN).map(lambda pair: "".join(f"{line}\n+\n" for line in pair[0]) + pair[1]),
    LINES.map(lambda lines: "> [!NOTE]\n" + "".join(f"> {line}\n" for line in lines)),
    INLINE.map(lambda line: f"## {line}"),
    INLINE.map(lambda line: f"| a | b |\n|---|---|\n| {line} | {line}<br>{line} |"),
    PLAIN.map(lambda text: f"{text}\n: {text}"),
    st.lists(PLAIN, min_size=2, max_size=3).map(lambda texts: " | ".join(f"[{text}](x)" for text in texts)),
    st.lists(PLAIN, min_size=2, max_size=3).map(lambda texts: "\n".join(f"[![{text}](x.svg)](y)" for text in texts)),
)


@settings(max_examples=300)
@example("**[$5 cats](a.md)**\n\\$five cats", "case")  # an escaped dollar does not end a formula
@given(st.lists(BLOCKS, min_size=1, max_size=3).map("\n\n".join), st.sampled_from(["case", "backwards"]))
def test_a_translation_has_the_tree_of_its_source(text, way):
    """Compares markdown-it's blocks, links, images, code, tags and words; only the case of words differs."""
    by = echo(str.swapcase) if way == "case" else backwards()
    made = render(read_markdown, text, by=by)
    assert first_difference(tree(text, way == "case"), tree(made, way == "case")) == "", made
