"""Markdown as markdown-it-py reads it: a list of blocks, and the words and spans in each of them.

A translation has the tree of its source: the same blocks, in them the same links, images, code, tags and emphasis,
and, where the translator only changes small letters to capitals or the order of words, the same words.
"""

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

PLUGINS = [front_matter_plugin, footnote_plugin, deflist_plugin]
_WORD = re.compile(r"\w+|[^\w\s]")
_READ = {"alt", "title", "placeholder", "aria-label", "content", "value", "label"}  # attributes that are translated


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
    """Turns a tag such as `<em>` into the emphasis that it means: stars cannot write every emphasis."""
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
