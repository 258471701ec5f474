"""OpenDocument; odfpy reads the results where it can."""

import io
import xml.etree.ElementTree as tree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf import teletype
from odf import text as odf_text
from odf.opendocument import OpenDocumentText, load
from odf.style import Style, TextProperties
from odf.table import Table, TableCell, TableRow

from cpunmt.documents.document import DocumentError
from tests.documents.laws import shown, upper, words
from tests.documents.office.office_files import keeps_every_byte, members, read, render, zipped
from tests.support.linear_time import takes_linear_time

BASE = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = " ".join(
    f'xmlns:{name}="{BASE}{space}:1.0"'
    for name, space in [(n, n) for n in ("office", "text", "style", "table", "draw")] + [("fo", "xsl-fo-compatible")]
)
STYLES = """<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="R" style:family="text"><style:text-properties o:rsid="001"/></style:style>
<style:style style:name="L" style:family="text"><style:text-properties fo:language="en"/></style:style>"""
NOTE = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body></text:note>"  # fmt: skip  # noqa: E501


def file_of(body: str, kind: str = "text", **more) -> bytes:
    content = (
        f'<office:document-content {NAMES} xmlns:o="http://openoffice.org/2009/office"><office:automatic-styles>'
        f"{STYLES}</office:automatic-styles><office:body>{body}</office:body></office:document-content>"
    )
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content, **more})


def units(body, kind="odt", name="text"):
    return [shown(unit) for unit in read(kind, file_of(body, name)).units]


def made_of(body, translations) -> str:
    found = members(read("odt", file_of(body)).rendered([*map(words, translations)]))["content.xml"].decode()
    return found.partition("<office:body>")[2].partition("</office:body>")[0]


PIECES = st.sampled_from(
    [
        "Two ", "dogs", ". A &amp; b", "\n  ", "12", "<text:s/>", '<text:s text:c="9"/>', "<text:tab/>", "<text:p/>",
        '<text:span text:style-name="B">bold </text:span>', '<text:span text:style-name="R">wor</text:span>',
        "<text:line-break/>",
        '<text:span text:style-name="B">a<text:span text:style-name="R">b<text:line-break/>C</text:span></text:span>',
        '<text:a href="x">link<text:span text:style-name="B">ed</text:span></text:a>', "<text:soft-page-break/>",
        '<text:span text:style-name="B"><text:a>One</text:a></text:span>', "<text:page-number>7</text:page-number>",
        NOTE.format("A note"), "<text:bookmark-start/>", "<text:bookmark-end/>", "<text:span/>", "<!-- c -->",
        "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame>",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3))
def test_every_byte_is_kept_and_all_texts_are_found(paragraphs):
    content = file_of("".join(f'<text:p text:style-name="x">{pieces}</text:p>' for pieces in paragraphs))
    keeps_every_byte("odt", content)
    roots = [tree.fromstring(members(file)["content.xml"]) for file in (content, render("odt", content, upper))]
    texts = ["".join(sorted("".join("".join(root.itertext()).split()))) for root in roots]
    assert texts[1] == "".join(sorted(texts[0].upper())) and texts[1] == texts[1].upper()
    for name in ("line-break", "tab", "p", "a", "note", "page-number", "bookmark-start", "bookmark-end"):
        counts = [len(list(root.iter(f"{{{BASE}text:1.0}}{name}"))) for root in roots]
        assert counts[0] == counts[1]


def test_spans_that_look_like_nothing_are_one_text():
    body = '<text:p>big <text:span text:style-name="R">wor</text:span><text:span text:style-name="L">ld</text:span>.</text:p>'  # noqa: E501
    assert units(body) == ["big world."]
    assert made_of(body, ["große Welt."]) == "<text:p>große Welt.</text:p>"


@pytest.mark.parametrize(("count", "size"), [("", 1), (' text:c="1"', 1), (' text:c="2"', 1), (' text:c="3"', 2)])
def test_spaces_that_indent_part_texts(count, size):
    assert len(units(f"<text:p>Two<text:s{count}/>dogs</text:p>")) == size


def test_looks_links_and_notes_go_with_their_words():
    note = NOTE.format("See over <text:span text:style-name='B'>there</text:span>")
    body = f'<text:p>A <text:span text:style-name="B">red</text:span> car{note} on <text:a href="x">the road</text:a></text:p>'  # noqa: E501
    assert units(body) == [
        'A <g n="1">red</g> car<x n="2"/> on <g n="3">the road</g>', 'See over <g n="1">there</g>',
    ]  # fmt: skip
    made = made_of(body, ['Ein Auto<x n="2"/>, <g n="1">rot</g>, auf <g n="3">der Straße</g>', "Dort"])
    assert made == (
        f'<text:p>Ein Auto{NOTE.format("Dort")}, <text:span text:style-name="B">rot</text:span>, '
        'auf <text:a href="x">der Straße</text:a></text:p>'
    )


