"""The directive `command-help NAME`: what `cpunmt NAME --help` prints."""

import contextlib
import io
import os

from docutils import nodes
from docutils.parsers.rst import Directive

from cpunmt.commands import cli

WIDTH = "92"  # columns: as many as a page shows


def command_help(*words: str) -> str:
    """What the command says of itself."""
    printed, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            cli.main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return printed.getvalue()


class _Help(Directive):
    optional_arguments = 1

    def run(self):
        shown = command_help(*self.arguments)
        if not shown.startswith("usage:"):
            raise self.error(f"cpunmt {' '.join(self.arguments)} --help says nothing")
        return [nodes.literal_block(shown, shown, language="none")]


def setup(app):
    """Called by Sphinx."""
    app.add_directive("command-help", _Help)
    return {"parallel_read_safe": True}
