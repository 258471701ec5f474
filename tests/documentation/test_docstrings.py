"""Conversion of this project's docstrings to Sphinx's format."""

import pytest

from docs.extensions.docstrings import converted


def text(docstring: str) -> list[str]:
    return [line for line in converted(docstring.split("\n")) if line]


PARAMETERS = (
    "Parameters\n----------\npath : a directory, or\n    its name\nwide, high : pixels\nstats : bool\n    Tell it."
)


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (
            "Of `translate`, *all* a_ |b| \\ `<unk>` and ` ||| `.",
            [r"Of :py:obj:`translate`\ , \*all\* a\_ \|b\| \\ ``<unk>``\  and ``|||``\ ."],
        ),
        ("Run `cpunmt\ninfo` once.", [r"Run ``cpunmt info``\  once."]),  # code across lines
        (
            f"{PARAMETERS}\n\nThat is all.",
            [
                ":param path: a directory, or its name",
                ":param wide: pixels",
                ":param high: pixels",
                ":param stats: bool: Tell it.",
                "That is all.",
            ],
        ),
        ("Raises\n------\nOSError\n    It cannot\n    be read.", [":raises OSError: It cannot be read."]),
        ("Returns\n-------\nA list, or\n    None.", [":returns: A list, or None."]),
        (
            "What is there.\n\nscore     n^2, and\n          more\nlog_prob  a sum",
            ["What is there.", r":ivar score: n^2, and more", ":ivar log_prob: a sum"],
        ),
        ("First.\n\nAlways.\n\nThat or this", ["First.", "Always.", "That or this"]),  # prose is not an example
    ],
)
def test_docstrings(docstring, expected):
    assert text(docstring) == expected


@pytest.mark.parametrize("example", ["model = load()\nmodel.run()", "    in.txt\n    out.txt"])
def test_examples(example):
    assert text(f"First.\n\n{example}\n\nLast.")[1] == ".. code-block:: python"
    assert text(f"First.\n\n{example}\n\nLast.")[2:-1] == ["    " + line for line in example.split("\n")]


def test_a_list_without_names_is_refused():
    with pytest.raises(ValueError, match="begins with 'no name here'"):
        converted(["Parameters", "----------", "no name here"])
