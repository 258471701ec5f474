"""Tables: CSV (RFC 4180, as Python's csv reads it) and TSV. Translates cells of chosen columns, below the first row.

Separators and quotes stay: a quoted cell remains quoted, and others get quotes if their translation needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from cpunmt.documents.document import DocumentError, Source, Span, broken
from cpunmt.documents.formats.placeholders import Message, Value, Values, single
from cpunmt.process.stopping import checked

_SEPARATORS = ",;\t|"
_ROW_END = re.compile(r"\r\n|\r|\n")
_NAMED = re.compile(r"sep=([,;\t|])(?:\r\n|\r|\n|$)", re.I)  # Excel's first line
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"(?!")')
_FORMULA = re.compile(r"""=[\w(+\-"'$]""")
_SHOWN = 20  # columns shown in an error
_LONGEST = 40  # characters shown of each

Row = list[Span]


def read_csv(source: Source, select: Sequence[str] = ()) -> Values:
    """Returns a value for each cell of the columns `select`: names in the first row, or numbers from 1.

    Cells with formulas stay.

    The separator is the most frequent one of `,` `;` tab `|` in the first row.

    Raises DocumentError for an unclosed quote, without `select`, and for a missing column.
    """
    text = source.text
    begin, separator = 0, ""
    if named := _NAMED.match(text):
        begin, separator = named.end(), named[1]
    return _read(source, begin, separator or _separator(text, begin), select)


def read_tsv(source: Source, select: Sequence[str] = ()) -> Values:
    """Reads cells separated by tabs. If some quotes do not enclose cells, all quotes are text."""
    return _read(source, 0, "\t", select, '"' if _quotes_enclose_cells(source.text) else "")


class _QuoteError(DocumentError):
    """A quote that does not enclose a cell."""


def _quotes_enclose_cells(text: str) -> bool:
    """Returns whether all quotes of a TSV enclose cells, or are doubled in such cells."""
    try:
        return not any(
            '"' in text[begin:end] and text[begin] != '"'
            for row in checked(_rows(text, 0, "\t", '"'))
            for begin, end in row
        )
    except _QuoteError:
        return False


def _read(source: Source, begin: int, separator: str, select: Sequence[str], quote: str = '"') -> Values:
    """Reads cells; `quote` is "" for cells without quotes."""
    text = source.text
    rows = _rows(text, begin, separator, quote)
    names = [_content(text[slice(*span)], quote) for span in next(rows, [])]
    columns = _columns(names, select)
    write_bare = _bare(separator) if quote else _on_one_line
    values: list[Value] = []
    for row in checked(rows):
        for column in columns:
            if column < len(row):
                cell = text[slice(*row[column])]
                content = _content(cell, quote)
                if _FORMULA.match(content):
                    continue
                message = Message(content)
                if message.units:
                    is_quoted = quote and cell.startswith(quote)
                    values.append(single(message, row[column], _quoted if is_quoted else write_bare))
    return Values(source, values)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _bare(separator: str) -> Callable[[str], str]:
    """Writes a cell without quotes, so that it can be read again."""
    needs = re.compile(rf'["\r\n{re.escape(separator)}]')
    return lambda text: _quoted(text) if needs.search(text) else text


def _on_one_line(text: str) -> str:
    return " ".join(re.split(r"[\t\r\n]+", text))


def _content(cell: str, quote: str) -> str:
    return cell[1:-1].replace('""', '"') if quote and cell.startswith(quote) else cell


def _rows(text: str, begin: int, separator: str, quote: str) -> Iterator[Row]:
    """Yields the spans of each row's cells, quotes included."""
    bare = re.compile(rf"[^\r\n{re.escape(separator)}]*")
    row: Row = []
    at = begin
    while at < len(text):
        start = at
        is_quoted = quote != "" and text.startswith(quote, at)
        found = (_QUOTED if is_quoted else bare).match(text, at)
        if found is None:
            raise _broken(text, at, "a quote begins a cell and does not end; expected another, each within it doubled")
        at = found.end()
        row.append((start, at))
        if text.startswith(separator, at):
            at += 1
            if at < len(text):
                continue
            row.append((at, at))
        end = _ROW_END.match(text, at)
        if end is None and at < len(text):
            raise _broken(text, at, "a cell goes on behind the quote at its end; expected quotes within it doubled")
        at = end.end() if end else at
        yield row
        row = []


def _broken(text: str, at: int, said: str) -> DocumentError:
    return _QuoteError(str(broken(text, at, said)))


def _separator(text: str, begin: int) -> str:
    """Finds the separator of the first row."""
    count = dict.fromkeys(_SEPARATORS, 0)
    at = begin
    while at < len(text) and text[at] not in "\r\n":
        if text[at] == '"' and (at == begin or text[at - 1] in count):
            found = _QUOTED.match(text, at)
            if found is None:
                break
            at = found.end()
        else:
            if text[at] in count:
                count[text[at]] += 1
            at += 1
    return max(count, key=lambda sign: count[sign])  # on a tie, the first


def _columns(names: Sequence[str], select: Sequence[str]) -> list[int]:
    """Returns the numbers, from 0, of the chosen columns."""
    shown = "; ".join(f"{number} {_short(name)}" for number, name in enumerate(names[:_SHOWN], 1)) or "none"
    shown += "; ..." if len(names) > _SHOWN else ""
    if not select:
        raise DocumentError(f"choose columns by name or number (select=NAME); its columns are: {shown}")
    found = []
    for chosen in select:
        with_name = [number for number, name in enumerate(names) if name.strip() == chosen.strip()]
        if len(with_name) > 1:
            raise DocumentError(f"select {chosen!r}: {len(with_name)} columns have this name; give a number: {shown}")
        if not with_name and chosen.isdecimal() and 0 < int(chosen[:9]) <= len(names):
            with_name = [int(chosen) - 1]
        if not with_name:
            raise DocumentError(f"select {chosen!r}: no column has this name or number; its columns are: {shown}")
        found += with_name
    return sorted(set(found))


def _short(name: str) -> str:
    line = " ".join(name.split())
    return repr(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}...")
