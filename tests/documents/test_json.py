"""JSON: values are translated; keys and everything else stay; paths select parts."""

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt.documents.formats.json_text import read_json
from cpunmt.documents.formats.paths import Paths
from cpunmt.documents.formats.yaml_text import read_yaml
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, rewritten, shown, upper, written
from tests.support.linear_time import takes_linear_time

FILE = """{
  "menu": {"open": "Open a file", "id": 12, "on": true, "none": null, "empty": ""},
  "items" : [ {"text":"Two\\ndogs", "tag": "a b"}, {"text": "Hi {name}, you have %d dogs"} ],
  "a b": "caf\\u00e9 \\"here\\"", "a b": "twice", "n": [1.50, -0e10, NaN]
}
"""
# without the full stops of Chinese and Japanese, after which a Translator writes a blank
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u3002\uff01\uff0e\uff1f\uff61"))
WORDS = st.text(st.sampled_from(list('ab \n\t"\\/{}%sé🙂\u2028\0<>&;$:@\x7f\x85')), max_size=12) | ANY
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def texts(text, *select):
    return [shown(unit) for unit in document_of(read_json, text, select=select).units]


def mapped(change, tree):
    if isinstance(tree, dict):
        stays = {key for key in tree if key.startswith("@") and key != "@value"}
        return {key: value if key in stays else mapped(change, value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [mapped(change, value) for value in tree]
    return change(tree) if isinstance(tree, str) else tree


@given(TREES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_every_byte_stays(tree, ascii, indent, encoding):
    text = json.dumps(tree, ensure_ascii=ascii, indent=indent)
    keeps_every_byte(read_json, text.encode(encoding, "replace"))


NESTED = st.recursive(
    st.integers() | st.lists(st.sampled_from(["ab", "é", "c"]), min_size=1, max_size=5).map(" ".join),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
)


@given(NESTED, st.booleans())
@example([{}, "ab", [], "ab", {"ab": {}, "c": "ab"}], True)
def test_each_value_is_translated_and_no_key(tree, ascii):
    text = json.dumps(tree, ensure_ascii=ascii).encode("utf-8", "replace").decode()
    assert json.loads(render(read_json, text, upper)) == mapped(str.upper, json.loads(text))


@given(WORDS, WORDS.filter(str.strip))
def test_what_is_written_is_read_again(before, after):
    document = document_of(read_json, json.dumps(["a", before.encode("utf-8", "replace").decode()]))
    written = document.rendered(["b" + after] + [unit.words for unit in document.units[1:]])
    assert json.loads(written.decode("utf-8", "surrogatepass"))[0] == "b" + after


def test_a_file():
    keeps_every_byte(read_json, FILE.encode())
    assert texts(FILE) == [
        *("Open a file", "Two\ndogs", "a b", 'Hi <k n="1"/>, you have <k n="2"/> dogs', 'café "here"', "twice"),
    ]
    made = render(read_json, FILE, upper)
    assert '"Open a file"'.upper() in made and '"TWO\\nDOGS"' in made and '"HI {name}, YOU HAVE %d DOGS"' in made
    assert '"CAF\\u00c9 \\"HERE\\""' in made
    assert made.lower() == FILE.lower().replace("\\u00e9", "\\u00c9".lower())


def test_what_is_said_about_other_keys_stays():
    """As in ARB, and JSON-LD, whose @value is a text."""
    text = '{"@@locale": "en", "a": "Two dogs", "@a": {"b": "cats"}, "b": [{"@value": "a man", "@type": "T"}]}'
    assert texts(text) == ["Two dogs", "a man"] and texts(text, "b") == ["a man"]
    assert texts(text, "['@a']") == ["cats"]


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("menu.open", ["Open a file"]),
        ("$.menu", ["Open a file"]),
        ("items[*].text", ["Two\ndogs", 'Hi <k n="1"/>, you have <k n="2"/> dogs']),
        ("items[0].*", ["Two\ndogs", "a b"]),
        ("$..tag", ["a b"]),
        ("$..[0]['text']", ["Two\ndogs"]),
        ("['a b']", ['café "here"', "twice"]),
        ('*["open"]', ["Open a file"]),
        ("$['items'][ 1 ]", ['Hi <k n="1"/>, you have <k n="2"/> dogs']),
    ],
)
def test_parts_are_chosen(select, found):
    assert texts(FILE, select) == found
    assert set(texts(FILE, select, "menu.open")) == {*found, "Open a file"}


STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from([None, "0", "a", 0, 1])), min_size=1, max_size=3)
LEAVES = st.recursive(
    st.just("w"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "a", "b"]), inner, max_size=3),
    max_leaves=8,
)


def is_chosen(steps, keys):
    """Returns whether a path selects the value at these keys, by its definition."""
    if not steps or not keys:
        return not steps
    (is_deep, name), key = steps[0], keys[0]
    is_here = name is None or (type(name) is type(key) and name == key)
    return (is_here and is_chosen(steps[1:], keys[1:])) or (is_deep and is_chosen(steps, keys[1:]))


