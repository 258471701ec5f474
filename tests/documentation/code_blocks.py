"""The code blocks of the pages, by language name.

python, sh    run by a test
python scale  a script that needs the extra `scale`: run by tests/corpora/test_scale_page.py, which is slow
output        the expected output of the block before it; a line of ... stands for any lines
text, console, json, none, or a directive in braces    not run
"""

import re
from pathlib import Path
from typing import NamedTuple

from tests.sample_models.real_model import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("python", "sh")
APART = ("python scale",)  # run by other tests
SHOWN = ("text", "console", "json", "")
_BLOCK = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", re.M | re.S)


class Block(NamedTuple):
    """A code block of a page, with the output that the page shows, if any."""

    language: str
    line: int
    body: str
    output: str | None


def blocks_of(page: Path) -> list[Block]:
    """Returns the code blocks, in order. Raises ValueError for an `output` that does not follow an executed block."""
    found, text = [], page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        language, body, line = match[2].strip(), match[3], text.count("\n", 0, match.start()) + 1
        if language != "output":
            found.append(Block(language, line, body, None))
        elif found and found[-1].language in RUN + APART and found[-1].output is None:
            found[-1] = found[-1]._replace(output=body)
        else:
            raise ValueError(f"{page.name}:{line}: an output of no block that is run")
    return found


def shows(expected: str, printed: str) -> bool:
    """Returns whether `printed` matches the output on a page."""
    lines = [".*?\n" if line == "..." else re.escape(line + "\n") for line in expected.splitlines()]
    pattern = "".join(f"(?:{line})*" if line == ".*?\n" else line for line in lines)
    return re.fullmatch(pattern, printed) is not None
