"""YAML: text values are translated in their styles; keys, comments, tags and everything else stay."""

import json

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.documents.formats.json_text import read_json
from cpunmt.documents.formats.yaml_text import read_yaml
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, rewritten, shown, upper, written
from tests.documents.test_json import ANY, mapped
from tests.support.linear_time import takes_linear_time

FILE = """# a comment
%s
de:
  hello: "Hello \\"you\\""   # stays
  &a who : &b !!str A dog and %%{count} cats
  yes: Yes
  none: ~
  day: 2001-12-14
  tagged: !Ref Two dogs
  lines: |2-
      Two dogs
    play.

  folded: >+
    A man is riding
    home.

    One more
    line.

  single: 'It''s a dog'
  list: [two dogs, "a", 'b c', {k: a cat}]
  same: *b
  long: A dog
    and a cat
"""
FILE = FILE % "---"


def texts(text, *select):
    return [shown(unit) for unit in document_of(read_yaml, text, select=select).units]


FOLDED = "A man is riding\n    home.\n\n    One more\n    line."


def test_a_file():
    keeps_every_byte(read_yaml, FILE.encode())
    assert texts(FILE) == [
        *('Hello "you"', 'A dog and <k n="1"/> cats', "Two dogs\nplay.", "A man is riding home.\nOne more line."),
        *("It's a dog", "two dogs", "a", "b c", "a cat", "A dog and a cat"),
    ]
    made = render(read_yaml, FILE, upper)
    assert made == (
        FILE.replace('"Hello \\"you\\""', '"HELLO \\"YOU\\""')
        .replace("A dog and %{count} cats", "A DOG AND %{count} CATS")
        .replace("      Two dogs\n    play.", "      TWO DOGS\n    PLAY.")
        .replace(FOLDED, FOLDED.upper().replace("MORE\n    ", "MORE "))
        .replace("It''s a dog", "IT''S A DOG")
        .replace("[two dogs, \"a\", 'b c', {k: a cat}]", "[TWO DOGS, \"A\", 'B C', {k: A CAT}]")
        .replace("A dog\n    and a cat", "A DOG AND A CAT")
    )  # fmt: skip
    keeps_every_byte(read_yaml, FILE.replace("\n", "\r\n").encode())
    assert render(read_yaml, FILE.replace("\n", "\r\n"), upper) == made.replace("\n", "\r\n")


def test_parts_are_chosen():
    assert texts(FILE, "de.hello", "$..k") == ['Hello "you"', "a cat"]
    assert texts(FILE, "de.list[2]") == ["b c"]
    with pytest.raises(CpunmtError, match="select 'en.hello': nothing has this path; at the top are the keys de$"):
        texts(FILE, "en.hello")


@pytest.mark.parametrize(
    ("source", "translation", "made"),
    [
        ("a: b", "c: d", 'a: "c: d"'),
        ("a: b", "c #d", 'a: "c #d"'),
        ("a: b", "c:d", "a: c:d"),
        ("[b]", "c, d", '["c, d"]'),
        ("a: b", "c, d", "a: c, d"),
        ("a: b", "no", 'a: "no"'),
        ("a: b", "N", 'a: "N"'),  # YAML 1.1 has y and n too, PyYAML does not
        ("a: b", "12:30", 'a: "12:30"'),
        ("a: b", "- c", 'a: "- c"'),
        ("a: b", "é\nf", 'a: "é\\nf"'),
        ("a: 'b'", "c\n'd'", "a: \"c\\n'd'\""),
        ('a: "b"', '\x07"\\', 'a: "\\x07\\"\\\\"'),
        ('a: "b \\u00e9"', "🙂 é", 'a: "\\U0001f642 \\xe9"'),
        ('a: "b \\u00e9"', "\u0100\uffff\xff", 'a: "\\u0100\\uffff\\xff"'),
        ("a: >\n  b\n  c\n\nd: 1", "c  d\n e", "a: |\n  c  d\n   e\n\nd: 1"),
        ("a: >-\n  b\n  c\n", "e  f g", "a: >-\n  e  f\n  g\n"),
        ("a: |\n  b\n  c", "e\n\nf\n\n\n", "a: |\n  e\n\n  f"),
    ],
)
def test_styles(source, translation, made):
    document = document_of(read_yaml, source)
    assert document.rendered([translation]).decode() == made