def numbered(tree, keys=()):
    """Returns a tree whose texts all differ, and the keys of each text."""
    if isinstance(tree, str):
        text = "w" + "".join(map(repr, keys))
        return text, {text: keys}
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    made = {key: numbered(value, (*keys, key)) for key, value in pairs}
    known = {text: path for _, texts in made.values() for text, path in texts.items()}
    found = {key: value for key, (value, _) in made.items()}
    return (found if isinstance(tree, dict) else list(found.values())), known


@given(LEAVES, STEPS)
def test_a_path_chooses_what_its_definition_says(tree, steps):
    tree, known = numbered(tree)
    path = "$" + "".join(f"{'..' * deep}[{'*' if name is None else repr(name)}]" for deep, name in steps)
    expected = [text for text, keys in known.items() if is_chosen(steps, keys)]
    for read, text in ((read_json, json.dumps(tree)), (read_yaml, yaml.safe_dump(tree, sort_keys=False))):
        try:
            assert [shown(unit) for unit in document_of(read, text, select=[path]).units] == expected
        except CpunmtError as refused:
            assert expected == [] and "nothing has this path" in str(refused)


@given(st.lists(st.sampled_from(['"\\u00e9 a"', '"é b"', '"c"']), min_size=1))
def test_letters_are_escaped_in_files_that_escape_them_all(items):
    text = f"[{', '.join(items)}]"
    document = document_of(read_json, text)
    made = written(document, lambda text: f"ü {text}")
    assert json.loads(made) == [f"ü {item}" for item in json.loads(text)]
    assert made.isascii() == (text.isascii() and "\\" in text)


def test_the_depth_has_a_bound():
    assert texts("[" * 500 + '"a"' + "]" * 500) == ["a"]
    with pytest.raises(CpunmtError, match="more than 500 arrays and objects"):
        texts("[" * 501 + '"a"' + "]" * 501)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "is empty"),
        *(("a..", "character 2"), ("a.", "character 2"), ("[", "character 1"), ("['a", "character 1")),
        *(("a b", "character 2"), ("[-1]", "character 1"), ("$$", "character 2"), ("[01]", "character 1")),
        *(("a[?(@.b)]", "character 2"), (".", "character 1"), ("a['b']c", "character 7")),
    ],
)
def test_a_path_that_cannot_be_read_is_a_clear_error(path, said):
    with pytest.raises(CpunmtError, match=f": {said}.*; expected a path such as title"):
        Paths([path])


def test_a_path_that_nothing_has_is_a_clear_error():
    with pytest.raises(CpunmtError, match=r"select 'titel': nothing has this path; .* menu, items, a b, n$"):
        document_of(read_json, FILE, select=["menu", "titel"])
    for keys, said in (
        ("", "none"),
        ("abcdefgh", "a, b, c, d, e, f, g, h"),
        ("abcdefghi", "a, b, c, d, e, f, g, h, ..."),
    ):
        with pytest.raises(CpunmtError, match=f"at the top are the keys {said}$"):
            document_of(read_json, json.dumps(dict.fromkeys(keys, "w")), select=["titel"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1"),
        ('{"a": "b",\n}', "line [12], column"),  # at the comma since Python 3.13, or behind it
        ("[" * 100_000, "more than 500"),
        ('["a', "line 1, column 2: is not JSON"),
        ("PK\x03\x04\0", "line 1, column 1"),
        ('["\0"]', "line 1"),
        ('"a" // b', "line 1, column 5"),
        ('["' + '\\"' * 50_000, "line 1, column 2"),
    ],
)
def test_what_is_not_json_is_one_clear_error(content, said):
    with pytest.raises(CpunmtError, match=said):
        document_of(read_json, content)


def test_half_characters_and_numbers_of_any_length_stay():
    keeps_every_byte(read_json, b'["a \\ud800 b", ' + b"9" * 5000 + b"]")
    assert texts('["a \\ud800 b", "c \\ud83d\\ude42"]') == ["c 🙂"]
    assert '"C \\ud83d\\ude42"' in render(read_json, '["c \\ud83d\\ude42"]', upper)
    assert render(read_json, '["a\\/b", "a \\u003c i"]', upper) == '["A\\/B", "A \\u003c I"]'


def test_plurals_of_icu_stay():
    text = '["{n, plural, one {# dog} other {# dogs}}", "a {n, number} b"]'
    assert texts(text) == ['a <k n="1"/> b']


def test_time_is_linear():
    takes_linear_time(
        lambda text: rewritten(read_json, text, select=["$..[0]"]),
        lambda count: json.dumps({str(number): ["Two dogs", {"a": number}] for number in range(count)}),
        1_000,
    )
