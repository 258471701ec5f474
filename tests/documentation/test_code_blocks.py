"""Runs every code block of the README and of docs/, page by page, and compares the output with the page."""

import contextlib
import io
import subprocess

import pytest

from tests.documentation.code_blocks import APART, PAGES, RUN, SHOWN, blocks_of, shows
from tests.support.speeds import slow_after

START = "make demo"  # it creates an environment: tests/test_readme.py runs it on a copy


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_languages_of_blocks_are_known(page):
    strange = [(block.line, block.language) for block in blocks_of(page) if block.language not in RUN + SHOWN + APART]
    assert [place for place in strange if not place[1].startswith("{")] == []


@pytest.mark.parametrize(
    "page",
    slow_after(1, [page for page in PAGES if any(b.language in RUN for b in blocks_of(page))]),
    ids=lambda page: page.stem,
)
def test_blocks_run_and_print_what_is_shown(page, readers_folder):
    names = {"__name__": "__main__"}  # Python blocks of a page share their names
    for block in blocks_of(page):
        if block.language not in RUN or block.body.startswith(START):
            continue
        place = f"{page.name}:{block.line}"
        printed = _python(block.body, place, names) if block.language == "python" else _shell(block.body, place)
        assert block.output is None or shows(block.output, printed), f"{place} prints:\n{printed}"


def _python(body, place, names) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, place, "exec"), names)
    return printed.getvalue()


def _shell(body, place) -> str:
    done = subprocess.run(["bash", "-euc", body], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{place}:\n{done.stdout}{done.stderr}"
    return done.stdout


def test_outputs_are_compared():
    assert shows("a\nb\n", "a\nb\n") and shows("a\n...\nd\n", "a\nb\nc\nd\n") and shows("a\n...\nd\n", "a\nd\n")
    assert not shows("a\n", "a\nb\n") and not shows("a\n...\nd\n", "a\nb\n") and not shows("a.c\n", "abc\n")


def test_an_output_of_nothing_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```text\nx\n```\n\n```output\n1\n```\n")
    with pytest.raises(ValueError, match="page.md:5: an output of no block that is run"):
        blocks_of(page)
