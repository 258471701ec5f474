"""Names of flags, and errors that name them. Imports little, because an error may be a lack of memory."""

from __future__ import annotations

import re

from cpunmt.files.console import one_line

# Option -> its flag: the alternatives are translations, and languages choose a model where none is named.
NAMED_OTHERWISE = {
    "return_alternatives": "--alternatives",
    **{"source_lang": "--from", "target_lang": "--to"},
    **{"source_lang_column": "--from-column", "target_lang_column": "--to-column"},
}
# The name of an option in an error about it, not at the beginning of a file's name.
_NAMED = re.compile(
    rf"\b({'|'.join(NAMED_OTHERWISE)})(?:=True\b|(?= (?:is|has|takes|not given|and target_lang not given|\d+ is)\b))"
)
# A keyword in the advice of an error, as Python writes it.
_KEYWORDS = ("column", "encoding", "force", "into", "out", "select", "shard_rows", "target_column", *NAMED_OTHERWISE)
_KEYWORD = re.compile(rf"(?<= )\(({'|'.join(_KEYWORDS)})=([^\s()]+)\)")


def flag_of(name: str) -> str:
    """Returns the flag of an option or setting."""
    return NAMED_OTHERWISE.get(name, f"--{name.replace('_', '-')}")


def error_line(error: BaseException) -> str:
    """Returns an error as one line. One about an option, whose name it begins with, has the names of flags. So has
    the advice in parentheses: `(force=True)`.
    """
    line = _KEYWORD.sub(
        lambda found: f"({flag_of(found[1])})" if found[2] == "True" else f"({flag_of(found[1])} {found[2]})",
        one_line(error),
    )
    return in_flags(line) if _NAMED.match(line) else line


def in_flags(message: str) -> str:
    """Returns an error of an option with the names of flags."""
    return _NAMED.sub(lambda found: NAMED_OTHERWISE[found[1]], message)
