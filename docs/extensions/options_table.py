"""The directives `options-table`, `marian-flags` and `ctranslate2-options`: tables of the options, from their definition."""

import dataclasses

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from cpunmt.translation.options import CTRANSLATE2_NAMES, CTRANSLATE2_OFF, MARIAN_FLAGS, Options, kind


def options_table() -> list[list[str]]:
    """Rows (name, type, default, range, what it is), the first of which is the heading; Markdown."""
    rows = [["option", "type", "default", "range", "what it is"]]
    for option in dataclasses.fields(Options):
        rule = option.metadata
        if rule["choices"]:
            allowed = ", ".join(f"`{choice}`" for choice in rule["choices"])
        else:
            allowed = "" if rule["low"] is None else f"{rule['low']:g} to {_number(rule['high'])}"
        default = "" if option.default is None else f"`{_number(option.default)}`"
        rows.append([f"`{option.name}`", f"`{kind(option).__name__}`", default, allowed, _words(rule["help"])])
    return rows


def marian_flags() -> list[list[str]]:
    """Rows (flag of Marian's command line, what it is here)."""
    rows = [["Marian", "option"]]
    for flag, (name, value) in MARIAN_FLAGS.items():
        rows.append([f"`{flag}`", f"`{name}`" if value is None else f"`{name}={value!r}`"])
    return rows


def ctranslate2_options() -> list[list[str]]:
    """Rows (name of CTranslate2, what it is here), of names that differ, and of what is accepted only when it is off."""
    rows = [["CTranslate2", "here"]]
    rows += [[f"`{theirs}`", f"`{ours}`; their name works too"] for theirs, ours in CTRANSLATE2_NAMES.items()]
    rows += [[f"`{name}`", f"absent; accepted at `{off!r}`, where it does nothing"] for name, off in CTRANSLATE2_OFF.items()]
    return rows


def _number(value) -> str:
    return f"{value:,}" if type(value) is int else f"{value}"


def _words(text: str) -> str:
    """A help text, which is plain, as Markdown: it may hold < and *."""
    return "".join(f"\\{letter}" if letter in "<>*_[]^|`" else letter for letter in text)


class _Table(Directive):
    rows = None

    def run(self):
        heading, *rows = type(self).rows()
        lines = [f"| {' | '.join(heading)} |", f"|{'---|' * len(heading)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        place = nodes.container()
        self.state.nested_parse(StringList(lines, source="options"), 0, place)
        return place.children


def setup(app):
    """Called by Sphinx."""
    for function in (options_table, marian_flags, ctranslate2_options):
        name = function.__name__.replace("_", "-")
        app.add_directive(name, type(function.__name__, (_Table,), {"rows": staticmethod(function)}))
    return {"parallel_read_safe": True}
