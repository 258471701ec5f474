"""Untrusted YAML: one flat mapping, or a ModelFileError; never a bomb."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import parse_yaml


def refusal(text: bytes) -> str:
    with pytest.raises(ModelFileError) as caught:
        parse_yaml(text, "file.yml: options")
    assert str(caught.value).startswith("file.yml: options")
    return str(caught.value)


def test_values_are_those_of_yaml():
    text = b"a: 1\nb: [x, 2.5, ~]\nc: yes\n'd e': {f: g}\nh:\n"
    assert parse_yaml(text, "x") == {"a": 1, "b": ["x", 2.5, None], "c": True, "d e": {"f": "g"}, "h": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not a mapping"),
        (b"- a", "not a mapping"),
        (b"1: a", "not a mapping of option names"),
        (b"yes: a", "not a mapping of option names"),
        (b"a: 1\nb: 2\na: 3", "'a' occurs twice"),
        (b"a: 1\n'a': 3", "'a' occurs twice"),
        (b"a: &b 1\nc: *b", "neither aliases nor deep nesting"),
        (b"a: [[[[1]]]]", "neither aliases nor deep nesting"),
        (b"a: " + b"[" * 16_000, "neither aliases nor deep nesting"),
        (b"a: !!python/name:os.system ''", "not valid YAML"),
        (b"a: 1\n---\nb: 2", "not valid YAML"),
        (b"a: 1\nb: b: 2", "not valid YAML (line 2: mapping values are not allowed here)"),
        (b"a: " + b"1" * 10_000, "not valid YAML"),
        (b"a: \xff", "not valid YAML"),
        (b"a: 2020-99-99", "not valid YAML"),
        (b"just text", "not a mapping"),
        (b"a: [1, 2", "not valid YAML"),
        (b"\xff\xfe\x00", "not valid YAML"),
        (b"a: !!int ''", "not valid YAML"),
        (b"a: !!bool maybe", "not valid YAML"),
        (b"a: !!timestamp x", "not valid YAML"),
        (b"? [1]\n: 2", "not valid YAML"),
        (b"a: &a {k: 1}\nb: &b {<<: [*a, *a]}", "neither aliases nor deep nesting"),
        (b"- " * 8000, "deep nesting"),
        (b"a" * 16_385, "has 16385 bytes, expected at most 16384"),
    ],
)
def test_what_is_refused(text, message):
    assert message in refusal(text)


@pytest.mark.parametrize("depth", [1, 3, 4, 5, 6])
def test_four_collections_may_be_in_each_other_and_no_more(depth):
    """The mapping is one of them."""
    for text in ("a: " + "[" * (depth - 1) + "]" * (depth - 1), "{a: " * depth + "1" + "}" * depth):
        if depth <= 4:
            assert list(parse_yaml(text.encode(), "x")) == ["a"]
        else:
            assert "deep nesting" in refusal(text.encode())


@pytest.mark.parametrize("size", [16_383, 16_384, 16_385])
def test_a_text_has_at_most_16_kib(size):
    text = b"a: 1 #".ljust(size, b"x")
    if size <= 16_384:
        assert parse_yaml(text, "x") == {"a": 1}
    else:
        assert "expected at most 16384" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [b"a: [" + b"1," * 8000 + b"]", b"a: " + b"1:" * 8000 + b"1", b"a: " + b"9" * 4000, b"? " * 8000, b"!" * 16_000],
)
def test_the_worst_that_fits_takes_no_two_seconds(text):
    began = time.process_time()
    try:
        parse_yaml(text, "x")
    except ModelFileError as error:
        assert str(error).startswith("x")
    assert time.process_time() - began < 2


@given(text=st.binary(max_size=60) | st.text(alphabet="ab:-[]{}&*!?<>|'\"#%@` \n\t1,~", max_size=40).map(str.encode))
def test_any_text_is_a_mapping_or_refused(text):
    try:
        found = parse_yaml(text, "x")
    except ModelFileError as error:
        assert str(error).startswith("x") and len(str(error).splitlines()) == 1
    else:
        assert all(isinstance(name, str) for name in found)
