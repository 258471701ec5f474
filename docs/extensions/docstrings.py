"""Conversion of this project's docstrings to the reStructuredText that Sphinx reads.

`code`                      a link if it names something documented, otherwise code
Parameters, a line of -     a list of parameters: `name : description`, continued on indented lines
name   description          two blanks or more after a name: a list of attributes
a paragraph of Python       an example, as is an indented paragraph
"""

import ast
import re
import sys
from collections.abc import Iterator

SECTIONS = {"Parameters": "param", "Attributes": "ivar", "Raises": "raises", "Returns": "returns", "Yields": "yields"}
_ENTRY = re.compile(r"(\w[\w, ]*?) : (.*)")
_ATTRIBUTE = re.compile(r"(\w+) {2,}(\S.*)")
_TYPE = re.compile(r"[\w.|\[\], -]{1,40}")
_NAME = re.compile(r"[A-Za-z_][\w.]*(\(\))?")
_SPECIAL = re.compile(r"([\\*|_])")


def converted(lines: list[str]) -> list[str]:
    """Converts the lines of a docstring, without their common indentation, to reStructuredText."""
    found, paragraphs = [], list(_paragraphs(lines))
    for place, paragraph in enumerate(paragraphs):
        if paragraph[0] in SECTIONS and len(paragraph) > 1 and set(paragraph[1]) == {"-"}:
            found += _section(SECTIONS[paragraph[0]], paragraph[2:])
        elif paragraph[0].startswith(" ") or (place and _is_python(paragraph)):
            found += [".. code-block:: python", "", *("    " + line for line in paragraph)]
        elif _ATTRIBUTE.fullmatch(paragraph[0]):
            found += _fields("ivar", _entries(paragraph, _ATTRIBUTE))
        else:
            found.append(_inline(" ".join(paragraph)))  # backquotes may span two lines
        found.append("")
    return found


def _paragraphs(lines) -> Iterator[list[str]]:
    """Yields the paragraphs: the lines between blank lines."""
    paragraph = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            yield paragraph
            paragraph = []


def _is_python(paragraph) -> bool:
    try:
        statements = ast.parse("\n".join(paragraph)).body
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call) for statement in statements for node in ast.walk(statement))


def _section(field, lines) -> list[str]:
    if field == "raises":
        return _fields(field, _entries(lines, re.compile(r"(\w+)()")))
    if field in ("returns", "yields"):
        return _fields(field, [("", " ".join(map(str.strip, lines)))])
    return _fields(field, _entries(lines, _ENTRY))


def _entries(lines, pattern) -> list[tuple[str, str]]:
    """Returns (name, text) for each line that is not indented, with the indented lines below it."""
    found = []
    for line in lines:
        begun = pattern.fullmatch(line)
        if begun:
            found.append([begun[1], [begun[2]] if begun[2] else []])
        elif found:
            found[-1][1].append(line.strip())
        else:
            raise ValueError(f"a list of a docstring begins with {line!r}, expected a name and its description")
    return [(name, _text(parts)) for name, parts in found]


def _text(parts) -> str:
    """Joins an entry's lines, the first of which may be a type."""
    if len(parts) > 1 and _TYPE.fullmatch(parts[0]) and parts[1][:1].isupper():
        return f"{parts[0]}: {' '.join(parts[1:])}"
    return " ".join(parts)


def _fields(field, entries) -> list[str]:
    names = [(name, text) for joined, text in entries for name in joined.split(",")]
    return [f":{' '.join([field, name.strip()]).strip()}: {_inline(text)}" for name, text in names]


def _inline(text: str) -> str:
    """Converts prose: text in backquotes becomes a reference or code, and all other text is literal."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(_code(part[1:-1]) if place % 2 else _SPECIAL.sub(r"\\\1", part) for place, part in enumerate(parts))


def _code(text: str) -> str:
    # An escaped blank ends the mark-up invisibly, so a letter may follow.
    marked = f":py:obj:`{text}`" if _NAME.fullmatch(text) else f"``{text.strip()}``"
    return rf"{marked}\ "


def _convert(app, what, name, object_, options, lines):
    lines[:] = [] if what == "module" else converted(lines)  # the page itself describes the module


def _resolve(app, environment, node, content):
    """Resolves references to classes, which are documented in `cpunmt` but defined elsewhere."""
    import cpunmt

    target = node.get("reftarget", "")
    name = target.rpartition(".")[2]
    if node.get("refdomain") != "py" or target == f"cpunmt.{name}":
        return None
    if name in cpunmt.__all__:
        domain = environment.get_domain("py")
        return domain.resolve_xref(
            environment, node["refdoc"], environment.app.builder, "obj", f"cpunmt.{name}", node, content
        )
    return content if _is_ours(name) else None


def _is_ours(name: str) -> bool:
    """Returns whether a module of cpunmt has an internal type of that name."""
    modules = [module for path, module in sys.modules.items() if path.partition(".")[0] == "cpunmt"]
    return name.isidentifier() and any(name in vars(module) for module in modules)


def setup(app):
    """Connects the converters; called by Sphinx."""
    app.connect("autodoc-process-docstring", _convert)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True}