def changed(text, change=str.upper):
    return written(document_of(read_yaml, text), change)


SIGNS = list("ab:#-,'\"\\ \n\té🙂*!|>[]?\x85\u2028.1")
KEYS = st.text(st.sampled_from(list("ab: #1\n")), max_size=5)
STYLES = st.sampled_from([None, "'", '"', "|", ">"])
LAYOUTS = st.fixed_dictionaries(
    {
        "default_style": STYLES,
        "allow_unicode": st.booleans(),
        "default_flow_style": st.sampled_from([None, True, False]),
        "indent": st.integers(2, 6),
        "width": st.integers(10, 30),
    }
)


def trees(words):
    return st.recursive(
        st.none() | st.booleans() | st.integers() | words,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=10,
    )


@given(trees(st.text(st.sampled_from([*SIGNS, *"{}%&<$@"]), max_size=14) | ANY), LAYOUTS)
def test_every_byte_stays(tree, layout):
    keeps_every_byte(read_yaml, yaml.safe_dump(tree, **layout).encode("utf-8", "replace"))


def exchanged(words):
    return words.replace("a", "Q w").replace("b", "é: #")


@given(trees(st.text(st.sampled_from(SIGNS), max_size=14)), LAYOUTS)
@example({"a": ["", {"b": "ab\n\n  c \n"}]}, {"default_style": "|"})
def test_each_text_is_written_so_that_it_is_read_again(tree, layout):
    text = yaml.safe_dump(tree, **layout)
    assert yaml.safe_load(changed(text, exchanged)) == mapped(exchanged, yaml.safe_load(text))


LINES = st.lists(st.sampled_from(["", "ab", "a b a", "  b", " ", "a  b"]), min_size=1, max_size=6)


@settings(max_examples=300)
@given(st.sampled_from("|>"), st.sampled_from(["", "-", "+"]), LINES, st.sampled_from(["\n", "\r\n"]))
@example(">", "", ["", "ab"], "\n")
def test_a_block_is_read_again_as_it_is_meant(sign, chomping, lines, line_end):
    """Includes blocks that begin with blank lines, which libraries never write."""
    text = line_end.join([f"k: {sign}{chomping}", *("  " + line if line.strip() else line for line in lines), "z: 1"])
    try:
        before = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    assert yaml.safe_load(changed(text, exchanged)) == mapped(exchanged, before)


TAGS = st.sampled_from(["", "", "", "!t ", "!!str ", "! ", "!<tag:a,2000:b> "])
TAGGED = st.recursive(
    st.builds("{}{}".format, TAGS, st.sampled_from(["two dogs", "'a'", '"b"', "1", "true"])),
    lambda inner: st.one_of(
        st.builds(lambda tag, items: f"{tag}[{', '.join(items)}]", TAGS.filter(lambda tag: "str" not in tag),
                  st.lists(inner, max_size=3)),
        st.builds(lambda tag, items: tag + "{" + ", ".join(f"k{n}: {one}" for n, one in enumerate(items)) + "}",
                  TAGS.filter(lambda tag: "str" not in tag), st.lists(inner, max_size=3)),
    ),
    max_leaves=12,
)  # fmt: skip


def composed(node):
    """Returns the texts of a node as PyYAML composes it; ignores unknown tags."""
    if node.tag.startswith("tag:yaml.org,2002:"):
        if isinstance(node, yaml.ScalarNode):
            yield from [node.value] if node.tag.endswith(":str") else []
        for child in node.value if isinstance(node, yaml.SequenceNode) else ():
            yield from composed(child)
        for _, child in node.value if isinstance(node, yaml.MappingNode) else ():
            yield from composed(child)


@given(TAGGED)
def test_the_texts_are_those_that_another_reader_finds(text):
    found = composed(yaml.compose(text, yaml.SafeLoader))
    assert texts(text) == [one for one in found if any(map(str.isalpha, one))]


FUNCTIONS = ("Ref", "Fn::GetAtt", "Fn::Sub", "Fn::If")
TEMPLATES = st.recursive(
    st.sampled_from(["Two dogs", "a", 1, True]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["Description", "Ref dogs", "Fn", "Refs"]), inner, max_size=3),
        st.builds(lambda name, value: {name: value}, st.sampled_from(FUNCTIONS), inner),
    ),
    max_leaves=12,
)


