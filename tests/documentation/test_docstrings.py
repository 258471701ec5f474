"""Docstrings as this project writes them become what Sphinx reads."""

import pytest

from docs.extensions.docstrings import converted


def text(docstring: str) -> list[str]:
    return [line for line in converted(docstring.split("\n")) if line]


def test_prose_means_what_it_says():
    assert text("Of `translate`, *all* a_ |b| \\ `<unk>` and ` ||| `.") == [
        r"Of :py:obj:`translate`\ , \*all\* a\_ \|b\| \\ ``<unk>``\  and ``|||``\ ."
    ]


def test_code_that_is_broken_between_lines_is_one():
    assert text("Run `cpunmt\ninfo` once.") == [r"Run ``cpunmt info``\  once."]


def test_parameters():
    section = (
        "Parameters\n----------\npath : a directory, or\n    its name\nwide, high : pixels\nstats : bool\n    Tell it."
    )
    assert text(section + "\n\nThat is all.") == [
        ":param path: a directory, or its name",
        ":param wide: pixels",
        ":param high: pixels",
        ":param stats: bool: Tell it.",
        "That is all.",
    ]


def test_errors_and_results():
    assert text("Raises\n------\nOSError\n    It cannot\n    be read.") == [":raises OSError: It cannot be read."]
    assert text("Returns\n-------\nA list, or\n    None.") == [":returns: A list, or None."]


def test_attributes():
    assert text("What is there.\n\nscore     n^2, and\n          more\nlog_prob  a sum") == [
        "What is there.",
        r":ivar score: n^2, and more",
        ":ivar log_prob: a sum",
    ]


@pytest.mark.parametrize("example", ["model = load()\nmodel.run()", "    in.txt\n    out.txt"])
def test_examples(example):
    assert text(f"First.\n\n{example}\n\nLast.")[1] == ".. code-block:: python"
    assert text(f"First.\n\n{example}\n\nLast.")[2:-1] == ["    " + line for line in example.split("\n")]


def test_words_are_no_example():
    assert text("First.\n\nAlways.\n\nThat or this") == ["First.", "Always.", "That or this"]


def test_a_list_without_names_is_refused():
    with pytest.raises(ValueError, match="begins with 'no name here'"):
        converted(["Parameters", "----------", "no name here"])
