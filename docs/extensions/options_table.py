"""The directives `options`, `marian-flags` and `ctranslate2-options`: the options, from their definition."""

import dataclasses
import re
from typing import NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from cpunmt.options.foreign_names import CTRANSLATE2_OFF
from cpunmt.options.option_field import described, kind
from cpunmt.options.options import (
    CTRANSLATE2_NAMES,
    GENERATING,
    MARIAN_FLAGS,
    SCORING,
    SERVED,
    BatchOptions,
    Options,
    TranslationOptions,
)
from docs.extensions.markdown_table import Table

# Names in annotations of options -> their words on the page
_TYPES = {
    "SplitName | Splitter": "str or function",
    "Protected | Iterable[Protected]": "str, pattern, function, or a list of them",
    "Iterable[str | Iterable[str]]": "list of str or of lists of pieces",
    "str | Iterable[str | int]": "str or list of str or int",
    "Mapping[str, str] | str | os.PathLike[str]": "dict, Glossary or path",
    "Mapping[str, str] | str": "dict or str",
}
# Kind of calls, as the page names it -> the options that they take
_CALLS = {
    "texts": tuple(TranslationOptions.__annotations__),
    "pieces": tuple(BatchOptions.__annotations__),
    "tokens": GENERATING,
    "scores": SCORING,
    "server": SERVED,
}


class Definition(NamedTuple):
    """An option as the page shows it: all but its name is Markdown."""

    name: str
    facts: str
    text: str
    calls: str


def definitions(group: str) -> list[Definition]:
    """Returns the options of a group, a key of GROUPS, in the order of their declaration."""
    return [_definition(option) for option in dataclasses.fields(Options) if option.metadata["group"] == group]


def _definition(option) -> Definition:
    text, default = described(option), "" if option.default is None else f"`{_number(option.default)}`"
    if said := re.search(r" ?\(default: (.*?)\)", text):
        text, default = text.replace(said[0], ""), _words(said[1])
    facts = [_type(option), _allowed(option.metadata), f"default: {default}" if default else ""]
    calls = [calls for calls, names in _CALLS.items() if option.name in names]
    if text[:2].isalpha():  # not a symbol, such as the a of a formula
        text = text[0].upper() + text[1:]
    return Definition(option.name, "; ".join(filter(None, facts)), f"{_words(text)}.", ", ".join(calls))


def _type(option) -> str:
    annotation = option.type.removesuffix(" | None")
    return _TYPES.get(annotation) or kind(option).__name__


def _allowed(rule) -> str:
    """Returns the allowed values; an empty text if the type or the description says enough."""
    if rule["choices"]:
        return ", ".join(f"`{choice}`" for choice in rule["choices"])
    return "" if rule["low"] is None else f"{_number(rule['low'])} to {_number(rule['high'])}"


class OptionList(Directive):
    """A definition list of the options of a group, each with a target `option-NAME`."""

    required_arguments = 1

    def run(self):
        """Builds the list; called by Sphinx."""
        options = definitions(self.arguments[0])
        if not options:
            raise self.error(f"no option has the group {self.arguments[0]!r}")
        return [nodes.definition_list("", *map(self._item, options), classes=["options"])]

    def _item(self, option: Definition) -> nodes.definition_list_item:
        term = nodes.term("", "", nodes.literal("", option.name), names=[f"option-{option.name}"])
        self.state.document.note_explicit_target(term)
        term += nodes.inline("", "", *self._parsed(option.facts)[0].children, classes=["facts"])
        calls = nodes.paragraph("", f"Calls: {option.calls}", classes=["calls"])
        return nodes.definition_list_item("", term, nodes.definition("", *self._parsed(option.text), calls))

    def _parsed(self, text: str) -> list[nodes.Node]:
        place = nodes.container()
        self.state.nested_parse(StringList([text], source="options"), 0, place)
        return place.children


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
    """Converts a help text to Markdown: code and names of options, which may be flags, are code; the rest is plain."""
    found = []
    for place, part in enumerate(re.split(r"(`[^`]+`|--[a-z-]+(?: none)?|\b[a-z]+(?:_[a-z]+)+\b)", text)):
        name, _, value = part.strip("`-").replace("-", "_").partition(" ")
        if place % 2 and name in Options.__dataclass_fields__:
            shown = f'{name}="{value}"' if value else name
            found.append(f"[`{shown}`](#option-{name})")
        else:
            found.append(part if place % 2 else re.sub(r"([<>*_\[\]^|`\\])", r"\\\1", part))
    return "".join(found)


def setup(app):
    """Registers the directives; called by Sphinx."""
    app.add_directive("options", OptionList)
    for function in (marian_flags, ctranslate2_options):
        app.add_directive(function.__name__.replace("_", "-"), Table.of(function))
    app.connect("autodoc-process-docstring", _field_text, priority=600)  # after the docstrings were converted
    return {"parallel_read_safe": True}
