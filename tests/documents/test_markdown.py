"""Markdown: the extent of texts, the parts that stay, and the form of translations."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.documents.markdown.blocks import read_markdown, wrapped
from tests.documents.laws import document_of, keeps_every_byte, render, shown, upper, written
from tests.support.echo import Echo
from tests.support.linear_time import takes_linear_time
from tests.support.speeds import slow_after

SAMPLE = """---
title: Weather station
---

# Weather *station* #

A **bold [link](https://example.com/a_b "Title")** and `code_here`.
It goes on, [as defined], with 2 * 3 and \\*stars\\*.

Setext heading
--------------

- [x] first item
- second item
  goes on

  more of it

      code in an item

1. number one
   > quoted text
   > goes on

> - item in quotes

```python
print("code")
```

    indented code

| Name  | What it *is* |
|-------|:------------:|
| a \\| b | text `x\\|y`  |

<div align="center">
a <b>block</b>
</div>

> <p>stays</p>

<pre>stays</pre>

It is $x_1 + y$ for $5 or $10, and $$a * b$$ too.

Line one  
line two <br> with <b>tags</b> and https://example.com/x_y_z.

[as defined]: https://example.com "The title"
[^1]: A footnote.

***
![Picture of a dog](dog.png) stands here[^1].
"""  # noqa: W291  # two spaces at the end of a line break it

UPPER = """---
title: Weather station
---

# WEATHER *STATION* #

A **BOLD [LINK](https://example.com/a_b "Title")** AND `code_here`.
IT GOES ON, [AS DEFINED][as defined], WITH 2 \\* 3 AND \\*STARS\\*.

SETEXT HEADING
--------------

- [x] FIRST ITEM
- SECOND ITEM GOES ON

  MORE OF IT

      code in an item

1. NUMBER ONE
   > QUOTED TEXT GOES ON

> - ITEM IN QUOTES

```python
print("code")
```

    indented code

| NAME  | WHAT IT *IS* |
|-------|:------------:|
| A \\| B | TEXT `x\\|y`  |

<div align="center">
A <b>BLOCK</b>
</div>

> <p>stays</p>

<pre>stays</pre>

IT IS $x_1 + y$ FOR $5 OR $10, AND $$a * b$$ TOO.

LINE ONE  
LINE TWO <br> WITH <b>TAGS</b> AND https://example.com/x_y_z.

[as defined]: https://example.com "The title"
[^1]: A FOOTNOTE.

***
![PICTURE OF A DOG](dog.png) STANDS HERE[^1].
"""  # noqa: W291  # two spaces at the end of a line break it


def test_a_file():
    keeps_every_byte(read_markdown, SAMPLE.encode())
    made = render(read_markdown, SAMPLE, upper)
    assert made.splitlines() == UPPER.splitlines()


def units(text):
    return [shown(unit) for unit in document_of(read_markdown, text).units]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\nb\n\nc", ["a b", "c"]),
        ("a_b_c *open", ["a_b_c *open"]),
        (":tada: a :+1: b at 1:a:2", ["<x/> a <x/> b at 1:a:2"]),
        ("**a** b", ["<strong>a</strong> b"]),
        ("*a **b*", ["*a *<em>b</em>"]),
        ('a*"b"*', ['a*"b"*']),  # from here: 6.2 of CommonMark, signs beside the stars
        ('*"b"* c', ['<em>"b"</em> c']),
        ('"*b*" c', ['"<em>b</em>" c']),
        ("*(a)*b", ["*(a)*b"]),
        ("*(a)*.", ["<em>(a)</em>."]),
        ("(_a_)b", ["(<em>a</em>)b"]),
        ("_(a)_.", ["<em>(a)</em>."]),
        ("a_(b)_", ["a_(b)_"]),
        ("* a* b", ["a* b"]),
        ("a * b* c", ["a * b* c"]),
        ("a ~b~ ~~c~~", ["a ~b~ <del>c</del>"]),
        ("H~2~O at 10^-3^ m", ["<code></code> at <code></code> m"]),
        ("==a== b == c, d===e if f==g or h==i", ["<mark>a</mark> b == c, d===e if f==g or h==i"]),
        ("a @b-c:d.e, [@f] g@h.i @1", ["a <code></code>, [<code></code>] g@h.i @1"]),
        ("[[a b]] ![[c.png]] [[d|e f]]", ["<code></code> <img/> <a>e f</a>"]),
        ("[[a]](b) [[c]][d] [[e]] [[]] [[f\n\n[e]: g", ["<a>[a]</a> <a>[c]</a> [<a>e</a>] [[]] [[f"]),
        ("a `b` c", ["a <code></code> c"]),
        ("a `b c", ["a `b c"]),
        ("a <https://b.c> d", ["a <code></code> d"]),
        ("a < b > c", ["a < b > c"]),
        ("a &amp; b", ["a & b"]),
        ("[a](b", ["[a](b"]),
        ("[a][b]", ["<a>a</a>"]),
        ("[a] b", ["[a] b"]),
        ("[a [b](c) d](e)", ["[a <a>b</a> d](e)"]),
        ("a\n===\nb", ["a", "b"]),
        ("- a\n\n      b", ["a"]),
        ("> a\nb", ["a b"]),
        ("~~~\na\n~~~\nb", ["b"]),
        ("> ```\n> a\nb", ["b"]),
        ("<!-- a -->\nb", ["b"]),
        ("<pre>\n\na\n</pre>\nb", ["b"]),
        ("<b>a</b> c", ["<b>a</b> c"]),
        ("* * *\n- - -", []),
        ("1 + 2 = 3", []),
        ("a***b***c", ["a<em><strong>b</strong></em>c"]),
        ("*a**b*", ["<em>a**b</em>"]),
        ("a <b/> c", ["a <b/> c"]),
        ("a <img> c", ["a <img> c"]),
        ("<b>a", ["<x/>a"]),
        ("a <!-- b", ["a <!-- b"]),
        ("a\\\\\nb", ["a\\ b"]),
        ("- a\n-\nb", ["a", "b"]),
        ("*<b>a</b>*", ["<em><b>a</b></em>"]),
        ("***a* b**", ["<strong><em>a</em> b</strong>"]),
        ("<b>a</b></b>", ["<b>a</b><x/>"]),
        ("a <p> b", ["a <br/> b"]),
        ("a <b> c", ["a <x/> c"]),
        ("<!-- A\n-->\nb", ["b"]),
        ("a\n<!-- 1 -->\nc", ["a", "c"]),
        ("a\nb|c\n-|-", ["a", "b", "c"]),
        ("a|b\n---", ["a|b"]),
        ("a|b\n|:", ["a|b |:"]),
        ("a|b\nc|-d", ["a|b c|-d"]),
        ("~~a~~b~~c~~", ["<del>a</del>b<del>c</del>"]),
        ("\ta", []),
        ("  \ta", []),
        ("   a", ["a"]),
        ("    a", []),
        ("<x-y a>\nb", ["<x-y a>\nb"]),
        ("b\n<x-y>", ["b <x/>"]),
        ("[a]{.b} c", ["<span>a</span> c"]),
        ("[a] c\n\n[A]: b", ["<a>a</a> c"]),
        (f"[{'a' * 999}]\n\n[{'A' * 999}]: b", [f"<a>{'a' * 999}</a>"]),
        (f"[{'a' * 1000}]", [f"[{'a' * 1000}]"]),
        ("---\na: b\nc: d\n---\ne", ["e"]),
        ("+++\na\n...\n+++\ne", ["e"]),
        ("-\n  a\n\n     b", ["a", "b"]),
        ("-\n\n     a", []),
        ("> -\n>   a\n>\n>      b", ["a", "b"]),
        ("- " * 16 + "a", ["a"]),
        ("- " * 17 + "a", ["- a"]),
    ],
)
def test_units(text, found):
    assert units(text) == found


@pytest.mark.parametrize(
    ("text", "translation", "written"),
    [
        ("word", "2. Wort", "2\\. Wort"),
        ("word", "# Wort", "\\# Wort"),
        ("word", "a*b [c] <d>", "a\\*b \\[c\\] \\<d>"),
        ("a * b", "c * d", "c * d"),
        ("word", r"a\b", r"a\b"),
        ("a **b**", "x", "a **b**"),  # a translation without the tags
        ("a &amp; b", "c & d", "c &amp; d"),
        ("|a|\n|-|\n|b|", None, "|X\\|Y|\n|-|\n|X\\|Y|"),
        ("> one two\r\n> six", "eins zwei drei", "> eins zwei\r\n> drei"),
        ("one\ntwo\n\n[a]: " + "b" * 70, f"{'c' * 30} {'d' * 29}", f"{'c' * 30} {'d' * 29}\n\n[a]: " + "b" * 70),
        ("one\ntwo\n\n[a]: " + "b" * 70, f"{'c' * 30} {'d' * 30}", f"{'c' * 30}\n{'d' * 30}\n\n[a]: " + "b" * 70),
    ],
)
def test_what_a_translation_has_of_signs_is_escaped(text, translation, written):
    document = document_of(read_markdown, text)
    made = [translation or "X|Y"] * len(document.units)
    assert document.rendered(made).decode() == written


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a _b_ c", "a*b*c"),
        ("a __b__ c", "a**b**c"),
        ("a *b* c", "a*b*c"),
        ("a _(b)_ c", "a<em>(b)</em>c"),
        ("a **(b)** c", "a<strong>(b)</strong>c"),
        ("a ~~(b)~~ c", "a<del>(b)</del>c"),
        ("a <i>b</i> c", "a<i>b</i>c"),
    ],
)
def test_emphasis_has_another_notation_where_its_own_would_be_text(text, made):
    assert written(document_of(read_markdown, text), lambda text: text.replace(" ", "")) == made


def test_what_a_line_before_a_break_begins_with_is_escaped():
    by = Echo(lambda text: f"# {text}" if text.startswith("A") else text)
    assert render(read_markdown, "A man.  \nTwo dogs.", by=by) == "\\# A man.  \nTwo dogs."


def test_lines_are_wrapped_where_no_block_begins():
    assert wrapped(["aa", "bb", "-", "cc", "dd"], 5, "\n") == "aa bb -\ncc dd"
    assert wrapped(["aaaaaaaaa", "b"], 3, "\n") == "aaaaaaaaa\nb"


def sentences(text):
    """Returns the input and output of the translator of words."""
    by = Echo(str.upper)
    made = render(read_markdown, text, by=by)
    return sorted(by.sentences), made


@pytest.mark.parametrize(
    ("text", "found", "made"),
    [
        ("A man.<br>Two dogs.", ["A man.", "Two dogs."], "A MAN.<br>TWO DOGS."),
        ("|a|\n|-|\n|A man<br/>Two dogs|", ["A man", "Two dogs", "a"], "|A|\n|-|\n|A MAN<br/>TWO DOGS|"),
        ("[A man](a) • [a](b) [dog](c)", ["A man", "a dog"], "[A MAN](a) • [A](b) [DOG](c)"),
        ("[A man](a) | [cats](b)", ["A man", "cats"], "[A MAN](a) | [CATS](b)"),
        ("[A man](a)\n[cats](b)", ["A man", "cats"], "[A MAN](a)\n[CATS](b)"),
        ("[A man](a)  \n[dogs](c)\n[cats](b)", ["A man", "cats", "dogs"], "[A MAN](a)  \n[DOGS](c)\n[CATS](b)"),
        ("# 1. Dogs", ["Dogs"], "# 1. DOGS"),
        ("See [A man](a)\n[cats](b)", ["See A man cats"], "SEE [A MAN](a) [CATS](b)"),
        ("[![Two dogs](d)](e)\n![cats](c)", ["Two dogs", "cats"], "[![TWO DOGS](d)](e)\n![CATS](c)"),
        ("> [!NOTE]\n> Two\n> dogs", ["Two dogs"], "> [!NOTE]\n> TWO DOGS"),
        ("> [!note]- A man\n> Two", ["A man", "Two"], "> [!note]- A MAN\n> TWO"),
        (
            '!!! note "A man"\n    Two\n    dogs\n\n    cats',
            ["A man", "Two dogs", "cats"],
            '!!! note "A MAN"\n    TWO DOGS\n\n    CATS',
        ),
        (
            "A man\n??? note\n\n    Two\n\n        code\n",
            ["A man", "Two"],
            "A MAN\n??? note\n\n    TWO\n\n        code\n",
        ),
        (
            '- A man\n\n    ???+ note inline end "Two"\n        dogs\n\n            code',
            ["A man", "Two", "dogs"],
            '- A MAN\n\n    ???+ note inline end "TWO"\n        DOGS\n\n            code',
        ),
        (
            '=== "A man"\n\n    Two\n\n=== "C"\n\n    ```\n    code\n    ```',
            ["A man", "C", "Two"],
            '=== "A MAN"\n\n    TWO\n\n=== "C"\n\n    ```\n    code\n    ```',
        ),
        ("!!! Two dogs\n\ncats", ["!!! Two dogs", "cats"], "!!! TWO DOGS\n\nCATS"),
        ("/// note | A man\nTwo\n///\ndogs", ["A man", "Two", "dogs"], "/// note | A MAN\nTWO\n///\nDOGS"),
        ("Two\n:::tip[A man]{.c}\ndogs\n:::", ["A man", "Two", "dogs"], "TWO\n:::tip[A MAN]{.c}\nDOGS\n:::"),
        (
            "::: tip A man\ndogs\n:::\n::: {.note}\nTwo",
            ["A man", "Two", "dogs"],
            "::: tip A MAN\nDOGS\n:::\n::: {.note}\nTWO",
        ),
        (
            ":::{admonition} A man\n:class: tip\ndogs\n:::",
            ["A man", "dogs"],
            ":::{admonition} A MAN\n:class: tip\nDOGS\n:::",
        ),
        ("A man\n\n!!! note", ["!!! note", "A man"], "A MAN\n\n!!! NOTE"),
        ('!!! note "" {.c}\n    Two\n\n    dogs', ["Two", "dogs"], '!!! note "" {.c}\n    TWO\n\n    DOGS'),
        ("> !!! note\n>     Two\n>     dogs", ["Two dogs"], "> !!! note\n>     TWO DOGS"),
        (":::{note}\n:class: a\nTwo\n:::", ["Two"], ":::{note}\n:class: a\nTWO\n:::"),
        (":::{note} A man\n:::", ["A man"], ":::{note} A MAN\n:::"),
        ("::: details A man {open}\nTwo\n:::", ["A man", "Two"], "::: details A MAN {open}\nTWO\n:::"),
        *(
            (line, [], line)
            for line in (
                ':::image type="content" source="a/x.png" alt-text="A dog":::',
                '::: moniker range=">= azure"',
                ":::code-group labels=[npm,yarn]",
                "::: include some/file.txt",
                '::: note title="a b"',
                "/// html | div.x",
            )
        ),
        ("/// Two dogs", ["/// Two dogs"], "/// TWO DOGS"),
        (":::{code-block} a b\n:::\ndogs", ["dogs"], ":::{code-block} a b\n:::\nDOGS"),
        *(
            (f"Two\n{line}\ndogs", ["Two", "dogs"], f"TWO\n{line}\nDOGS")
            for line in (
                "{{< hint info >}}",
                '{{% notice "a" %}} {% b %}',
                '{{< figure src="a"\n  alt="b" >}}',
                "{% endhint %}",
                "{/* a\nb */}",
                "{# a b #}",
                "{% highlight ruby %}\nputs a\n\nb\n{% endhighlight %}",
                "{{< mermaid >}}\na\n{{< /mermaid >}}",
            )
        ),
        ("Two\n{{ 1 }} dogs\n{{ 2 }}", ["Two {{ 1 }} dogs {{ 2 }}"], "TWO {{ 1 }}\nDOGS {{ 2 }}"),
        ("{{< 1 >}} Two dogs", ["{{< 1 >}} Two dogs"], "{{< 1 >}} TWO DOGS"),
        ("{{ a }}\n\n{% b\nTwo", ["{% b Two"], "{{ a }}\n\n{% B\nTWO"),
        ("{: .note }\nTwo dogs\n{: .c}", ["Two dogs"], "{: .note }\nTWO DOGS\n{: .c}"),
        *(
            (f"{line}\n\nTwo", ["Two"], f"{line}\n\nTWO")
            for line in (
                'import A, {B} from "./a";\nexport const c = [\n  "Two",\n]',
                "import {\n  A,\n} from 'a'",
                "export default function A() {\n  return <b>Two</b>\n}",
                'export const x = {\n  a: "dog",\n\n  b: "two cats",\n}',
            )
        ),
        ("{% raw %}\nTwo", ["Two"], "{% raw %}\nTWO"),
        ("[[a|the **big** &amp; dog]]", ["the big & dog"], "[[a|THE **BIG** &amp; DOG]]"),
        ("import {\n\nTwo", ["Two"], "import {\n\nTWO"),
        ("Export default settings to a file", None, "EXPORT DEFAULT SETTINGS TO A FILE"),
        ("import dogs from cats", None, "IMPORT DOGS FROM CATS"),
        ("==Two== dogs, see @fig-a", ["Two dogs, see {1}"], "==TWO== DOGS, SEE @fig-a"),
        ("|a|\n|-|\n|[[b\\|Two dogs]]|", ["Two dogs", "a"], "|A|\n|-|\n|[[b\\|TWO DOGS]]|"),
        ("# Dogs {#dogs .c}", ["Dogs"], "# DOGS {#dogs .c}"),
        ("A man and\ndogs {.c}", ["A man and dogs"], "A MAN AND\nDOGS {.c}"),
        ("The [dog](a){.c} and `b`{.d}", ["The dog and {1}"], "THE [DOG](a){.c} AND `b`{.d}"),
        ("Dogs\n: Two dogs\n: Cats", ["Cats", "Dogs", "Two dogs"], "DOGS\n: TWO DOGS\n: CATS"),
        ("One&#32;man and a dog&#46; Two.", ["One man and a dog.", "Two."], "ONE MAN AND A DOG. TWO."),
        (r"It is \$five, \~~dogs\~~, \&amp; \< &lt;", None, r"IT IS \$FIVE, \~\~DOGS\~\~, \&AMP; &lt; &lt;"),
        ("A <kbd>Ctrl</kbd> key", ["A {1} key"], "A <kbd>Ctrl</kbd> KEY"),
        ("*A man.  \nTwo* dogs", ["A man.", "Two dogs"], "*A MAN.  \nTWO* DOGS"),
        ("A man\n[^1]: Two", ["A man", "Two"], "A MAN\n[^1]: TWO"),
        ('[a]: b\n  "Two"\n\n[c]:\n  d\n\nA man', ["A man"], '[a]: b\n  "Two"\n\n[c]:\n  d\n\nA MAN'),
        ("[A man]((#two)) is", ["A man is"], "[A MAN]((#two)) IS"),
        ('A <img alt="Two dogs"> is', None, 'A <img alt="TWO DOGS"> IS'),
        ("A *man* &amp; two", None, "A *MAN* &amp; TWO"),
        ("![12](a) Two dogs", ["Two dogs"], "![12](a) TWO DOGS"),
        ("![cats at `b` &amp; c](d)", ["cats at b & c"], "![CATS AT B &amp; C](d)"),
    ],
)
def test_what_is_a_sentence_and_how_it_is_written(text, found, made):
    """As in HTML: a line break, a sign between links, and a line of links end a sentence."""
    given, written = sentences(text)
    assert found is None or given == found
    assert written == made


MARKS = st.sampled_from(
    [
        *("\n", "\n\n", "\r\n", " ", "    ", "\t", "\x00", "b c", "1. ", "- ", "> ", "*", "**", "_", "`", "``", "["),
        *("](", "][", "]", ")", "<b>", "</b>", "<", ">", "|", "#", "---", "```", "~~~", "\\", "&amp;", "a", "!"),
        *("http://a", "[^1]:", "é", "$", "$$", "<div>", "<p>a b</p>\n"),
        *(
            '!!! a "b"',
            "??? a",
            '=== "a',
            "/// ",
            ":::",
            "{",
            "{{< ",
            ">}}",
            "{% ",
            "%}",
            "[[a",
            "]]",
            "==",
            "a~b~",
            "@a",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(MARKS, max_size=40).map("".join)))
@example("[[a]: b\n\n[a]")
@example("<b><b>a</b>")
def test_every_byte_stays(text):
    content = text.encode("utf-8", "replace")
    keeps_every_byte(read_markdown, content)


@given(st.lists(MARKS, max_size=40).map("".join))
def test_each_place_is_written_once(text):
    """Each place is written exactly once, or the whole paragraph stays, whatever the translation."""
    document = document_of(read_markdown, text)
    made = written(document, lambda text: text.replace("é", "Zé"))
    assert made.replace("\\", "").count("é") == text.replace("\\", "").count("é")
    assert made.count("Z") <= sum(shown(unit).count("é") for unit in document.units)


@pytest.mark.parametrize(
    "part",
    slow_after(
        5,
        [
            "[",
            "]",
            "[a](",
            "*a ",
            "a* ",
            "`" * 3 + "a` ",
            "<b>",
            "![",
            '[a](b "',
            "> ",
            "- ",
            "| ",
            "\\",
            "a\n",
            " ",
            "&",
            "$",
            "$a",
            "<div>\n\n",
            "[[a](x) ",
            "[[a|",
            "{% ",
            "{% \n\n",
            "{{a}}",
            "import a ",
            "import {\n\n",
            "{% raw %}\n",
            "a^b",
            "==a ",
        ],
    ),
)
def test_time_is_linear(part):
    takes_linear_time(
        lambda text: document_of(read_markdown, text), lambda count: part * (count // len(part)) + "word", 5_000
    )


@pytest.mark.parametrize("count", range(24))
def test_a_line_never_ends_within_a_tag(count):
    """The same holds if a backslash precedes the first word, which would otherwise begin a heading."""
    text = f"Two {'x ' * count}[cats](<a d.md> 'b c d e f g') and\nplay on to the end of the day"
    made = render(read_markdown, text, lambda word: {"Two": "#", "x": "xxxx"}.get(word, word))
    assert "[cats](<a d.md> 'b c d e f g')" in made and made.startswith("\\# ")


def test_an_empty_item_begins_only_where_no_text_goes_on():
    texts = "Two dogs\n+\nplay", "+ Two dogs\n+\n+ play", "+\n  Two dogs\n  play"
    assert [len(document_of(read_markdown, text).units) for text in texts] == [1, 2, 1]


def test_a_declaration_begins_with_a_letter():
    assert render(read_markdown, "Two <!2 dogs> run", upper).replace("\\", "") == "TWO <!2 DOGS> RUN"
    assert render(read_markdown, "Two <!two dogs> run", upper) == "TWO <!two dogs> RUN"


def test_entities_are_spelt_once():
    assert render(read_markdown, "Two &lt; three &amp; a&nbsp;cat.", upper) == "TWO &lt; THREE &amp; A&nbsp;CAT."


@pytest.mark.parametrize("text", ["---\n\nOne man.\n\n---\n\nTwo.", "<!-- A\nB --> One man.\nTwo.\n"])
def test_text_behind_a_rule_or_a_comment_is_translated(text):
    assert render(read_markdown, text, upper) == text.upper()
