"""The directives `options-table`, `marian-flags` and `ctranslate2-options`: the options, from their definition."""

import dataclasses
import re

from cpunmt.options.foreign_names import CTRANSLATE2_OFF
from cpunmt.options.option_field import described, kind
from cpunmt.options.options import CTRANSLATE2_NAMES, MARIAN_FLAGS, Options
from docs.extensions.markdown_table import Table


def options_table() -> list[list[str]]:
    """Returns rows (name, type, default, range, description) in Markdown; the first row is the heading."""
    rows = [["option", "type", "default", "range", "description"]]
    for option in dataclasses.fields(Options):
        rule = option.metadata
        if rule["choices"]:
            allowed = ", ".join(f"`{choice}`" for choice in rule["choices"])
            allowed += ", or a function" if rule["read"] else ""
        elif rule["takes"]:
            allowed = ", ".join(f"`{choice}`" for choice in rule["takes"].split("|"))
        else:
            allowed = "" if rule["low"] is None else f"{_number(rule['low'])} to {_number(rule['high'])}"
        default = "" if option.default is None else f"`{_number(option.default)}`"
        rows.append([f"`{option.name}`", f"`{kind(option).__name__}`", default, allowed, _words(described(option))])
    return rows


def marian_flags() -> list[list[str]]:
    """Returns rows (flag of Marian's command line, its option here)."""
    rows = [["Marian", "option"]]
    for flag, (name, value) in MARIAN_FLAGS.items():
        rows.append([f"`{flag}`", f"`{name}`" if value is None else f"`{name}={value!r}`"])
    return rows


def ctranslate2_options() -> list[list[str]]:
    """Returns rows (name of CTranslate2, its name here): names that differ, and options accepted only when off."""
    rows = [["CTranslate2", "here"]]
    rows += [[f"`{theirs}`", f"`{ours}`; their name works too"] for theirs, ours in CTRANSLATE2_NAMES.items()]
    rows.append(['`max_batch_size` with `batch_type="tokens"`', "`max_batch_tokens`; theirs work too"])
    rows.append(["`use_vmap`", "`vocabulary`: `shortlist` or `full`; theirs works too"])
    where = {"callback": "`translate_batch` and `translate_iterable`"}
    rows += [
        [f"`{name}`", f"the same in {where.get(name, '`translate_batch`')}, elsewhere accepted at `{off!r}`"]
        for name, (off, _) in CTRANSLATE2_OFF.items()
    ]
    return rows


def _field_text(app, what, name, object_, options, lines):
    """Fills in the text of a field of Options in the reference: it is said where the option is declared."""
    option = Options.__dataclass_fields__.get(name.removeprefix("cpunmt.Options."))
    if what == "attribute" and name.startswith("cpunmt.Options.") and option is not None:
        rule = option.metadata
        ends = "" if rule["low"] is None else f"; {_number(rule['low'])} to {_number(rule['high'])}"
        lines[:] = [f"{described(option)}{ends}.".replace("`", "``").replace("*", r"\*")]


def _number(value) -> str:
    """Formats a default or the end of a range."""
    return f"{value:,.15g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else f"{value}"


def _words(text: str) -> str:
    """Converts a plain help text, which may hold < and *, to Markdown."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if place % 2 else re.sub(r"([<>*_\[\]^|`\\])", r"\\\1", part) for place, part in enumerate(parts)
    )


def setup(app):
    """Registers the directives; called by Sphinx."""
    for function in (options_table, marian_flags, ctranslate2_options):
        app.add_directive(function.__name__.replace("_", "-"), Table.of(function))
    app.connect("autodoc-process-docstring", _field_text, priority=600)  # after the docstrings were converted
    return {"parallel_read_safe": True}
