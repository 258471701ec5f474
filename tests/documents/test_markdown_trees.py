"""Markdown: a translation has the tree of its source, as another reader has it."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.documents.markdown.blocks import read_markdown
from tests.documents.laws import backwards, echo, render
from tests.documents.markdown_trees import first_difference, tree

WORDS = ["dog", "cats", "rote", "Häuser", "two", "eleven"]
PLAIN = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
ESCAPES = [r"\*a\*", r"\_b\_", r"\$five", r"\~~dogs\~~", r"\&amp;", r"\<", r"\[x\](y)"]
ODD = st.sampled_from([*ESCAPES, "&lt;", "&amp;", "&#32;", "&#46;", "&copy;", "a_b", "2*3", "$5", "1.", "#", ">", "-"])
ODD = ODD.map(lambda sign: f"{sign} cats")  # an element with signs alone has no place that all would choose
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
    st.one_of(PLAIN, PLAIN, ODD, KEPT),
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
@example("**[$5 cats](a.md)**\n\\$five cats", "case")  # an escaped dollar ends no formula
@given(st.lists(BLOCKS, min_size=1, max_size=3).map("\n\n".join), st.sampled_from(["case", "backwards"]))
def test_a_translation_has_the_tree_of_its_source(text, way):
    """As markdown-it reads both: blocks, links, images, code, tags; and the words, of which only the case changes."""
    by = echo(str.swapcase) if way == "case" else backwards()
    made = render(read_markdown, text, by=by)
    assert first_difference(tree(text, way == "case"), tree(made, way == "case")) == "", made
