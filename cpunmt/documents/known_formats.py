"""The known formats: their names, file endings and readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cpunmt.documents.archives.epub import read_epub
from cpunmt.documents.document import Contents, DocumentError, read_source
from cpunmt.documents.formats.csv_table import read_csv, read_tsv
from cpunmt.documents.formats.json_text import read_json
from cpunmt.documents.formats.key_values import read_properties, read_strings
from cpunmt.documents.formats.pdf import read_pdf
from cpunmt.documents.formats.plain_text import read_plain_text, read_web_page
from cpunmt.documents.formats.po import read_po
from cpunmt.documents.formats.subtitles import read_srt, read_vtt
from cpunmt.documents.formats.xliff import read_xliff
from cpunmt.documents.formats.xml_messages import read_android, read_qt, read_resx
from cpunmt.documents.formats.yaml_text import read_yaml
from cpunmt.documents.markdown.blocks import read_markdown
from cpunmt.documents.office.open_document import read_open_document
from cpunmt.documents.office.packages import read_office

Select = Sequence[str]
Reader = Callable[[bytes, Select], Contents]


class Format(NamedTuple):
    """A format: the endings of its files' names, and its reader.

    endings  of file names, in lower case
    read     takes the bytes of a file and the selected parts, returns its contents
    selects  name of the selectable parts, for errors; "" if the format lacks these
    writes   ending of the written file; "" for that of the input
    element  name of the first element, if files of other kinds have the same ending
    """

    endings: tuple[str, ...]
    read: Reader
    selects: str = ""
    writes: str = ""
    element: str = ""


def _of_text(read: Callable[..., Contents], selects: bool = False) -> Reader:
    """Makes the reader of a text file; `selects`: whether it has selectable parts."""
    return lambda content, select: read(read_source(content), *[select] * selects)


def _of_archive(read: Callable[..., Contents], *kind: str) -> Reader:
    """Makes the reader of an archive; `kind`: the expected format, if the reader serves several."""
    return lambda content, select: read(*kind, content)


_COLUMNS = "columns, their names or their numbers from 1"
_PATHS = "paths such as title, items[*].text or $..label"

FORMATS: dict[str, Format] = {
    "txt": Format((".txt", ".text"), _of_text(read_plain_text)),
    "html": Format((".html", ".htm", ".xhtml"), _of_text(read_web_page)),
    "md": Format((".md", ".markdown", ".mdx"), _of_text(read_markdown)),
    "srt": Format((".srt",), _of_text(read_srt)),
    "vtt": Format((".vtt",), _of_text(read_vtt)),
    "xliff": Format((".xlf", ".xliff", ".mxliff", ".sdlxliff"), _of_text(read_xliff)),
    "epub": Format((".epub",), _of_archive(read_epub)),
    "docx": Format((".docx", ".docm", ".dotx", ".dotm"), _of_archive(read_office, "docx")),
    "pptx": Format((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), _of_archive(read_office, "pptx")),
    "xlsx": Format((".xlsx", ".xlsm", ".xltx", ".xltm"), _of_archive(read_office, "xlsx")),
    "odt": Format((".odt", ".ott"), _of_archive(read_open_document, "odt")),
    "odp": Format((".odp", ".otp"), _of_archive(read_open_document, "odp")),
    "ods": Format((".ods", ".ots"), _of_archive(read_open_document, "ods")),
    "po": Format((".po", ".pot"), _of_text(read_po)),
    "xml": Format((".xml",), _of_text(read_android), element="resources"),
    "resx": Format((".resx", ".resw"), _of_text(read_resx)),
    "ts": Format((".ts",), _of_text(read_qt), element="TS"),
    "strings": Format((".strings",), _of_text(read_strings)),
    "properties": Format((".properties",), _of_text(read_properties)),
    "csv": Format((".csv",), _of_text(read_csv, True), _COLUMNS),
    "tsv": Format((".tsv", ".tab"), _of_text(read_tsv, True), _COLUMNS),
    "json": Format((".json", ".arb"), _of_text(read_json, True), _PATHS),
    "yaml": Format((".yaml", ".yml"), _of_text(read_yaml, True), _PATHS),
    "pdf": Format((".pdf",), read_pdf, writes=".txt"),
}

# Endings of older formats -> what their programs write today.
_NEWER = {".doc": ".docx", ".dot": ".docx", ".rtf": ".docx", ".xls": ".xlsx", ".ppt": ".pptx", ".pps": ".pptx"}


def format_of(name: str, chosen: str | None) -> Format:
    """Returns the format of the file `name`; `chosen`: a name of FORMATS, or None for the file's ending.

    Raises DocumentError for an unknown name or ending.
    """
    if chosen is None:
        found = next((key for key, known in FORMATS.items() if name.lower().endswith(known.endings)), None)
        if found is None:
            newer = _NEWER.get(os.path.splitext(name.lower())[1])
            if newer:
                raise DocumentError(f"an older format, which is not read; save it as {newer}")
            raise DocumentError(f"no format is known by the end of its name; give one of {', '.join(FORMATS)}")
    elif chosen in FORMATS:
        found = chosen
    else:
        raise DocumentError(f"the format {chosen!r} is not known, expected one of {', '.join(FORMATS)}")
    return FORMATS[found]


def read_document(content: bytes, form: Format, select: Select) -> Contents:
    """Reads a file. Raises CpunmtError if it does not have this format, or lacks a selected part."""
    if select and not form.selects:
        choosing = "; ".join(f"{name} by {known.selects}" for name, known in FORMATS.items() if known.selects)
        raise DocumentError(
            f"no part of this format can be chosen, expected no select; {choosing or 'none has it yet'}"
        )
    return form.read(content, select)