def test_what_is_computed_or_deleted_stays():
    deleted = (
        "<text:tracked-changes><text:changed-region><text:p>old</text:p></text:changed-region></text:tracked-changes>"
    )
    field = "<text:page-number>7</text:page-number>"
    assert units(f"{deleted}<text:p>Page {field} of the book</text:p>") == ['Page <k n="1"/> of the book']
    cells = "".join(
        f"<table:table-cell {kind}><text:p>{text}</text:p></table:table-cell>"
        for kind, text in [
            ('office:value-type="string"', "One"), ('office:value-type="float"', "1 EUR"), ("", "Two"),
            ('table:formula="of:=A1" office:value-type="string"', "Three"), ('office:value-type="date"', "May 4"),
        ]
    )  # fmt: skip
    assert units(f"<table:table>{cells}</table:table>", "ods", "spreadsheet") == ["One", "Two"]


SHEET_PIECES = st.sampled_from(
    [
        '<table:table-cell office:value-type="string" office:string-value="Two &quot; dogs"><text:p>Two " dogs</text:p>'
        "</table:table-cell>",
        "<table:table-cell office:string-value = 'A\n b'\n><text:p>A</text:p>"
        "<text:p>b <text:span>c</text:span></text:p></table:table-cell>",
        '<table:table-cell office:value-type="float" office:value="3"><office:annotation><text:p>A note</text:p>'
        "</office:annotation><text:p>three</text:p><draw:custom-shape><text:p>A shape</text:p></draw:custom-shape>"
        "</table:table-cell>",
    ]
)


@settings(deadline=None)
@given(st.lists(SHEET_PIECES, max_size=4).map("".join))
def test_cells_say_their_texts_once(cells):
    content = file_of(f"<table:table>{cells}</table:table>", "spreadsheet")
    keeps_every_byte("ods", content)
    root = tree.fromstring(members(render("ods", content, upper))["content.xml"])
    names = [name for element in root.iter() for name in element.attrib]
    assert not any(name.endswith("string-value") for name in names)
    texts = ["".join(element.itertext()) for element in root.iter(f"{{{BASE}text:1.0}}p")]
    assert [text for text in texts if text != text.upper()] == ["three"] * cells.count("three")


def test_only_the_cell_that_changes_loses_what_says_its_text_again():
    kept = '<table:table-cell office:string-value="One"><text:p>One</text:p></table:table-cell>'
    note = '<table:table-cell office:string-value="Four"><office:annotation><text:p>A note</text:p></office:annotation></table:table-cell>'  # noqa: E501
    cells = f"{kept}{kept.replace('One', 'Two')}{note}"
    document = read("ods", file_of(f"<table:table>{cells}</table:table>", "spreadsheet"))
    made = members(document.rendered(["One", "Zwei", "Notiz"]))["content.xml"].decode()
    new = "<table:table-cell><text:p>Zwei</text:p></table:table-cell>"
    assert f"<table:table>{kept}{new}{note.replace('A note', 'Notiz')}</table:table>" in made


def test_many_paragraphs_in_a_cell_take_linear_time():
    def content(count):
        cell = f'<table:table-cell table:x="{"y" * 200 * count}" office:string-value="A">'
        return file_of(f"{cell}{'<text:p>A dog</text:p>' * count}</table:table-cell>", "spreadsheet")

    takes_linear_time(lambda made: render("ods", made, upper), content, 400)


def test_headers_are_in_styles_and_so_are_masters_of_slides():
    styles = f"<a {NAMES}><text:p>A header</text:p></a>"
    other = {"styles.xml": styles, "Object 1/content.xml": f"<a {NAMES}><text:p>A chart</text:p></a>"}
    assert [shown(unit) for unit in read("odt", file_of("", **other)).units] == ["A header", "A chart"]
    assert [shown(unit) for unit in read("odp", file_of("", "presentation-template", **other)).units] == ["A chart"]


def test_odfpy_reads_what_was_written():
    document = OpenDocumentText()
    bold = Style(name="Bold", family="text")
    bold.addElement(TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(bold)
    document.text.addElement(odf_text.H(outlinelevel=1, text="Two dogs"))
    line = odf_text.P(text="A man ")
    line.addElement(odf_text.Span(stylename=bold, text="is riding"))
    line.addText(" a bicycle.")
    document.text.addElement(line)
    table, row, cell = Table(), TableRow(), TableCell()
    cell.addElement(odf_text.P(text="A red car"))
    row.addElement(cell)
    table.addElement(row)
    document.text.addElement(table)
    file = io.BytesIO()
    document.write(file)
    keeps_every_byte("odt", file.getvalue())
    made = load(io.BytesIO(render("odt", file.getvalue(), upper)))
    found = [teletype.extractText(e) for kind in (odf_text.H, odf_text.P) for e in made.getElementsByType(kind)]
    assert found == ["TWO DOGS", "A MAN IS RIDING A BICYCLE.", "A RED CAR"]
    (span,) = made.getElementsByType(odf_text.Span)
    assert teletype.extractText(span) == "IS RIDING" and span.getAttribute("stylename") == "Bold"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (file_of("", "spreadsheet"), "says that it is 'application/vnd.oasis.opendocument.spreadsheet', expected odt"),
        (zipped({"a": b""}), "does not say what it is, expected odt"),
        (file_of("<text:p>"), "content.xml in it: line 3: is not well-formed XML: mismatched tag"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text",
                 "META-INF/manifest.xml": f'<m:a xmlns:m="{BASE}manifest:1.0"><m:encryption-data/></m:a>'}),
         "is encrypted; save it without a password"),
    ],
)  # fmt: skip
def test_refusals(content, said):
    with pytest.raises(DocumentError, match=said):
        read("odt", content)
