"""The messages in docs/troubleshooting.md are those of the code."""

import ast
import functools
import re

import pytest

from tests.sample_models.real_model import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.*)`$", PAGE.read_text("utf-8"), re.M)
GAP = "…"


def texts_of(tree) -> list[str]:
    """Returns the texts in a module, with gaps for inserted values."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


@functools.cache
def texts() -> list[str]:
    """Returns the texts in the package's modules."""
    modules = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "cpunmt").rglob("*.py"))
    return [text for tree in modules for text in texts_of(tree)]


def is_said(message: str) -> bool:
    """Returns whether a text contains all parts of the message, in order."""
    parts = [re.escape(part.strip()) for part in message.split(GAP) if part.strip()]
    pattern = re.compile(".*".join(parts), re.S)
    return any(pattern.search(text) for text in texts())


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_says_it(message):
    assert is_said(message)


def test_a_message_that_nobody_says_is_seen():
    assert len(MESSAGES) > 20
    assert not is_said("the model … is not here") and not is_said("run: cpunmt fetch … the model")
