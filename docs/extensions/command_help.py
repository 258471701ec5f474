"""The directive `command-help NAME`: the output of `cpunmt NAME --help`."""

import contextlib
import io
import os

from docutils import nodes
from docutils.parsers.rst import Directive

from cpunmt.commands import cli

WIDTH = "92"  # columns of a page


def command_help(*words: str) -> str:
    """Returns the output of a command's `--help`."""
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
            raise self.error(f"cpunmt {' '.join(self.arguments)} --help does not print a usage")
        return [nodes.literal_block(shown, shown, language="none")]


def setup(app):
    """Registers the directive; called by Sphinx."""
    app.add_directive("command-help", _Help)
    return {"parallel_read_safe": True}
