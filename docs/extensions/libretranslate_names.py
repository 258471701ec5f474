"""The directive `libretranslate-names`: LibreTranslate's variables, and what they set here."""

from cpunmt.commands.flag_names import flag_of
from cpunmt.commands.libretranslate_settings import NAMES
from docs.extensions.markdown_table import Table


def libretranslate_names() -> list[list[str]]:
    """Returns rows (variable, flags here, difference) in Markdown; the first row is the heading."""
    rows = [["variable", "here", ""]]
    for one in NAMES:
        ours = ", ".join(f"`{flag_of(name)}`" for name in one.ours) or "no effect"
        rows.append([f"`LT_{one.name}`", ours, one.note])
    return rows


def setup(app):
    """Registers the directive; called by Sphinx."""
    app.add_directive("libretranslate-names", Table.of(libretranslate_names))
    return {"parallel_read_safe": True}
