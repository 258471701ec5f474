"""The texts on the command line of `cpunmt translate`."""

from __future__ import annotations

import argparse
import os

from cpunmt.commands.lines.streams import STANDARD
from cpunmt.registry.store import is_name


def texts_of(given: argparse.Namespace) -> list[str] | None:
    """Returns the texts on the command line; None if there are none, or "-", which stands for standard input.

    Ends with a usage error if a text is the name of something that a flag belongs before.
    """
    texts: list[str] = given.text
    if given.text in ([], [STANDARD]):
        return None
    if given.input is not None:
        given.parser.error(f"give TEXT, or a file of lines with -i, not both: {given.text[0]!r} and {given.input!r}")
    for text in given.text:
        if any(letter.isspace() for letter in text):
            continue
        if is_name(text):
            _refuse_text(given, text, "names a model; -m {} translates with it")
        if os.path.isfile(text):
            _refuse_text(given, text, "is a file; -i {} translates the lines in it")
        if os.path.isdir(text) and os.sep in text:
            _refuse_text(given, text, "is a directory; -m {} names a model")
    return texts


def _refuse_text(given: argparse.Namespace, text: str, problem: str) -> None:
    """Ends with a usage error. `problem`: what the text is and what to do; {} is the text as a shell takes it."""
    import shlex  # which only a mistake needs

    quoted = shlex.quote(text)
    word = f"`printf '%s\\n' {quoted} | cpunmt translate` translates the word itself"
    given.parser.error(f"{text} {problem.format(quoted)}, {word}")
