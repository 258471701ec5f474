"""A directive for tables whose rows a function returns."""

from collections.abc import Callable

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class Table(Directive):
    """A table in a Markdown page."""

    rows = None

    @classmethod
    def of(cls, rows: Callable[[], list[list[str]]]) -> type:
        """Makes the directive of a function that returns Markdown cells; the first row is the heading."""
        return type(rows.__name__, (cls,), {"rows": staticmethod(rows)})

    def run(self):
        """Builds the table; called by Sphinx."""
        heading, *rows = type(self).rows()
        lines = [f"| {' | '.join(heading)} |", f"|{'---|' * len(heading)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        place = nodes.container()
        self.state.nested_parse(StringList(lines, source="table"), 0, place)
        return place.children