class ShortForm(yaml.SafeDumper):
    """A dumper that writes `!Ref x` for `Ref: x`."""

    def represent_mapping(self, tag, mapping, flow_style=None):
        name, value = next(iter(mapping.items()), ("", None))
        if name not in FUNCTIONS:
            return super().represent_mapping(tag, mapping, flow_style)
        node = self.represent_data({"": value} if isinstance(value, dict) else value)
        node.tag = "!" + name.removeprefix("Fn::")
        return node


ShortForm.add_representer(dict, ShortForm.represent_dict)


def without_functions(tree):
    """Returns the texts of a template outside the arguments of functions."""
    if isinstance(tree, dict):
        return [word for key, value in tree.items() if key not in FUNCTIONS for word in without_functions(value)]
    if isinstance(tree, list):
        return [word for value in tree for word in without_functions(value)]
    return [tree] if isinstance(tree, str) else []


@given(TEMPLATES)
def test_what_functions_of_a_template_get_stays_in_every_notation(tree):
    expected = without_functions(tree)
    assert texts(yaml.safe_dump(tree, sort_keys=False)) == expected
    assert texts(yaml.dump(tree, Dumper=ShortForm, sort_keys=False)) == expected
    assert [shown(unit) for unit in document_of(read_json, json.dumps(tree)).units] == expected


def test_a_path_chooses_what_a_function_gets_if_it_names_it():
    text = "a: {Ref: dogs, 'Fn::Sub': [two cats, {b: cats}]}\nc: cats\n"
    assert texts(text) == texts(text, "c") == texts(text, "$..*") == ["cats"]
    assert texts(text, "$..Ref") == ["dogs"]
    assert texts("a: {$ref: '#/dogs', ref: cats}") == ["cats"]
    assert texts(text, "a", "$..['Fn::Sub']") == ["two cats", "cats"]


BITS = st.sampled_from(
    ["a: ", "b", "- ", "\n", "  ", "    ", "|", ">", "|+\n", ">-\n", "|2\n", "'", '"', "# c\n", "[", "]", "{", "}",
     ", ", "&x ", "*x", "!!str ", "!t ", "? ", ": ", "---\n", "...\n", "word two", "\\n", "\t", "é", "1", "\r\n"]
)  # fmt: skip


@given(st.lists(BITS, max_size=20).map("".join))
def test_every_byte_of_any_file_stays_or_it_is_refused(text):
    try:
        document_of(read_yaml, text)
    except CpunmtError:
        return
    keeps_every_byte(read_yaml, text.encode())
    assert list(map(str, yaml.parse(changed(text, lambda unit: unit.replace("b", "W"))))) != []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 100_000, "more than 100"),
        ("- " * 100_000, "more than 100"),
        ("a: b\nc: \0", "line 2: is not YAML"),
        ("a: 'b\n", "line 2: is not YAML"),
        ("PK\x03\x04", "line 1: is not YAML"),
        ("a: *b\n c", "is not YAML"),
        ('"\\UFFFFFFFF"', "is not YAML"),
        ("a\n- b: c: d", "line 2: is not YAML"),
    ],
)
def test_what_is_not_yaml_is_one_clear_error(content, said):
    with pytest.raises(CpunmtError, match=said) as refused:
        document_of(read_yaml, content)
    assert "\n" not in str(refused.value)


def test_the_depth_has_a_bound():
    assert texts("[" * 100 + "a" + "]" * 100) == ["a"]
    with pytest.raises(CpunmtError, match="more than 100 collections"):
        texts("[" * 101 + "a" + "]" * 101)


def test_aliases_are_not_followed():
    bomb = "a: &a [two dogs]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{f'*{chr(97 + n)}, ' * 9}]\n" for n in range(20)
    )
    assert texts(bomb) == ["two dogs"]


def test_time_is_linear():
    takes_linear_time(
        lambda text: rewritten(read_yaml, text, select=["$..[1]"]),
        lambda count: "".join(f"k{number}:\n  - Two dogs\n  - |\n    play\n" for number in range(count)),
        200,
    )
